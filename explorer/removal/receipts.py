"""One receipt: JSON Lines, written while things happen, so that it is true at any moment; and read back.

Each line is an object with `line` and `at` (UTC), and what is said of it below. `begin` is the first, `end` the last;
a receipt without an `end`, and that no program holds, was interrupted.

    begin      format, program, version, action, connection, engine, and what is planned: see `Journal.begin`
    planned    ids: what goes, in the order of its turn; as many such lines as it takes, right after `begin`
    asked      ids: about to be asked of the engine; those of an `answered` are the ids asked last. A move has no
               `answered`: a fresh read tells what was `removed` and what `failed`
    answered   forgotten: how many of them there were; the others were gone already. Or refused: why it took none
    failed     id, reason
    erase_asked  request: all that is planned is asked for at once
    erased     scopes, receipts
    copied     pairs: of a move or a copy, the id before and the id at the new place, read back whole
    removed    ids: of a move, gone from where they were
    stored     new, replayed, refused: of a restore, sums so far
    refused    number, reason: of a restore, a line of its file that did not go in
    waited     seconds, why
    paused, resumed
    stopped    why: a sentence part
    checked    a question asked again, as `Checked` has it; of `still` the id and node of each
    text       id, text: what an item said, where it was asked to be kept
    remains    words: what this does not reach, a sentence each
    end        removed, already_gone, failed, not_tried, unanswered, stored_after, …: see `ReceiptWriter.close`; of
               a move or a copy also done: those moved or copied, in all
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from itertools import count as counting
from pathlib import Path
from typing import Any, BinaryIO, Self

from pydantic import BaseModel, ValidationError

from explorer.contract import FetchMode, ItemId, Namespace
from explorer.engines.locks import is_locked, sync_folder, try_lock
from explorer.engines.os_errors import why
from explorer.removal.outcome import Asked
from explorer.removal.plan import Target
from explorer.transfer import FileError

SUFFIX = ".jsonl"
FORMAT = 1
PLANNED_AT_ONCE = 1_000
"""Ids in one line of them."""

_LOCK_WAIT_S = 0.5
_MAX_LINE = 64 << 20
_MAX_FIRST = 8 << 20
_TAIL = 256 << 10
_MAX_AT_END = 100
_MAX_WORDS_AT_END = 300  # so that the last line is within the tail, also where each character is an escape
_MAX_TEXT = 2_000
_MAX_PATH = 32_000
_MAX_KEPT = 10_000
"""Reasons, ids and other lists of a view; the file has all of them."""


class ReceiptWriter:
    """The one who writes a receipt, which it holds against all other programs. Every call touches the disk.

    A context manager that lets go of the file; what was not closed by then was interrupted. `note` and `close` raise
    FileError where the disk fails: what is written until then stays true.
    """

    def __init__(self, path: Path, handle: int, on_end: Callable[[Path], None] | None = None) -> None:
        self.path = path
        self._handle: int | None = handle
        self._size = os.fstat(handle).st_size
        self._is_torn = False
        self._is_ended = False
        self._failed: set[str] = set()
        self._checks: list[bool] = []
        """Whether each was clean."""
        self._on_end = on_end

    @classmethod
    def create(
        cls, folder: Path, action: str, now: datetime, on_end: Callable[[Path], None] | None = None
    ) -> ReceiptWriter:
        """A new, empty receipt in `folder`, which is made; raises FileError. `on_end` is told once it is finished."""
        stem = f"{now.astimezone(UTC):%Y-%m-%dT%H%M%SZ}-{action}"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for number in counting(1):
                path = folder / f"{stem}{f'-{number}' if number > 1 else ''}{SUFFIX}"
                with contextlib.suppress(FileExistsError):
                    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | _BINARY, 0o600)
                    break
            _hold(handle, path)
            sync_folder(folder)
        except (OSError, ValueError) as error:
            raise FileError(f"no receipt can be written in {folder}: {why(error)}") from error
        return cls(path, handle, on_end)

    @classmethod
    def reopen(cls, path: Path, on_end: Callable[[Path], None] | None = None) -> ReceiptWriter:
        """Go on with a receipt that was interrupted. Raises FileError where another program holds it."""
        try:
            handle = os.open(path, os.O_RDWR | os.O_APPEND | _BINARY)
            _hold(handle, path)
        except OSError as error:
            raise FileError(f"cannot go on with the receipt {path}: {why(error)}") from error
        writer = cls(path, handle, on_end)
        writer._is_torn = not _ends_whole(handle, writer._size)
        return writer

    def note(self, line: str, /, **facts: Any) -> None:
        """Write one line, whole or not at all."""
        if self._handle is None:
            raise ValueError("a line for a receipt that is closed")
        said = {"line": line, "at": _written_time(datetime.now(UTC)), **_plain(facts)}
        text = json.dumps(said, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        # Half of a surrogate pair, from a path that is no text, has no UTF-8 but an escape that JSON reads.
        data = b"\n" * self._is_torn + text.encode("utf-8", errors="backslashreplace") + b"\n"
        try:
            _write(self._handle, data)
        except OSError as error:
            self._undo()
            raise FileError(f"the receipt {self.path} cannot be written on: {why(error)}") from error
        self._is_torn = False
        self._is_ended = line == "end"
        self._size += len(data)
        if line == "erase_asked":  # what cannot be taken back is known of even if the power goes
            self.sync()
        elif line == "failed":
            self._failed.add(str(facts.get("id")))
        elif line == "checked":
            self._checks.append(not facts.get("found") and not facts.get("quoted") and facts.get("error") is None)

    @property
    def checks(self) -> int:
        """How many questions asked again are written."""
        return len(self._checks)

    def planned(self, ids: list[ItemId]) -> None:
        """Name what goes, in the order of its turn."""
        for start in range(0, len(ids), PLANNED_AT_ONCE):
            self.note("planned", ids=ids[start : start + PLANNED_AT_ONCE])

    def sync(self) -> None:
        """Bring what was written to the disk for good."""
        if self._handle is None:
            return
        try:
            os.fsync(self._handle)
        except OSError as error:
            raise FileError(f"the receipt {self.path} cannot be written on: {why(error)}") from error

    def close(self, **facts: Any) -> None:
        """Write `end` with what came of it: numbers (`removed`, `already_gone`, `failed`, `not_tried`, `unanswered`,
        each a count or the things counted), `stopped`, `stored_after`, `waited_s`. After it nothing is written.

        Of `failed` with reasons, those get a line first that have none. Whether all is well (`is_clean`) is told by
        the lines before, where it is not given: everything gone, and no question answered. Where `end` was noted
        already it is not written again; nothing happens for a receipt that is closed.
        """
        if self._handle is None:
            return
        try:
            if not self._is_ended:
                failed = facts.get("failed")
                for id, reason in failed.items() if isinstance(failed, Mapping) else ():
                    if id not in self._failed:
                        self.note("failed", id=id, reason=reason)
                said = {name: _short(name, value) for name, value in facts.items()}
                if "is_clean" not in said and "removed" in said:
                    left = sum(_count(said.get(name)) for name in _LEFT)
                    said["is_clean"] = not left and bool(self._checks) and all(self._checks)
                self.note("end", **said)
            self.sync()
        finally:
            self.release()
        if self._on_end is not None:
            self._on_end(self.path)

    def release(self) -> None:
        """Let go of the file, with or without an `end`."""
        if self._handle is not None:
            os.close(self._handle)  # which also unlocks
            self._handle = None

    def discard(self) -> None:
        """Take the receipt away again: nothing was done yet."""
        self.release()
        with contextlib.suppress(OSError):
            self.path.unlink()

    def _undo(self) -> None:
        """Take back what came to the disk of a line; where not even that can be done, the next begins on its own."""
        assert self._handle is not None
        try:
            os.ftruncate(self._handle, self._size)
        except OSError:
            self._is_torn = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


_BINARY: int = getattr(os, "O_BINARY", 0)  # Windows would write CR LF


def _hold(handle: int, path: Path) -> None:
    """Raises OSError, with the handle closed, where another holds the file; who only asks holds it for a moment."""
    deadline = time.monotonic() + _LOCK_WAIT_S
    try:
        while not try_lock(handle):
            if time.monotonic() > deadline:
                raise BlockingIOError(0, "another program is writing it", str(path))
            time.sleep(0.005)
    except OSError:
        os.close(handle)
        raise


def _ends_whole(handle: int, size: int) -> bool:
    if not size:
        return True
    os.lseek(handle, size - 1, os.SEEK_SET)
    return os.read(handle, 1) == b"\n"


def _write(handle: int, data: bytes) -> None:
    """Every byte, in as few calls as the system allows."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


_LEFT = ("failed", "not_tried", "unanswered")
_NUMBERS = ("removed", "already_gone", "failed", "not_tried", "unanswered")


def _short(name: str, value: Any) -> Any:
    """Of things the count, of lists and texts the start: other lines have them whole, and the last line stays short."""
    if name in _NUMBERS:
        return value if isinstance(value, int) else len(value)
    if isinstance(value, list):
        return [part[:_MAX_WORDS_AT_END] if isinstance(part, str) else part for part in value[:_MAX_AT_END]]
    return value[:_MAX_TEXT] if isinstance(value, str) else value


def _written_time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _plain(value: Any) -> Any:
    """`value` as JSON has it. Raises TypeError for what a receipt does not know how to say."""
    match value:
        case Enum():
            return value.value
        case None | bool() | int() | float() | str():
            return value
        case BaseModel():
            return value.model_dump(mode="json", by_alias=True)
        case Namespace() | Path():
            return str(value)
        case datetime():
            return _written_time(value)
        case Mapping():
            return {str(_plain(key)): _plain(part) for key, part in value.items()}
        case list() | tuple() | set() | frozenset():
            return [part if type(part) is str else _plain(part) for part in value]  # a million ids, perhaps
    raise TypeError(f"a receipt cannot hold a {type(value).__name__}")


# Reading. What a receipt holds is taken as anybody may have written it: each value is looked at before it is used.


@dataclass(frozen=True, slots=True)
class Still:
    """An item that still answered."""

    id: ItemId
    node: str


@dataclass(frozen=True, slots=True)
class Checked:
    """A question asked again, as the receipt has it: a Check without texts."""

    asked: Asked
    mode: FetchMode | None
    questions: int
    found: int
    quoted: int
    still: tuple[Still, ...]
    error: str | None

    @property
    def is_clean(self) -> bool:
        return not self.found and not self.quoted and self.error is None


@dataclass(frozen=True, slots=True)
class KeptAt:
    """The file to restore from."""

    path: Path
    items: int
    size_bytes: int
    incomplete: int
    """Items that it lacks, because the engine held only part of them."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What the first and the last line of a receipt say: enough for a list of them."""

    path: Path
    action: str
    """`forget`, `erase`, `move`, `copy`, `restore`; empty where the first line cannot be read."""
    connection: str
    engine_id: str
    engine_label: str
    at: str
    """The node that a filter was about; empty where it was none, and for items chosen one by one."""
    nodes: tuple[str, ...]
    """The nodes of what went, the largest first; of many only some."""
    nodes_in_all: int
    planned: int
    begun_at: datetime | None
    ended_at: datetime | None
    """None while it runs, and where it was interrupted."""
    removed: int | None
    """Of a move or a copy, moved or copied; of a restore, stored. None where there is no last line to say it."""
    left: int | None
    """Of what was planned: failed, not tried, or never answered."""
    is_clean: bool | None
    """Whether everything planned is gone and nothing answers; None where that is not known."""
    stopped: str | None
    continued_by: str | None
    """The name of the receipt that goes on where this one was interrupted."""
    size_bytes: int
    is_running: bool
    way_back: KeptAt | None = None
    place: str = ""
    """Where the memory is: its file, or its endpoint; "" where that was not known."""
    account: str = ""
    """The name that its connection had first; "" where that was its name then."""

    @property
    def is_readable(self) -> bool:
        return bool(self.action)

    @property
    def is_finished(self) -> bool:
        return self.ended_at is not None

    @property
    def is_interrupted(self) -> bool:
        return self.is_readable and not self.is_finished and not self.is_running

    @property
    def can_restore(self) -> bool:
        return self.way_back is not None and not self.is_running

    @classmethod
    def read(cls, path: Path) -> Entry:
        """By the head and the tail of the file alone. Raises OSError where it cannot be read."""
        # The lock is asked first: one that ends between the two questions is finished rather than interrupted.
        is_running = is_locked(path)
        with path.open("rb") as file:
            begin = _object(file.readline(_MAX_FIRST))
            end = _last(file)
            size = file.seek(0, os.SEEK_END)
        if begin.get("line") != "begin":
            begin = {}
        is_end = end.get("line") == "end"
        return cls(
            path=path,
            action=_text(begin.get("action")) if begin else "",
            connection=_text(begin.get("connection")),
            engine_id=_text(_map(begin.get("engine")).get("id")),
            engine_label=_text(_map(begin.get("engine")).get("label")),
            at=_text(_map(_map(_map(begin.get("target")).get("filter")).get("reach")).get("at")),
            nodes=tuple(_counts(begin.get("nodes"))),
            nodes_in_all=_count(begin.get("nodes_in_all")),
            planned=_count(begin.get("planned")),
            begun_at=_time(begin.get("at")),
            ended_at=_time(end.get("at")) if is_end else None,
            removed=_count(end.get("done", end.get("removed", end.get("new")))) if is_end else None,
            left=sum(_count(end.get(name)) for name in _LEFT) if is_end else None,
            is_clean=_flag(end.get("is_clean")) if is_end else None,
            stopped=_text(end.get("stopped")) or None if is_end else None,
            continued_by=_text(end.get("continued_by")) or None if is_end else None,
            size_bytes=size,
            is_running=is_running and not is_end,
            way_back=_kept_at(begin),
            place=_text(_map(begin.get("engine")).get("place"), _MAX_PATH),
            account=_text(_map(begin.get("engine")).get("account")),
        )


@dataclass(slots=True)
class Receipt:
    """Everything that a receipt says, for a view of it. Lists end at ten thousand; the counts beside them do not."""

    path: Path
    action: str = ""
    connection: str = ""
    engine_id: str = ""
    engine_label: str = ""
    place: str = ""
    """Where the memory is: its file, or its endpoint; "" where that was not known."""
    account: str = ""
    """The name that its connection had first; "" where that was its name then."""
    engine: dict[str, Any] = field(default_factory=dict)
    """`hosted`, `consolidation` and `is_file` of what the engine says of itself, each there or not."""
    version: str = ""
    """Of the program that wrote it."""
    target: Target | None = None
    """Without its ids; None for what is no removal."""
    facts: dict[str, Any] = field(default_factory=dict)
    """The first line as it is, for what has no name here."""
    kinds: dict[str, int] = field(default_factory=dict)
    nodes: dict[str, int] = field(default_factory=dict)
    nodes_in_all: int = 0
    planned: int = 0
    stored_before: int = 0
    stored_is_least: bool = False
    stored_after: int | None = None
    removed: int = 0
    already_gone: int = 0
    failed: dict[ItemId, str] = field(default_factory=dict)
    failed_in_all: int = 0
    not_tried: int = 0
    unanswered: list[ItemId] = field(default_factory=list)
    """Asked of the engine, which did not answer: there or gone, nobody knows."""
    unanswered_in_all: int = 0
    erased_scopes: int | None = None
    receipts: list[str] = field(default_factory=list)
    """The engine's own."""
    checks: list[Checked] = field(default_factory=list)
    remains: list[str] = field(default_factory=list)
    way_back: KeptAt | None = None
    texts: dict[ItemId, str] = field(default_factory=dict)
    copied: int = 0
    """Of a move or a copy: items read back whole at their new place."""
    new: int = 0
    """Of a restore: items that were not there."""
    replayed: int = 0
    """Of a restore: items that were held already."""
    refused: int = 0
    """Of a restore: lines of its file that did not go in."""
    refused_lines: list[tuple[int, str]] = field(default_factory=list)
    """Their numbers, from 1, and the reasons."""
    begun_at: datetime | None = None
    ended_at: datetime | None = None
    waited_s: float = 0.0
    stopped: str | None = None
    is_clean: bool | None = None
    continued_by: str | None = None
    is_running: bool = False
    damaged_lines: int = 0
    """Lines that cannot be read, but for a torn last one."""

    @property
    def is_readable(self) -> bool:
        return bool(self.action)

    @property
    def is_finished(self) -> bool:
        return self.ended_at is not None

    @property
    def is_interrupted(self) -> bool:
        return self.is_readable and not self.is_finished and not self.is_running

    @property
    def restored_from(self) -> Path | None:
        """The file of a restore; None of anything else."""
        path = _text(_map(self.facts.get("file")).get("path"), _MAX_PATH)
        return Path(path) if self.action == "restore" and path else None

    @property
    def items_to_restore(self) -> int | None:
        """How many the file of a restore should hold; None where that was not known."""
        return _count(_map(self.facts.get("file")).get("items")) or None

    @property
    def left(self) -> int:
        return self.failed_in_all + self.not_tried + self.unanswered_in_all

    @classmethod
    def read(cls, path: Path) -> Receipt:
        """Read a whole receipt, line by line. Raises FileError where the file cannot be read.

        What is no receipt reads as one that is not `is_readable`.
        """
        try:
            is_running = is_locked(path)
            with path.open("rb") as file:
                # Which ids were planned matters only where an erase was never answered; there may be a million.
                is_ended = _last(file).get("line") == "end"
                file.seek(0)
                reading = _Reading(cls(path, is_running=is_running), is_ended=is_ended)
                for said in _lines(file, reading.receipt):
                    reading.take(said)
        except OSError as error:
            raise FileError(f"cannot read the receipt {path}: {why(error)}") from error
        return reading.finished()


def ids_left(path: Path) -> list[ItemId]:
    """What an interrupted removal planned and is not known to be gone: failed, not tried, or never answered; in the
    order of its turn. Raises FileError where the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            reading = _Reading(Receipt(path), keeps_planned=True)
            for said in _lines(file, reading.receipt):
                reading.take(said)
    except OSError as error:
        raise FileError(f"cannot read the receipt {path}: {why(error)}") from error
    return reading.left()


class _Reading:
    """What the lines of a receipt come to, one after the other."""

    def __init__(self, receipt: Receipt, *, keeps_planned: bool = False, is_ended: bool = False) -> None:
        self.receipt = receipt
        self._keeps_planned = keeps_planned
        self._is_ended = is_ended
        self._planned: dict[ItemId, None] = {}
        self._asked: list[ItemId] = []
        """By the last `asked` alone."""
        self._pending: dict[ItemId, None] = {}
        self._erase_asked = False
        self._erased = False
        self._failed: dict[ItemId, str] = {}
        self._end: dict[str, Any] | None = None

    def take(self, said: dict[str, Any]) -> None:
        receipt = self.receipt
        match said.get("line"):
            case "begin":
                if not receipt.action:
                    self._begin(said)
            case "planned":
                ids = _ids(said.get("ids"))
                if self._keeps_planned or (receipt.action == "erase" and not self._is_ended):
                    self._planned.update(dict.fromkeys(ids))
            case "asked":
                self._asked = _ids(said.get("ids"))
                self._pending.update(dict.fromkeys(self._asked))
            case "answered":
                self._answered(said)
            case "copied":
                pairs = _list(said.get("pairs"))
                receipt.copied += len(pairs)
                if receipt.action == "copy":  # which ends there; a move goes on
                    self._settle(_ids([pair[0] for pair in pairs if isinstance(pair, list) and pair]), is_gone=True)
            case "removed":
                ids = _ids(said.get("ids"))
                receipt.removed += len(ids)
                self._settle(ids, is_gone=True)
            case "refused":
                if len(receipt.refused_lines) < _MAX_KEPT:
                    receipt.refused_lines.append((_count(said.get("number")), _text(said.get("reason"))))
            case "failed":
                ids = _ids([said.get("id")])
                self._settle(ids, is_gone=False)
                self._failed.update((id, _text(said.get("reason"))) for id in ids)
            case "erase_asked":
                self._erase_asked = True
            case "erased":
                self._erased = True
                receipt.erased_scopes = _count(said.get("scopes"))
                receipt.receipts = [_text(text) for text in _list(said.get("receipts"))[:_MAX_KEPT]]
            case "stored":
                receipt.new = _count(said.get("new"))
                receipt.replayed = _count(said.get("replayed"))
                receipt.refused = _count(said.get("refused"))
            case "waited":
                receipt.waited_s += _number(said.get("seconds"))
            case "stopped":
                receipt.stopped = _text(said.get("why")) or None
            case "checked":
                if (check := _checked(said)) is not None and len(receipt.checks) < 100:
                    receipt.checks.append(check)
            case "remains":
                receipt.remains = [_text(text) for text in _list(said.get("words"))[:100]]
            case "text":
                if len(receipt.texts) < _MAX_KEPT:
                    receipt.texts.update((id, _text(said.get("text"), _MAX_LINE)) for id in _ids([said.get("id")]))
            case "end":
                self._end = said

    def _begin(self, said: dict[str, Any]) -> None:
        receipt = self.receipt
        engine = _map(said.get("engine"))
        receipt.action = _text(said.get("action"))
        receipt.connection = _text(said.get("connection"))
        receipt.engine_id = _text(engine.get("id"))
        receipt.engine_label = _text(engine.get("label"))
        receipt.place = _text(engine.get("place"), _MAX_PATH)
        receipt.account = _text(engine.get("account"))
        receipt.engine = engine
        receipt.version = _text(said.get("version"))
        receipt.facts = said
        receipt.kinds = _counts(said.get("kinds"))
        receipt.nodes = _counts(said.get("nodes"))
        receipt.nodes_in_all = max(_count(said.get("nodes_in_all")), len(receipt.nodes))
        receipt.planned = _count(said.get("planned"))
        receipt.stored_before = _count(said.get("stored_before"))
        receipt.stored_is_least = said.get("stored_is_least") is True
        receipt.begun_at = _time(said.get("at"))
        with contextlib.suppress(ValidationError, RecursionError):
            receipt.target = None if said.get("target") is None else _target(said["target"])
        receipt.way_back = _kept_at(said)

    def _answered(self, said: dict[str, Any]) -> None:
        asked, self._asked = self._asked, []
        if "refused" in said:
            self._settle(asked, is_gone=False)
            return
        forgotten = min(_count(said.get("forgotten")), len(asked))
        self.receipt.removed += forgotten
        self.receipt.already_gone += len(asked) - forgotten
        self._settle(asked, is_gone=True)

    def _settle(self, ids: list[ItemId], *, is_gone: bool) -> None:
        for id in ids:
            self._pending.pop(id, None)
            if is_gone:
                self._planned.pop(id, None)
                self._failed.pop(id, None)

    def left(self) -> list[ItemId]:
        return [] if self._erased else list(self._planned)

    def finished(self) -> Receipt:
        receipt = self.receipt
        unanswered = self._pending
        if receipt.action == "erase" and self._erase_asked and not self._erased:
            unanswered = self._planned
        if self._erased:
            receipt.removed = max(receipt.planned - receipt.already_gone, 0)
            unanswered = {}
        receipt.failed_in_all = len(self._failed)
        receipt.failed = dict(list(self._failed.items())[:_MAX_KEPT])
        receipt.unanswered_in_all = len(unanswered)
        receipt.unanswered = list(unanswered)[:_MAX_KEPT]
        if receipt.target is not None or receipt.action in ("forget", "erase"):
            done = receipt.copied if receipt.action == "copy" else receipt.removed
            tried = done + receipt.already_gone + receipt.failed_in_all + receipt.unanswered_in_all
            receipt.not_tried = max(receipt.planned - tried, 0)
        if self._end is not None:
            self._take_end(self._end)
        return receipt

    def _take_end(self, end: dict[str, Any]) -> None:
        """What the end says of the numbers stands: whoever ran it knew more than the lines could say."""
        receipt = self.receipt
        receipt.is_running = False
        receipt.ended_at = _time(end.get("at")) or receipt.begun_at
        receipt.removed = _count(end.get("removed", receipt.removed))
        if receipt.action == "copy":
            receipt.copied = _count(end.get("done", receipt.copied))
        receipt.already_gone = _count(end.get("already_gone", receipt.already_gone))
        receipt.failed_in_all = _count(end.get("failed", receipt.failed_in_all))
        receipt.not_tried = _count(end.get("not_tried", receipt.not_tried))
        receipt.unanswered_in_all = _count(end.get("unanswered", receipt.unanswered_in_all))
        receipt.unanswered = receipt.unanswered[: receipt.unanswered_in_all]  # it may have been found out later
        receipt.stored_after = None if end.get("stored_after") is None else _count(end["stored_after"])
        receipt.stopped = _text(end.get("stopped")) or receipt.stopped
        receipt.waited_s = _number(end.get("waited_s", receipt.waited_s))
        receipt.is_clean = _flag(end.get("is_clean"))
        receipt.continued_by = _text(end.get("continued_by")) or None
        receipt.new = _count(end.get("new", receipt.new))
        receipt.replayed = _count(end.get("replayed", receipt.replayed))
        receipt.refused = _count(end.get("refused", receipt.refused))


def _lines(file: BinaryIO, receipt: Receipt) -> Iterator[dict[str, Any]]:
    """The objects of a receipt, one a line; what cannot be read is counted, but for the torn end of the file."""
    while line := file.readline(_MAX_LINE):
        said = _object(line)
        if not line.endswith(b"\n"):
            if len(line) < _MAX_LINE:
                if said:  # whole but for its end: the power went in between
                    yield said
                return
            said = {}
            while rest := file.readline(_MAX_LINE):
                if rest.endswith(b"\n"):
                    break
        if said:
            yield said
        elif line.strip():
            receipt.damaged_lines += 1


def _last(file: BinaryIO) -> dict[str, Any]:
    """The last line that can be read, as long as it is no very long one."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - _TAIL, 0))
    lines = file.read(_TAIL).splitlines()
    for line in reversed(lines[-2:]):  # the very last may be torn
        if said := _object(line):
            return said
    return {}


def _object(line: bytes) -> dict[str, Any]:
    """The line's object; an empty one of what is none."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) and isinstance(said.get("line"), str) else {}


def _text(value: object, limit: int = _MAX_TEXT) -> str:
    return value[:limit] if isinstance(value, str) else ""


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63 else 0


def _number(value: object) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 1e9 else 0.0  # type: ignore[operator, arg-type]


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _map(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _counts(value: object) -> dict[str, int]:
    return {name[:_MAX_TEXT]: _count(number) for name, number in list(_map(value).items())[:_MAX_KEPT]}


def _ids(value: object) -> list[ItemId]:
    return [ItemId(id) for id in _list(value) if isinstance(id, str)]


def _time(value: object) -> datetime | None:
    with contextlib.suppress(ValueError, OverflowError):
        at = datetime.fromisoformat(_text(value))
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return None


def _target(value: object) -> Target:
    """As a removal makes them, which never goes up, whatever is written here. Raises ValidationError."""
    target = Target.model_validate(value)
    if target.filter is None:
        return target
    return Target.of_filter(target.filter).model_copy(update={"above": target.above})


def _kept_at(begin: dict[str, Any]) -> KeptAt | None:
    kept = _map(begin.get("way_back"))
    if path := _text(kept.get("path"), _MAX_PATH):
        with contextlib.suppress(ValueError):
            counts = (_count(kept.get(name)) for name in ("items", "size_bytes", "incomplete"))
            return KeptAt(Path(path), *counts)
    return None


def _checked(said: dict[str, Any]) -> Checked | None:
    try:
        asked = Asked(_text(said.get("asked")))
        mode = None if said.get("mode") is None else FetchMode(_text(said.get("mode")))
    except ValueError:
        return None
    still = [_map(one) for one in _list(said.get("still"))[:_MAX_KEPT]]
    return Checked(
        asked=asked,
        mode=mode,
        questions=_count(said.get("questions")),
        found=_count(said.get("found")),
        quoted=_count(said.get("quoted")),
        still=tuple(Still(ItemId(_text(one.get("id"))), _text(one.get("node"))) for one in still),
        error=_text(said.get("error")) or None,
    )
