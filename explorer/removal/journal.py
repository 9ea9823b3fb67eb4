"""Every removal, move and restore done here: one receipt each, in one folder.

A receipt is JSON Lines, written line by line while things happen, so that it is true at any moment; beside it stands a
page to read and print once it is finished.
"""

from __future__ import annotations

import contextlib
import json
import logging
import mmap
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import platformdirs

from explorer import __version__
from explorer.contract import ItemId, MemoryEngine
from explorer.engines.entry_file import APP_NAME
from explorer.engines.os_errors import why
from explorer.engines.place import account_of, is_endpoint, place_of
from explorer.i18n import tr
from explorer.removal.page import write_page
from explorer.removal.plan import Target
from explorer.removal.receipts import FORMAT, SUFFIX, Entry, Receipt, ReceiptWriter, ids_left
from explorer.transfer import FileError

log = logging.getLogger(__name__)

_NAME = re.compile(r"(\d{4}-\d\d-\d\dT\d{6}Z)-[a-z]+(?:-(\d+))?")
_ID = re.compile(r"[0-9A-Za-z_-]{6,}")
_MAX_NODES = 500
_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


def default_folder() -> Path:
    """Where this user's receipts are."""
    return platformdirs.user_data_path(APP_NAME, appauthor=False) / "receipts"


class Done(Protocol):
    """What a receipt says of the memory that it is about."""

    @property
    def engine_id(self) -> str: ...
    @property
    def connection(self) -> str: ...
    @property
    def place(self) -> str: ...
    @property
    def account(self) -> str: ...


def is_done_in(done: Done, engine: MemoryEngine, connection: str) -> bool:
    """Whether it was done in the memory of `engine`, which is open by the name `connection`.

    A file is known by where it is, whatever it is called. At one endpoint there may be the memories of many accounts,
    whose keys are nowhere written: there, as where the place is not known, the name that the connection had first has
    to be the same too.
    """
    if done.engine_id != engine.descriptor().id:
        return False
    place = place_of(engine)
    if done.place and place and (done.place != place or not is_endpoint(place)):
        return done.place == place
    return (done.account or done.connection) == (account_of(engine) or connection)


class Journal:
    """The receipts in `folder`, which is made when the first is written. Every call touches the disk."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = default_folder() if folder is None else folder
        self._read: dict[Path, tuple[tuple[int, int], Entry]] = {}  # finished ones, which change no more

    def start(
        self, action: str, engine: MemoryEngine, connection: str, ids: Iterable[ItemId] = (), /, **facts: Any
    ) -> ReceiptWriter:
        """Begin the receipt of a removal, a move, a copy or a restore, with all that is planned, kept on the disk.

        `ids` are what is planned. Raises FileError where it cannot be written, with nothing left of it: then nothing
        may be done.
        """
        planned = list(ids)
        about = engine.descriptor()
        if isinstance(target := facts.get("target"), Target):  # its ids have lines of their own
            said = target.model_dump(mode="json", by_alias=True)
            facts["target"] = {**said, "ids": [], "named": len(target.ids)}
        if "sources" in facts:
            facts["sources"] = {f"{kind}:{id}" if id else str(kind): n for (kind, id), n in facts["sources"].items()}
        for name in ("nodes", "sources"):
            if name in facts:
                facts.update(_most(name, facts[name]))
        writer = ReceiptWriter.create(self.folder, action, datetime.now(UTC), _finish)
        try:
            writer.note(
                "begin",
                format=FORMAT,
                program=APP_NAME,
                version=__version__,
                action=action,
                connection=connection,
                engine={
                    "id": about.id,
                    "label": about.label,
                    "hosted": about.hosted,
                    "consolidation": about.consolidation,
                    "is_file": about.needs_path,
                    "place": place_of(engine),
                    "account": account_of(engine),
                },
                planned=len(planned),
                **facts,
            )
            writer.planned(planned)
            writer.sync()
        except BaseException:
            writer.discard()
            raise
        return writer

    def entries(self) -> list[Entry]:
        """All of them, newest first, by the first and last line of each; a damaged one has no action.

        Raises FileError where the folder is there and cannot be read.
        """
        found = []
        for path in self._paths():
            try:
                entry = self._entry(path)
            except OSError as error:
                log.warning("the receipt %s cannot be read (%s)", path, type(error).__name__)
                continue
            if entry.is_readable or _NAME.fullmatch(path.stem):
                found.append(entry)
        return sorted(found, key=_age, reverse=True)

    def _entry(self, path: Path) -> Entry:
        """As `Entry.read`, which takes a while for thousands of files that are as they were. Raises OSError."""
        about = path.stat()
        known, mark = self._read.get(path), (about.st_mtime_ns, about.st_size)
        if known is not None and known[0] == mark:
            return known[1]
        entry = Entry.read(path)
        if entry.is_finished:
            self._read[path] = mark, entry
        return entry

    def search(self, words: str) -> list[Entry]:
        """Those entries that hold every word: in the connection's name, the engine, a node, the action or the file's
        name; or as the beginning of an id, from six characters on.
        """
        wanted = words.split()
        return [entry for entry in self.entries() if all(_holds(entry, word) for word in wanted)]

    def unfinished(self) -> list[Entry]:
        """What was interrupted, newest first; not what runs, here or in another program."""
        return [entry for entry in self.entries() if entry.is_interrupted]

    def settle(self, path: Path, continued_by: Path | None = None) -> None:
        """End an interrupted receipt with what is known of it; `continued_by` is the receipt that goes on.

        Raises FileError where it is written by another program, or cannot be.
        """
        with ReceiptWriter.reopen(path, _finish) as writer:
            receipt = Receipt.read(path)
            if receipt.is_finished:
                return
            done = {"done": receipt.copied} if receipt.action == "copy" else {}
            writer.close(
                removed=receipt.removed,
                **done,
                already_gone=receipt.already_gone,
                failed=receipt.failed_in_all,
                not_tried=receipt.not_tried,
                unanswered=receipt.unanswered_in_all,
                stopped=receipt.stopped or tr("the program ended before this did"),
                is_clean=False,
                continued_by=None if continued_by is None else continued_by.name,
            )

    def _paths(self) -> list[Path]:
        try:
            return [path for path in self.folder.iterdir() if path.suffix == SUFFIX and path.is_file()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise FileError(f"cannot read the receipts in {self.folder}: {why(error)}") from error


def target_left(path: Path) -> Target | None:
    """What an interrupted removal has to be planned with again; None where nothing of it is left.

    An erase takes the same nodes again; a forget those of its items that are not known to be gone. The old receipt is
    settled by `Journal.settle` once the new one is begun. Raises FileError where it cannot be read.
    """
    left = ids_left(path)
    receipt = Receipt.read(path)
    target = receipt.target
    if not left:
        return None
    if receipt.action == "erase" and target is not None:
        return target
    return Target.of_ids(left, None if target is None else target.reach)


def _finish(path: Path) -> None:
    """The page beside a finished receipt; the receipt is whole without it."""
    try:
        write_page(path)
    except Exception:  # the removal is done: what goes wrong here must not look as if it were not
        log.warning("no page could be written beside the receipt %s", path, exc_info=True)


def _most(name: str, counts: Mapping[Any, int]) -> dict[str, Any]:
    """The largest of many counts, and how many there are in all: the first line of a receipt stays short."""
    return {name: dict(Counter(counts).most_common(_MAX_NODES)), f"{name}_in_all": len(counts)}


def _age(entry: Entry) -> tuple[datetime, str, int]:
    name = _NAME.fullmatch(entry.path.stem)
    stamp, number = (name[1], int(name[2] or 1)) if name else ("", 1)
    at = entry.begun_at
    if at is None and stamp:
        with contextlib.suppress(ValueError):
            at = datetime.strptime(stamp, "%Y-%m-%dT%H%M%SZ").replace(tzinfo=UTC)
    return at or _LONG_AGO, stamp, number


def _holds(entry: Entry, word: str) -> bool:
    said = (entry.connection, entry.engine_id, entry.engine_label, entry.action, entry.path.name, entry.at)
    if any(word.casefold() in text.casefold() for text in (*said, *entry.nodes)):
        return True
    return bool(_ID.fullmatch(word)) and any(char.isdigit() for char in word) and _names_id(entry.path, word)


def _names_id(path: Path, beginning: str) -> bool:
    """Whether some id in the receipt begins so; looked for without reading it into memory."""
    sought = json.dumps(beginning, ensure_ascii=False)[:-1].encode()
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(sought) >= 0
    except (OSError, ValueError):  # empty, or gone
        return False
