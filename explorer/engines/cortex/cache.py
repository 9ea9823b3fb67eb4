"""What was listed of a memory elsewhere, kept on this computer: opened again, only what is new is read.

A folder for each memory, named by a digest of where it is and how it is laid out, and in it a file for each scope. None
holds a key. A file that is damaged, or of another scope, is as good as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import secrets
import tempfile
import time
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from explorer.contract import ItemId
from explorer.engines.config import EngineSettings
from explorer.engines.cortex.rows import COLUMNS, Dictionary, Rows, Value
from explorer.engines.cortex.settings import CortexSettings
from explorer.engines.entry_file import APP_NAME
from explorer.engines.locks import try_lock

log = logging.getLogger(__name__)

MAX_BYTES = 256 * 2**20
"""Of all memories together; the files used longest ago go first."""
_VERSION = 2
_ROWS_A_LINE = 300  # a line is written and read at once, and nothing else of the program meanwhile
_HELD = ("ids", "events", "heads", "texts", "micros", "nanos")
_LOCK_WAIT_S = 0.5
_LOCK_TRY_S = 0.005


@dataclass(frozen=True, slots=True)
class Saved:
    """One scope as it was read whole."""

    rows: Rows
    recent: dict[str, str]
    """The newest events, each with a digest of what it holds."""
    foreign: list[str]
    """Events of other programs."""
    is_cut: bool


def cache_folder() -> Path:
    return platformdirs.user_cache_path(APP_NAME, appauthor=False) / "listings"


class ListingCache:
    """The files of one memory. All calls touch the disk, and raise nothing where that fails: then nothing is kept."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder / name
        self._all = folder
        self._drops: Counter[str] = Counter()
        self._epoch: str | None = None
        self._is_over = False
        """Whether another program has removed something since: what this one has read may hold it."""

    @classmethod
    def of(cls, settings: EngineSettings, checked: CortexSettings) -> ListingCache:
        """That of the memory which the settings open, whether or not they want one."""
        layouts = [
            None if layout is None else [layout.root, layout.hosted] for layout in (checked.layout, checked.retired)
        ]
        what = [checked.endpoint.rstrip("/"), settings.account, layouts]
        name = hashlib.sha256(json.dumps(what).encode()).hexdigest()[:32]
        return cls(cache_folder(), name)

    def load(self, path: str, dictionary: Dictionary) -> Saved | None:
        """What is kept of a scope; from any thread."""
        file = self._file(path)
        try:
            with self._locked():
                if not self._is_current():
                    return None
                data = file.read_bytes()
                os.utime(file)
        except OSError:
            if self._epoch is None and not self.folder.exists():
                self._epoch = ""
            return None
        try:
            return _decoded(data, path, dictionary)
        except (ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError, AttributeError):
            log.warning("the listing kept of a scope cannot be read, and is read anew")
            return None

    def drops(self, path: str) -> int:
        """How often what is kept of a scope was dropped: it tells whether that may still be saved."""
        return self._drops[path] + self._drops[""]

    def save(self, path: str, saved: Saved, size: int, drops: int) -> None:
        """Keep the first `size` rows of a scope, unless it was dropped meanwhile; from any thread."""
        temporary: str | None = None
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=self.folder)  # 0600
            with os.fdopen(handle, "wb") as file:
                file.writelines(_encoded(path, saved, size))
            with self._locked():
                if self._is_current() and self.drops(path) == drops:
                    os.replace(temporary, self._file(path))
                    temporary = None
        except OSError as error:
            log.warning("the listing of a scope is not kept: %s", type(error).__name__)
        finally:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)

    def drop(self, path: str) -> None:
        """What is kept of a scope goes, and does not come back by what this or another program read before."""
        self._drops[path] += 1
        self._remove([self._file(path)])

    def drop_all(self) -> None:
        self._drops[""] += 1
        if self.folder.is_dir():
            self._remove(list(self.folder.glob("*.json")))

    def trim(self, most: int = MAX_BYTES) -> None:
        """Keep all memories together within their size."""
        files = []
        for file in self._all.glob("*/*.json"):
            with contextlib.suppress(OSError):
                found = file.stat()
                files.append((found.st_mtime, found.st_size, file))
        total = sum(size for _, size, _ in files)
        for _, size, file in sorted(files):
            if total <= most:
                return
            with contextlib.suppress(OSError):
                file.unlink()
                total -= size

    def _file(self, path: str) -> Path:
        return self.folder / f"{hashlib.sha256(path.encode()).hexdigest()[:32]}.json"

    # Another program that has read the same scopes would write what is removed here. So each removal is marked, and who
    # finds a mark that is not its own keeps nothing more.

    def _remove(self, files: list[Path]) -> None:
        """What cannot be marked goes all the same; what cannot go is emptied, as nothing removed may be read again."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):
                stack.enter_context(self._locked())  # else without it: whoever holds it for so long saves nothing
            try:
                self._is_current()
                self._mark()
            except OSError as error:
                log.warning("a removal is not marked for other programs: %s", type(error).__name__)
            for file in files:
                _discard(file)

    def _mark(self) -> None:
        epoch = secrets.token_hex(8)
        (self.folder / "removed").write_text(epoch)
        self._epoch = epoch

    def _is_current(self) -> bool:
        try:
            epoch = (self.folder / "removed").read_text()
        except OSError:
            epoch = ""
        if self._epoch is None:
            self._epoch = epoch
        self._is_over = self._is_over or self._epoch != epoch
        return not self._is_over

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Alone among programs and threads; raises OSError where another keeps it too long."""
        handle = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            deadline = time.monotonic() + _LOCK_WAIT_S
            while not try_lock(handle):
                if time.monotonic() > deadline:
                    raise TimeoutError("the cache is in use")
                time.sleep(_LOCK_TRY_S)
            yield
        finally:
            os.close(handle)  # which also unlocks


def _discard(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError:
        try:
            os.truncate(file, 0)
        except FileNotFoundError:  # no folder at all
            pass
        except OSError as error:
            log.warning("the listing kept of a scope cannot be removed: %s", type(error).__name__)


def _encoded(path: str, saved: Saved, size: int) -> Iterator[bytes]:
    """Lines of JSON: what the file is, what the scope is, and the rows, newest first, a few hundred to a line."""
    rows = saved.rows
    newest_first = sorted(range(size), key=lambda row: -rows.stored[row])
    lines = [_dumped({"recent": saved.recent, "foreign": saved.foreign, "is_cut": saved.is_cut})]
    for start in range(0, size, _ROWS_A_LINE):
        these = newest_first[start : start + _ROWS_A_LINE]
        columns = {}
        for name in COLUMNS:
            codes, known = rows.codes[name], rows.dictionary[name].known
            own: dict[int, int] = {}
            column = [own.setdefault(codes[row], len(own)) for row in these]
            columns[name] = [[known[code] for code in own], column]
        held = {name: [getattr(rows, name)[row] for row in these] for name in _HELD}
        lines.append(_dumped({"columns": columns, **held}))
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line)
    yield _dumped({"version": _VERSION, "scope": path, "digest": digest.hexdigest()})
    yield from lines


def _dumped(value: Any) -> bytes:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass") + b"\n"  # the server says what an id is


def _decoded(data: bytes, path: str, dictionary: Dictionary) -> Saved | None:
    """None for another scope or version, and for a file that is not whole; raises where it is none of this program."""
    first, _, rest = data.partition(b"\n")
    if json.loads(first) != {"version": _VERSION, "scope": path, "digest": hashlib.sha256(rest).hexdigest()}:
        return None
    about, *lines = rest.splitlines()
    rows = Rows(dictionary, path)
    for line in lines:
        held = json.loads(line)
        rows.ids += map(ItemId, held["ids"])
        rows.events += held["events"]
        rows.heads += held["heads"]
        rows.texts += held["texts"]
        rows.micros.extend(held["micros"])
        rows.nanos.extend(held["nanos"])
        for name in COLUMNS:
            values, column = held["columns"][name]
            codes = [dictionary[name].code(_frozen(value)) for value in values]
            rows.codes[name].extend([codes[code] for code in column])
    rows.stored = array("q", range(0, -len(rows), -1))
    rows.arrived = array("q", bytes(8 * len(rows)))
    told = json.loads(about)
    return Saved(rows, told["recent"], told["foreign"], told["is_cut"])


def _frozen(value: Any) -> Value:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
