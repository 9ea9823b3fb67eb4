"""Bringing a file of an older version to the present layout, in place."""

from __future__ import annotations

import logging
import sqlite3

from explorer.engines.sqlite import rebuilding, schema
from explorer.engines.sqlite.copies import copying
from explorer.engines.sqlite.failures import Contradiction
from explorer.engines.sqlite.location import Location

log = logging.getLogger(__name__)


def migrate(location: Location, conn: sqlite3.Connection) -> None:
    """Bring the file to the present layout, inside the transaction that `conn` is in; a copy stays beside the file.

    What is derived from the items is made anew, since versions differ in how they do it. Raises Contradiction where an
    item cannot be read; nothing is changed then.
    """
    (version,) = conn.execute("PRAGMA user_version").fetchone()
    log.warning("bringing `%s` to the layout of this version, which takes a while for a large memory", location.path)
    with copying(location, f"v{version}") as copy:
        schema.migrate(conn)
        try:
            rebuilding.rebuild(conn)
        except Contradiction as error:
            raise Contradiction(
                f"{error}; so it cannot be brought to the layout of this version; `tinymemory check --repair` takes "
                "out what cannot be read, after a copy, and brings up to date what can"
            ) from error
        kept = copy.keep()
    log.warning(
        "`%s` has the layout of this version now; `%s` is the file as it was, which no removal reaches: delete it when "
        "you no longer need it",
        location.path,
        kept,
    )
