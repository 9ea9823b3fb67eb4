"""Every engine that can be opened: the program's own, then those that installed packages add.

Source: memory-v2, "Registry and config"; cortex, "build_engine" (order and form of the refusals).

A package adds an engine by an entry point of the group `tinymemory.engines` that names an `EngineEntry`:

    [project.entry-points."tinymemory.engines"]
    acme = "acme_memory:ENTRY"
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module, metadata
from urllib.parse import urlsplit

from explorer.contract import ConfigError, EngineDescriptor, EngineFailure, MemoryEngine, TinyMemoryError, is_blank
from explorer.engines.config import DynamicCredential, EngineCredential, EngineSettings, StaticCredential
from explorer.engines.place import keep_place
from explorer.engines.read_only import read_only_view

log = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "tinymemory.engines"

_MAX_SAID = 300  # characters of a stranger's error

Build = Callable[[EngineSettings, EngineCredential], MemoryEngine]


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """One engine: what it says of itself, and how it is opened.

    `build` gets settings and credential that passed the checks of `build_engine`, and raises ConfigError for
    settings it cannot use. It may be called on the event loop's thread, so that it must not wait for a server.
    """

    descriptor: EngineDescriptor
    build: Build
    forget_kept: Callable[[EngineSettings], None] | None = None
    """Removes what the engine keeps on this computer of a memory elsewhere; None where it keeps nothing."""


@dataclass(frozen=True, slots=True)
class BrokenEngine:
    """An engine that was left out: the name of its entry point, and why, as a sentence part."""

    name: str
    reason: str


def _sqlite() -> EngineEntry:
    module = import_module("explorer.engines.sqlite")
    return EngineEntry(module.DESCRIPTOR, module.build)


def _cortexdb() -> EngineEntry:
    module = import_module("explorer.engines.cortex")
    return EngineEntry(module.DIRECT, module.build_direct, module.forget_direct)


def _tinyhumans() -> EngineEntry:
    module = import_module("explorer.engines.cortex")
    return EngineEntry(module.HOSTED, module.build_hosted, module.forget_hosted)


def _reference() -> EngineEntry:
    engine = import_module("explorer.contract.reference").ReferenceEngine
    return EngineEntry(engine().descriptor(), lambda settings, credential: engine())


# In the order in which they are listed. Each is imported when first asked for.
_BUILT_IN: dict[str, Callable[[], EngineEntry]] = {
    "sqlite": _sqlite,
    "cortexdb": _cortexdb,
    "tinyhumans": _tinyhumans,
    "reference": _reference,
}

_lock = threading.Lock()
_found: tuple[dict[str, EngineEntry], list[BrokenEngine]] | None = None


def _engines() -> tuple[dict[str, EngineEntry], list[BrokenEngine]]:
    """All engines by id, in listing order, and the broken ones; looked for once, since it reads every package."""
    global _found
    with _lock:
        if _found is None:
            _found = _find()
        return _found


def _find() -> tuple[dict[str, EngineEntry], list[BrokenEngine]]:
    entries: dict[str, EngineEntry] = {}
    broken: list[BrokenEngine] = []
    for id, load in _BUILT_IN.items():
        # A library that a packager left out costs its engine, not the program.
        try:
            entries[id] = load()
        except ImportError as error:
            broken.append(_left_out(id, f"it could not be loaded ({error})"))
    added: dict[str, EngineEntry] = {}
    try:
        points = sorted(metadata.entry_points(group=ENTRY_POINT_GROUP), key=lambda point: (point.name, point.value))
    except Exception as error:  # one installed package with a garbled list of entry points
        points = []
        broken.append(_left_out(ENTRY_POINT_GROUP, f"the entry points could not be read ({type(error).__name__})"))
    for point in points:
        try:
            entry = point.load()
            fault = _fault(entry, added)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever a stranger's module does: it may exit, a compiled one may panic
            entry, fault = None, f"it could not be loaded ({_said(error)})"
        if fault is None:
            assert isinstance(entry, EngineEntry)
            added[entry.descriptor.id] = entry
        else:
            broken.append(_left_out(point.name, fault))
    entries.update(sorted(added.items()))
    return entries, broken


def _fault(entry: object, added: dict[str, EngineEntry]) -> str | None:
    if not isinstance(entry, EngineEntry):
        return f"its entry point is not an EngineEntry but a {type(entry).__name__}"
    descriptor: object = entry.descriptor
    if not isinstance(descriptor, EngineDescriptor):
        return f"its descriptor is not an EngineDescriptor but a {type(descriptor).__name__}"
    id = entry.descriptor.id
    if is_blank(id):
        return "its id is blank"
    if id in _BUILT_IN:
        return f"`{id}` is the id of a built-in engine"
    if id in added:
        return f"another package has the engine `{id}` already"
    return None


def _left_out(name: str, reason: str) -> BrokenEngine:
    log.warning("memory engine %r was left out: %s", name, reason)
    return BrokenEngine(name, reason)


def list_engines() -> list[EngineDescriptor]:
    """The engines that can be opened: `sqlite`, the other built-in ones, then added ones by id.

    The first call imports every engine, which takes a moment: a window makes it off its loop.
    """
    entries, _ = _engines()
    return [entry.descriptor.model_copy(deep=True) for entry in entries.values()]


def broken_engines() -> list[BrokenEngine]:
    """The engines that were left out of `list_engines`, and why."""
    _, broken = _engines()
    return list(broken)


def rescan_engines() -> None:
    """Look for engines anew at the next call: packages were installed or removed meanwhile."""
    global _found
    with _lock:
        _found = None


def build_engine(id: str, settings: EngineSettings | None = None, credential: EngineCredential = None) -> MemoryEngine:
    """The engine `id`, opened. No settings are all defaults, no credential is None. Where `settings.read_only` is set,
    every write of it is refused, whatever engine it is.

    Raises ConfigError, in this order, for: an unknown id; no endpoint where one is needed; no key where one is
    needed; an endpoint that is not a plain http(s) URL; a key over cleartext to another machine; no path where one
    is needed; and whatever the engine itself cannot use. Other errors are the engine's own. None shows a key.
    """
    settings = settings or EngineSettings()
    entry = _entry(id)
    _check(entry.descriptor, settings, credential)
    try:
        engine: object = entry.build(settings, credential)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if id in _BUILT_IN or (isinstance(error, TinyMemoryError) and not _shows_key(error, credential)):
            raise
        fault = _without_key(error, credential)
    else:
        if isinstance(engine, MemoryEngine):
            keep_place(engine, settings, entry.descriptor.default_endpoint)
            return read_only_view(engine) if settings.read_only else engine
        fault = "its package built no MemoryEngine"
    # Outside the handler: the original error, whose text may hold the key, is not chained.
    raise EngineFailure(f"memory engine `{id}` did not start: {fault}")


def forget_kept(id: str, settings: EngineSettings) -> None:
    """Remove what an engine kept on this computer of a memory elsewhere, whose connection is no more. Touches the disk.

    Nothing is raised for an engine that is not there, or settings that it cannot use: nothing is kept of those.
    """
    entries, _ = _engines()
    entry = entries.get(id)
    if entry is not None and entry.forget_kept is not None:
        with contextlib.suppress(TinyMemoryError):
            entry.forget_kept(settings)


def _entry(id: str) -> EngineEntry:
    entries, broken = _engines()
    if id in entries:
        return entries[id]
    for left_out in broken:
        if left_out.name == id:
            raise ConfigError(f"memory engine `{id}` cannot be used: {left_out.reason}; install its package again")
    known = ", ".join(f"`{known}`" for known in entries)
    raise ConfigError(f"unknown memory engine `{id}`; choose one of {known}")


def _check(descriptor: EngineDescriptor, settings: EngineSettings, credential: EngineCredential) -> None:
    id = descriptor.id
    if not (credential is None or isinstance(credential, (StaticCredential, DynamicCredential))):
        raise ConfigError(
            f"memory engine `{id}` takes a StaticCredential, a DynamicCredential or None as its credential"
        )
    has_key = credential is not None and not (isinstance(credential, StaticCredential) and credential.is_blank)
    endpoint = settings.endpoint_or(descriptor.default_endpoint)
    if descriptor.needs_endpoint and endpoint is None:
        raise ConfigError(f"memory engine `{id}` needs an endpoint; set the address of its server, with https://")
    if descriptor.needs_key and not has_key:
        raise ConfigError(f"memory engine `{id}` needs a credential; give the key of your account when you connect")
    if endpoint is not None:
        check_endpoint(id, endpoint)
        if has_key:
            check_encrypted(id, endpoint)
    if descriptor.needs_path and is_blank(settings.path or ""):
        raise ConfigError(f"memory engine `{id}` needs a path; choose the file or folder that holds the memory")


def check_endpoint(id: str, endpoint: str) -> None:
    """Raise ConfigError as `check_url` does for the endpoint of an engine."""
    check_url(f"the endpoint of memory engine `{id}`", endpoint)


def check_encrypted(id: str, endpoint: str) -> None:
    """Raise ConfigError where a key would travel there in the clear."""
    if not is_private(endpoint):
        raise ConfigError(
            f"memory engine `{id}` would send its key unencrypted; use an https:// endpoint, "
            "or http:// only for a server on this computer"
        )


def check_url(what: str, endpoint: str) -> None:
    """Raise ConfigError where `endpoint` is not an http(s) URL with a host and without a secret in it.

    The text calls it `what` and never quotes it: people paste keys into the wrong field.
    """
    wanted = f"{what} must be"
    try:
        url = urlsplit(endpoint)
        host, _ = url.hostname, url.port  # both raise for what they cannot read
    except ValueError:
        raise ConfigError(f"{wanted} a URL like https://memory.example.com") from None
    # urlsplit drops tabs and line ends without a word, and an HTTP client may read a backslash as a slash.
    if url.scheme not in ("http", "https") or not host or any(c <= " " or c in "\\\x7f" for c in endpoint):
        raise ConfigError(f"{wanted} a URL like https://memory.example.com")
    if "@" in url.netloc:
        raise ConfigError(f"{wanted} without a user name or password; give the key apart from it when you connect")
    if url.query or url.fragment:
        raise ConfigError(f"{wanted} without anything after `?` or `#`; give a key apart from it when you connect")


def is_private(endpoint: str) -> bool:
    """Whether what is sent there is encrypted or stays on this computer."""
    url = urlsplit(endpoint)
    if url.scheme == "https":
        return True
    host = url.hostname or ""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def _said(error: BaseException, hidden: str = "") -> str:
    """Kind and text of a stranger's error on one line, with `hidden` taken out; even its text may fail to be made."""
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:
        return name
    if hidden:
        text = text.replace(hidden, "(key)")
    text = " ".join(text.split())[:_MAX_SAID]
    return f"{name}: {text}" if text else name


def _key_of(credential: EngineCredential) -> str:
    return credential.reveal() if isinstance(credential, StaticCredential) and not credential.is_blank else ""


def _shows_key(error: TinyMemoryError, credential: EngineCredential) -> bool:
    key = _key_of(credential)
    return bool(key) and key in error.text


def _without_key(error: BaseException, credential: EngineCredential) -> str:
    return _said(error, _key_of(credential))
