"""SQLite's errors as the contract's, in sentences that say what to do."""

from __future__ import annotations

import logging
import sqlite3
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from explorer.contract import EngineFailure, InvalidRequest, TinyMemoryError, Unavailable

log = logging.getLogger(__name__)

_PRIMARY = 0xFF  # the low byte of an extended result code


DAMAGE = (sqlite3.DatabaseError, TypeError, AttributeError, ValueError, OverflowError, MemoryError)
"""What reading a damaged file may raise."""


class Contradiction(sqlite3.DatabaseError):
    """What the file holds in one place does not fit what it holds in another; the text completes a sentence."""


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's result code without its details; 0 for an error that Python's module raises by itself."""
    return int(getattr(error, "sqlite_errorcode", 0)) & _PRIMARY


def is_busy_error(error: sqlite3.Error) -> bool:
    """Whether another connection was in the way."""
    return primary_code(error) == sqlite3.SQLITE_BUSY


def damaged(path: str, what: str) -> EngineFailure:
    """The error for a file whose content contradicts itself."""
    return EngineFailure(f"the memory file `{path}` is damaged: {what}")


def translated(error: sqlite3.Error, path: str) -> TinyMemoryError:
    """The contract's error for what SQLite answered about the file at `path`."""
    if isinstance(error, Contradiction):
        return damaged(path, str(error))
    code = getattr(error, "sqlite_errorcode", None)  # missing on errors that Python's module raises by itself
    match None if code is None else code & _PRIMARY:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return Unavailable(
                f"the memory file `{path}` is locked, probably by another program that is writing to it; try again"
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return EngineFailure(
                f"the memory file `{path}` or its folder is write-protected; nothing was changed; "
                "open it read-only or change the permissions"
            )
        case sqlite3.SQLITE_CANTOPEN:
            return Unavailable(f"the memory file `{path}` or the files beside it cannot be opened; see its permissions")
        case sqlite3.SQLITE_FULL:
            return Unavailable(f"the disk that holds `{path}` is full; nothing was changed; free some space and retry")
        case sqlite3.SQLITE_IOERR:
            return Unavailable(f"the disk that holds `{path}` did not answer as it should ({error})")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return damaged(path, str(error))
        case sqlite3.SQLITE_TOOBIG:
            return InvalidRequest("the item is larger than the 1,000,000,000 bytes that SQLite holds in one value")
        case _:
            return EngineFailure(f"SQLite failed on `{path}`: {error}")


@contextmanager
def translating(path: str) -> Iterator[None]:
    """Raise the contract's error instead of SQLite's, and of those that come of damaged values in the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise translated(error, path) from error
    except UnicodeDecodeError as error:  # in a text of the file, or in SQLite's own, which may quote one
        raise damaged(path, "a text in it is not UTF-8") from error
    except (TypeError, AttributeError, ValueError, OverflowError) as error:
        # A column may hold values of another kind than its own, and numbers of any size. Should it be a fault of this
        # program: where it was. Not the error's text, which may quote what was stored.
        name = type(error).__name__
        log.error("%s while using `%s`:\n%s", name, path, "".join(traceback.format_tb(error.__traceback__)))
        raise damaged(
            path, f"a value in it is not what belongs there ({name}); `tinymemory check` finds which"
        ) from error
    except MemoryError as error:
        raise EngineFailure(
            f"there is not enough memory for what the memory file `{path}` says it holds; end other programs and try "
            "again; if that does not help, see with `tinymemory check` whether it is damaged"
        ) from error
