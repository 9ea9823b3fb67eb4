"""What an error says to a person. Free of Qt."""

from __future__ import annotations

import traceback

from explorer.contract import (
    ConfigError,
    Conflict,
    InvalidRequest,
    NotFound,
    TinyMemoryError,
    Unauthorized,
    Unavailable,
    Unsupported,
)
from explorer.transfer import FileError
from explorer.ui.text import number, shown

_MAX_CHARS = 600
_OPENINGS: dict[type[TinyMemoryError], str] = {
    Unavailable: "No answer came",
    Unauthorized: "The key was refused",
    Unsupported: "This engine does not offer that",
    InvalidRequest: "The engine refused the question",
    NotFound: "It is not there",
    Conflict: "Somebody else was there first",
    ConfigError: "It cannot be opened as it is set",
    FileError: "The file cannot be used",
}


def sentence(error: BaseException) -> str:
    """What happened, in one plain sentence with the engine's own words."""
    if not isinstance(error, TinyMemoryError):
        return f"Something failed inside the program ({type(error).__name__})."
    opening = _OPENINGS.get(type(error), "The engine failed")
    said = shown(error.text, _MAX_CHARS).strip().removesuffix(".")
    return f"{opening}: {said}." if said else f"{opening}."


def details(error: BaseException) -> str:
    """The error with its causes and where it arose."""
    return "".join(traceback.format_exception(error))


def may_pass(error: BaseException) -> bool:
    """Whether the same call may succeed later, so that Retry is worth a button."""
    return not isinstance(error, (Unauthorized, Unsupported, InvalidRequest))


def changes(new: int, gone: int) -> str:
    """What others did to the items of a list: `3 new, 1 gone`; empty where nothing came or went."""
    return ", ".join(f"{number(n)} {word}" for n, word in ((new, "new"), (gone, "gone")) if n)
