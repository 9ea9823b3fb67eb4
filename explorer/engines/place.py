"""Where the memory of an engine is, by which it is known again: a name is changed, and two may have the same."""

from __future__ import annotations

import os
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from explorer.contract import MemoryEngine
from explorer.engines.config import EngineSettings

_places: WeakKeyDictionary[MemoryEngine, str] = WeakKeyDictionary()
_accounts: WeakKeyDictionary[MemoryEngine, str] = WeakKeyDictionary()


def keep_place(engine: MemoryEngine, settings: EngineSettings, default_endpoint: str | None) -> None:
    """Remember where an engine was opened: the file of its settings, else the endpoint, which holds no key."""
    place = settings.path or settings.endpoint_or(default_endpoint)
    if place is not None:
        _places[engine] = os.path.abspath(place) if settings.path else _plain(place)
    if settings.account is not None and not settings.path:
        _accounts[engine] = settings.account


def pass_place(engine: MemoryEngine, view: MemoryEngine) -> None:
    """Let a view of an engine be where that is."""
    if engine in _places:
        _places[view] = _places[engine]
    if engine in _accounts:
        _accounts[view] = _accounts[engine]


def place_of(engine: MemoryEngine) -> str:
    """The file's absolute path, with links followed, or the endpoint; "" where it is not known. Touches the disk."""
    place = _places.get(engine) or getattr(engine, "path", None)
    if not isinstance(place, str):
        return ""
    return place if is_endpoint(place) else os.path.normcase(os.path.realpath(place))


def account_of(engine: MemoryEngine) -> str:
    """The name that the connection which an engine was opened by had first; "" where it was opened by none."""
    return _accounts.get(engine, "")


def has_no_file(settings: EngineSettings) -> bool:
    """Whether a file or folder is named that is not there: an engine may make an empty one. Touches the disk."""
    return settings.path is not None and not os.path.exists(settings.path)


def is_endpoint(place: str) -> bool:
    """Whether it is the address of a server, which may hold the memories of many accounts; else it is a file."""
    return place.startswith(("https://", "http://"))


def _plain(endpoint: str) -> str:
    """The address without what makes no difference; without a user, a password or a query, should it have any."""
    url = urlsplit(endpoint)
    host = url.netloc.rpartition("@")[2].casefold()
    return f"{url.scheme}://{host}{url.path.rstrip('/')}"
