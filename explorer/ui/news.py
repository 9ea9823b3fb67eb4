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
from explorer.i18n import mark, tr, tr_n
from explorer.text import full_stop, listed, named, number, shown
from explorer.transfer import FileError

_MAX_CHARS = 600
_BRIEF_MOST = 80
_OF_PERMISSION = ("capabilit", "may not do this", "permission", "forbidden")
"""Parts of the words by which engines tell a key that lacks something from one that is refused."""
_OPENINGS: dict[type[TinyMemoryError], str] = {
    Unavailable: mark("No answer came"),
    Unauthorized: mark("The key was refused"),
    Unsupported: mark("This engine does not offer that"),
    InvalidRequest: mark("The engine refused the question"),
    NotFound: mark("It is not there"),
    Conflict: mark("Somebody else was there first"),
    ConfigError: mark("It cannot be opened as it is set"),
    FileError: mark("The file cannot be used"),
}


def sentence(error: BaseException) -> str:
    """What happened, in one plain sentence with the engine's own words."""
    if not isinstance(error, TinyMemoryError):
        return tr("Something failed inside the program ({error}).", error=type(error).__name__)
    known = _OPENINGS.get(type(error))
    opening = tr(known) if known else tr("The engine failed")
    if lacks_permission(error):
        opening = tr("The key may not do this")
    said = shown(error.text, _MAX_CHARS).strip().removesuffix(".")
    return full_stop(named(opening, said) if said else opening)


def brief(error: BaseException) -> str:
    """As `sentence`, but of a refused key only that it is, where that is long: the list says the rest."""
    said = sentence(error)
    if not isinstance(error, Unauthorized) or len(said) <= _BRIEF_MOST:
        return said
    return full_stop(tr("The key may not do this") if lacks_permission(error) else tr("The key was refused"))


def details(error: BaseException) -> str:
    """The error with its causes and where it arose."""
    return "".join(traceback.format_exception(error))


def lacks_permission(error: BaseException) -> bool:
    """Whether the key is good, but not for what was asked. The engine's own words say what it lacks."""
    return isinstance(error, Unauthorized) and any(part in error.text.casefold() for part in _OF_PERMISSION)


def may_pass(error: BaseException) -> bool:
    """Whether the same call may succeed later, so that Retry is worth a button."""
    return not isinstance(error, (Unauthorized, Unsupported, InvalidRequest))


def changes(new: int, gone: int) -> str:
    """What others did to the items of a list: `3 new, 1 gone`; empty where nothing came or went."""
    # Translators: items that came, or went, since the list was read.
    told = [tr_n("{n} new", "{n} new", new, n=number(new))] if new else []
    if gone:
        told.append(tr_n("{n} gone", "{n} gone", gone, n=number(gone)))
    return listed(told)
