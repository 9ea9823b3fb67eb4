"""Receipts: written line by line, told running from interrupted by their lock, and read back whatever is in them."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from explorer.contract import FetchMode, ItemId
from explorer.removal import forgetting, receipts
from explorer.removal.journal import Journal, target_left
from explorer.removal.outcome import Asked
from explorer.removal.page import heading, page
from explorer.removal.plan import Action, Target
from explorer.removal.receipts import Entry, Receipt, ReceiptWriter, ids_left
from explorer.transfer import FileError
from tests.removal.made import done, ids_of, lines_of
from tests.removal.written import begin, names, planned, ready, ten

HOSTILE = '<b>&"\u202e\u2028\ud83d"; DROP\x00\n</script>'


async def test_a_receipt_is_true_at_each_line(journal: Journal) -> None:
    removal = await ready(await ten(), journal)
    a, b, c, d, e = planned(removal)
    with begin(journal, removal, "forget") as writer:

        def now() -> tuple[int, int, int, list[ItemId], dict[ItemId, str]]:
            read = Receipt.read(writer.path)
            assert read.is_running
            assert not read.is_finished
            return read.removed, read.already_gone, read.not_tried, read.unanswered, read.failed

        assert now() == (0, 0, 5, [], {})
        writer.note("asked", ids=[a, b])
        assert now() == (0, 0, 3, [a, b], {})
        writer.note("answered", forgotten=1)
        assert now() == (1, 1, 3, [], {})
        writer.note("asked", ids=[c, d])
        writer.note("answered", forgotten=0, refused="the batch is too large")
        assert now() == (1, 1, 3, [], {})
        writer.note("asked", ids=[c])
        writer.note("failed", id=c, reason="it is locked")
        assert now() == (1, 1, 2, [], {c: "it is locked"})
        writer.note("asked", ids=[d])
        assert now() == (1, 1, 1, [d], {c: "it is locked"})
        assert ids_left(writer.path) == [c, d, e]
        writer.note("answered", forgotten=1)
        writer.note("checked", asked=Asked.FETCH, mode=FetchMode.HYBRID, questions=4, found=0, quoted=0, error=None)
        writer.close(
            removed=2, already_gone=1, failed={c: "it is locked"}, not_tried=[e], unanswered=[], stored_after=7
        )
    read = Receipt.read(writer.path)
    assert (read.is_running, read.is_finished, read.is_clean) == (False, True, False)
    assert (read.removed, read.already_gone, read.failed_in_all, read.not_tried, read.left) == (2, 1, 1, 1, 2)
    assert (read.planned, read.stored_before, read.stored_after) == (5, 10, 7)
    assert (read.connection, read.engine_id, read.nodes, read.kinds) == (
        "Notes",
        "reference",
        {"agent:a": 5},
        {"learning": 5},
    )
    assert [(check.asked, check.mode, check.is_clean) for check in read.checks] == [
        (Asked.FETCH, FetchMode.HYBRID, True)
    ]
    assert read.target == removal.plan.target
    entry = Entry.read(writer.path)
    assert (entry.at, entry.removed, entry.left, entry.is_clean) == ("agent:a", 2, 2, False)


async def test_the_end_says_whether_all_is_well(journal: Journal) -> None:
    removal = await ready(await ten(), journal)

    def ended(found: int | None, **numbers: Any) -> bool | None:
        with begin(journal, removal, "forget") as writer:
            if found is not None:
                writer.note("checked", asked=Asked.GET, questions=5, found=found, quoted=0, error=None)
            writer.close(**{"removed": 5, "failed": {}, **numbers})
        return Entry.read(writer.path).is_clean

    assert ended(0) is True
    assert ended(1) is False
    assert ended(None) is False  # nothing was asked: nothing is known
    assert ended(0, not_tried=1) is False


async def test_failures_that_had_no_line_get_one(journal: Journal) -> None:
    removal = await ready(await ten(), journal)
    a, b, *_ = planned(removal)
    with begin(journal, removal, "forget") as writer:
        writer.note("failed", id=a, reason="it is locked")
        writer.close(removed=3, failed={a: "it is locked", b: "it is still there"})
    assert names(lines_of(writer.path)) == ["begin", "planned", "failed", "failed", "end"]
    assert Receipt.read(writer.path).failed == {a: "it is locked", b: "it is still there"}


async def test_an_erase_without_an_answer_leaves_all_of_it_open(journal: Journal) -> None:
    engine = await ten()
    removal = await ready(engine, journal, action=Action.ERASE)
    with begin(journal, removal, "erase") as writer:
        assert Receipt.read(writer.path).not_tried == 5
        writer.note("erase_asked", request=removal.plan.target.erasing())
    read = Receipt.read(writer.path)
    assert read.is_interrupted
    assert (read.removed, read.not_tried, read.unanswered) == (0, 0, planned(removal))
    assert target_left(writer.path) == removal.plan.target
    with begin(journal, removal, "erase") as writer:
        writer.note("erase_asked", request=removal.plan.target.erasing())
        writer.note("erased", scopes=1, receipts=["er_1"])
    read = Receipt.read(writer.path)
    assert (read.removed, read.unanswered, read.erased_scopes, read.receipts) == (5, [], 1, ["er_1"])
    assert target_left(writer.path) is None


async def test_what_is_left_of_a_forget_becomes_its_items(journal: Journal) -> None:
    removal = await ready(await ten(), journal)
    a, b, *rest = planned(removal)
    with begin(journal, removal, "forget") as writer:
        writer.note("asked", ids=[a])
        writer.note("answered", forgotten=1)
        writer.note("asked", ids=[b])
    assert removal.plan.target.filter is not None
    assert target_left(writer.path) == Target.of_ids([b, *rest])


WRITES_ON = """
import sys
from collections.abc import Iterator
from pathlib import Path
from explorer.removal.receipts import ReceiptWriter
with ReceiptWriter.reopen(Path(sys.argv[1])) as writer:
    print("held", flush=True)
    sys.stdin.readline()
"""


@contextlib.contextmanager
def held_elsewhere(path: Path) -> Iterator[None]:
    """Another program holds the receipt until it is killed."""
    command = [sys.executable, "-c", WRITES_ON, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == b"held\n"
            yield
        finally:
            other.kill()


async def test_one_that_runs_in_another_program_is_not_interrupted(journal: Journal) -> None:
    removal = await ready(await ten(), journal)
    with begin(journal, removal, "forget") as writer:
        assert journal.unfinished() == []
    assert [entry.path for entry in journal.unfinished()] == [writer.path]
    with held_elsewhere(writer.path):
        assert Receipt.read(writer.path).is_running
        assert journal.unfinished() == []
        with pytest.raises(FileError, match="another program is writing it"):
            journal.settle(writer.path)
    assert [entry.path for entry in journal.unfinished()] == [writer.path]
    journal.settle(writer.path)
    assert journal.unfinished() == []


async def test_a_torn_last_line_is_left_out_and_written_after(journal: Journal) -> None:
    removal = await ready(await ten(), journal)
    a, b, *_ = planned(removal)
    with begin(journal, removal, "forget") as writer:
        writer.note("asked", ids=[a])
        writer.note("answered", forgotten=1)
        writer.note("asked", ids=[b])
    whole = writer.path.read_bytes()
    last = whole.rstrip(b"\n").rindex(b"\n") + 1
    for end in range(last + 1, len(whole) - 1):
        writer.path.write_bytes(whole[:end])
        read = Receipt.read(writer.path)
        assert (read.removed, read.unanswered, read.damaged_lines, read.is_interrupted) == (1, [], 0, True)
        assert Entry.read(writer.path).is_interrupted
    journal.settle(writer.path)
    read = Receipt.read(writer.path)
    assert (read.is_finished, read.removed, read.not_tried, read.damaged_lines) == (True, 1, 4, 1)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"\x00" * 100,
        b"[1]\n" * 3,
        b'{"line": 3}\n{"line": "begin"',
        b'{"line":"begin","action":{},"planned":"many","nodes":[1],"target":{"filter":3},"way_back":[],"engine":7}\n',
        b'{"line":"end","removed":-1}\n',
        b"[" * 200_000,
        b'{"line":"begin","planned":' + b"9" * 5000 + b"}\n",
        "Dear diary\n".encode("utf-16"),
    ],
)
def test_what_is_no_receipt_reads_as_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "2026-07-03T145931Z-erase.jsonl"
    path.write_bytes(content)
    assert not Receipt.read(path).is_readable
    assert not Entry.read(path).is_readable
    assert ids_left(path) == []


@pytest.mark.parametrize(
    "filter",
    [{}, {"reach": None}, {"reach": {"at": "team:acme/agent:writer", "inherit": True, "descendants": False}}],
)
def test_a_target_that_no_removal_has_never_goes_up_and_can_be_shown(tmp_path: Path, filter: dict[str, object]) -> None:
    path = tmp_path / "2026-07-03T145931Z-erase.jsonl"
    begin = {"line": "begin", "action": "erase", "planned": 1, "target": {"filter": filter}}
    path.write_text(f"{json.dumps(begin)}\n" + '{"line":"planned","ids":["one"]}\n')
    assert heading(Receipt.read(path)) in page(Receipt.read(path), UTC)
    target = target_left(path)
    assert target is not None
    assert target.filter is not None
    assert target.filter.reach is not None
    assert not target.filter.reach.inherit
    assert target.is_whole_tree == ("at" not in str(filter))


async def test_an_end_with_very_long_words_is_found_all_the_same(journal: Journal) -> None:
    removal = await ready(await ten(), journal)
    with begin(journal, removal, "erase") as writer:
        writer.close(removed=5, stopped="\x01" * 300_000, receipts=["\x01" * 3_000] * 300)
    assert Entry.read(writer.path).is_finished
    assert Receipt.read(writer.path).is_finished


async def test_lines_of_any_kind_between_are_counted_or_passed_over(journal: Journal) -> None:
    removal = await ready(await ten(), journal)
    a, *_ = planned(removal)
    with begin(journal, removal, "forget") as writer:
        writer.note("asked", ids=[a])
        writer.note("from a later version", of="this program")
    odd = [
        b"garbage",
        b'{"line":"answered","forgotten":"all"}',
        b'{"line":"failed","id":7}',
        b'{"line":"checked","asked":"horoscope"}',
        b'{"line":"checked","asked":"fetch","mode":"psychic","still":{}}',
        b'{"line":"asked","ids":{"a":1}}',
        b'{"line":"waited","seconds":NaN}',
        b'{"line":"begin","action":"erase","planned":0}',  # a second one changes nothing
    ]
    with writer.path.open("ab") as file:
        file.write(b"\n".join(odd) + b"\n")
    read = Receipt.read(writer.path)
    assert (read.action, read.planned, read.damaged_lines, read.checks) == ("forget", 5, 1, [])
    assert read.waited_s == 0.0


async def test_hostile_words_are_data(journal: Journal) -> None:
    removal = await ready(await ten(), journal)
    removal.connection = HOSTILE
    a, *_ = planned(removal)
    with begin(journal, removal, "forget") as writer:
        writer.note("failed", id=a, reason=HOSTILE)
        writer.note("stopped", why=HOSTILE)
    assert len(writer.path.read_bytes().split(b"\n")) == 5  # four lines, and nothing after the last
    read = Receipt.read(writer.path)
    assert (read.connection, read.failed, read.stopped) == (HOSTILE, {a: HOSTILE}, HOSTILE)


async def test_nothing_of_the_items_words_is_written(journal: Journal) -> None:
    engine = await ten()
    removal = await ready(engine, journal)
    with begin(journal, removal, "forget") as writer:
        writer.close(removed=5)
    for path in journal.folder.iterdir():
        assert b"a 0" not in path.read_bytes()


async def test_what_cannot_be_taken_back_is_on_the_disk_first(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    removal = await ready(await ten(), journal, action=Action.ERASE)
    kept: list[list[str]] = []
    fsync = os.fsync

    def keep(handle: int) -> None:
        fsync(handle)
        kept.extend(names(lines_of(path)) for path in journal.folder.glob("*.jsonl"))

    monkeypatch.setattr(receipts.os, "fsync", keep)
    with begin(journal, removal, "erase") as writer:
        writer.note("erase_asked", request={})
        writer.note("erased", scopes=1, receipts=[])
        writer.close(removed=5)
    begun = ["begin", "planned"]
    assert [*filter(None, kept)] == [begun, [*begun, "erase_asked"], [*begun, "erase_asked", "erased", "end"]]


async def test_a_file_system_without_locks_keeps_receipts_all_the_same(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with begin(journal, await ready(await ten(), journal), "forget") as writer:
        writer.close(removed=5)
    assert Receipt.read(writer.path).is_finished


def refuse_writes(monkeypatch: pytest.MonkeyPatch, after_bytes: int) -> None:
    """The disk takes `after_bytes` more of what is written to receipts, and then nothing."""
    room = after_bytes
    write = os.write

    def limited(handle: int, data: Any) -> int:
        nonlocal room
        part = bytes(data)[:room]
        if not part:
            raise OSError(errno.ENOSPC, "No space left on device")
        room -= len(part)
        return write(handle, part)

    monkeypatch.setattr(receipts.os, "write", limited)


async def test_a_full_disk_refuses_a_beginning_and_leaves_nothing(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    removal = await ready(await ten(), journal)
    with monkeypatch.context() as patch:
        refuse_writes(patch, 900)
        with pytest.raises(FileError, match="no space left on device"):
            begin(journal, removal, "forget")
    assert list(journal.folder.iterdir()) == []


async def test_a_full_disk_later_tears_no_line(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    removal = await ready(await ten(), journal)
    a, b, *_ = planned(removal)
    with begin(journal, removal, "forget") as writer:
        writer.note("asked", ids=[a])
        writer.note("answered", forgotten=1)
        with monkeypatch.context() as patch:
            refuse_writes(patch, 30)
            with pytest.raises(FileError, match=f"{writer.path.name} cannot be written on: no space left on device"):
                writer.note("asked", ids=[b])
        writer.note("stopped", why="the disk was full")
    assert names(lines_of(writer.path)) == ["begin", "planned", "asked", "answered", "stopped"]


async def test_a_line_after_one_that_could_not_be_taken_back_is_whole(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    removal = await ready(await ten(), journal)
    a, *_ = planned(removal)

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with begin(journal, removal, "forget") as writer:
        with monkeypatch.context() as patch:
            refuse_writes(patch, 30)
            patch.setattr(receipts.os, "ftruncate", fail)
            with pytest.raises(FileError):
                writer.note("asked", ids=[a])
        writer.note("stopped", why="the disk failed")
    read = Receipt.read(writer.path)
    assert (read.stopped, read.damaged_lines, read.unanswered) == ("the disk failed", 1, [])


async def test_a_run_whose_receipt_fails_stops_and_says_so(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every byte of the receipt: no item goes of which the receipt does not know that it was asked for."""
    monkeypatch.setattr(forgetting, "FIRST_BATCH", 2)
    monkeypatch.setattr(forgetting, "MOST_BATCH", 2)
    outcome = await done(await ready(await ten(), journal))
    assert outcome.receipt is not None
    size = outcome.receipt.stat().st_size
    head = len(b"".join(outcome.receipt.read_bytes().splitlines(keepends=True)[:2]))
    for room in range(head, size, 101):
        engine = await ten()
        removal = await ready(engine, journal)
        ids = planned(removal)
        with monkeypatch.context() as patch:
            refuse_writes(patch, room)
            try:
                outcome = await done(removal)
            except FileError:
                assert len(engine) == 10
                continue
        assert outcome.receipt is not None
        assert not outcome.is_clean or outcome.stopped is not None
        assert outcome.stopped is None or "no space left on device" in outcome.stopped
        there = set(await ids_of(engine))
        read, left = Receipt.read(outcome.receipt), set(ids_left(outcome.receipt))
        assert not (set(ids) - left) & there
        assert left - set(read.unanswered) <= there


async def test_a_folder_that_cannot_be_made_refuses(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    journal = Journal(tmp_path / "file" / "receipts")
    removal = await ready(await ten(), journal)
    with pytest.raises(FileError, match="no receipt can be written in"):
        begin(journal, removal, "forget")
    with pytest.raises(FileError, match="cannot read the receipts in"):
        journal.entries()


def test_a_receipt_of_very_many_items_is_read_without_their_ids(tmp_path: Path) -> None:
    ids = [ItemId(f"{n:040x}") for n in range(20_000)]
    with ReceiptWriter.create(tmp_path, "forget", receipts.datetime.now(receipts.UTC)) as writer:
        writer.note("begin", action="forget", planned=len(ids))
        writer.planned(ids)
        writer.note("asked", ids=ids[:3])
    reading = receipts._Reading(Receipt(writer.path))
    with writer.path.open("rb") as file:
        for said in receipts._lines(file, reading.receipt):
            reading.take(said)
    assert len(reading._planned) == 0
    assert reading.finished().not_tried == len(ids) - 3
    assert ids_left(writer.path) == ids


def test_a_line_without_end_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receipts, "_MAX_LINE", 1_000)
    path = tmp_path / "2026-07-03T145931Z-forget.jsonl"
    begin = json.dumps({"line": "begin", "action": "forget", "planned": 3})
    path.write_text(begin + "\n" + "x" * 5_000 + "\n" + json.dumps({"line": "stopped", "why": "so"}) + "\n")
    read = Receipt.read(path)
    assert (read.planned, read.stopped, read.damaged_lines) == (3, "so", 1)
