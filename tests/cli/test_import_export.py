"""`import` and `export` as a person runs them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from explorer.contract import (
    EngineDescriptor,
    ExportPage,
    FetchMode,
    ItemId,
    ListRequest,
    MemoryEngine,
    Unavailable,
    dump_item,
)
from explorer.contract.reference import ReferenceEngine
from explorer.engines import EngineEntry, registry

from .conftest import ROOT
from .made import ITEMS, Ran, learning

Run = Callable[..., Ran]
Start = Callable[..., subprocess.Popen[bytes]]

GOOD = dump_item(learning("good"))


@pytest.fixture
def use_engine(monkeypatch: pytest.MonkeyPatch) -> Callable[[MemoryEngine], None]:
    """Make `--engine odd` open that engine, as if a package had added it."""

    def put(engine: MemoryEngine) -> None:
        descriptor = EngineDescriptor(
            id="odd",
            label="Odd",
            description="",
            hosted=False,
            needs_endpoint=False,
            needs_key=False,
            fetch_modes=[FetchMode.KEYWORD],
        )
        monkeypatch.setattr(registry, "_found", ({"odd": EngineEntry(descriptor, lambda s, c: engine)}, []))

    return put


def ids(run: Run, *args: str | Path) -> list[str]:
    ran = run("list", "--all", "--json", *args)
    assert ran.status == 0, ran.err
    return sorted(json.loads(line)["id"] for line in ran.lines)


# Import.


def test_import_makes_the_database_and_counts(tmp_path: Path, items_file: Path, run: Run) -> None:
    new = tmp_path / "new.db"
    assert run("import", items_file, "--db", new) == Ran(0, "8 stored, 0 replayed, 0 refused.\n", "")
    assert run("--db", new, "import", items_file) == Ran(0, "0 stored, 8 replayed, 0 refused.\n", "")


def test_bad_lines_are_named_and_the_rest_goes_in(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "bad.jsonl"
    twice = GOOD.replace('"text":"good"', '"text":"good","text":"bad"')
    lone = GOOD.replace("good", "\\ud83d")
    path.write_bytes("\n".join([GOOD, "{", twice, lone, "", GOOD.replace("good", "better")]).encode() + b"\n\xff\n")
    ran = run("import", path, "--db", tmp_path / "m.db")
    assert (ran.status, ran.out) == (1, "2 stored, 0 replayed, 4 refused.\n")
    assert ran.err.splitlines() == [
        "line 2 refused: not JSON: expecting property name enclosed in double quotes at character 1",
        'line 3 refused: the key "text" is there twice',
        "line 4 refused: a string holds half of a surrogate pair",
        "line 7 refused: the text is not UTF-8 (byte 0)",
    ]


def test_strict_stops(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text("\n".join([GOOD, "{", GOOD.replace("good", "better")]))
    ran = run("import", "--strict", path, "--db", tmp_path / "m.db")
    assert (ran.status, ran.out) == (1, "Stopped at the first bad line: 1 stored, 0 replayed, 1 refused.\n")
    assert ran.err.startswith("line 2 refused: ")
    assert len(ids(run, "--db", tmp_path / "m.db")) == 1


def test_import_as_json(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(f"{GOOD}\n{GOOD}\nnonsense\n")
    ran = run("import", path, "--db", tmp_path / "m.db", "--json")
    assert ran.status == 1
    assert json.loads(ran.out) == {
        "read": 3,
        "stored": 1,
        "replayed": 1,
        "refused": 1,
        "bad": [{"number": 3, "reason": "not JSON: expecting value at character 0"}],
    }


def test_misspelt_file_makes_no_database(tmp_path: Path, run: Run) -> None:
    ran = run("import", tmp_path / "none.jsonl", "--db", tmp_path / "m.db")
    assert ran == Ran(1, "", f"tinymemory: cannot read {tmp_path}/none.jsonl: no such file or directory\n")
    assert not (tmp_path / "m.db").exists()


def test_import_from_standard_input(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD.encode())))
    assert run("import", "-", "--db", tmp_path / "m.db") == Ran(0, "1 stored, 0 replayed, 0 refused.\n", "")


def test_progress_is_told_when_asked_for(tmp_path: Path, items_file: Path, run: Run) -> None:
    ran = run("import", items_file, "--db", tmp_path / "m.db", "--progress")
    size = items_file.stat().st_size / 1000
    assert ran.err == f"8 lines, {size:.1f} kB of {size:.1f} kB: 8 stored, 0 replayed, 0 refused\n"


def test_progress_on_a_terminal_makes_room_for_the_result(tmp_path: Path, items_file: Path, command: list[str]) -> None:
    ours, theirs = os.openpty()
    args = [*command, "import", str(items_file), "--db", str(tmp_path / "m.db")]
    process = subprocess.Popen(args, cwd=ROOT, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # which is how a terminal of ours ends
        while chunk := os.read(ours, 1 << 16):
            shown += chunk
    os.close(ours)
    assert process.wait(20) == 0
    assert shown.startswith(b"\r8 lines, ")
    assert shown.endswith(b"\x1b[K\r\x1b[K8 stored, 0 replayed, 0 refused.\r\n")


def test_that_folders_stay_here_is_said_where_they_do(
    items_file: Path, run: Run, use_engine: Callable[[MemoryEngine], None]
) -> None:
    class Elsewhere(ReferenceEngine):
        def descriptor(self) -> EngineDescriptor:
            return super().descriptor().model_copy(update={"keeps_paths": False})

    use_engine(Elsewhere())
    ran = run("import", items_file, "--engine", "odd")
    assert (ran.status, ran.out) == (0, "8 stored, 0 replayed, 0 refused.\n")
    assert ran.err.startswith("Folders and absolute workspaces are not stored there")


def test_failure_says_what_was_done(tmp_path: Path, run: Run, use_engine: Callable[[MemoryEngine], None]) -> None:
    class Failing(ReferenceEngine):
        async def store_many(self, items: list[Any]) -> list[Any]:
            if len(self):
                raise Unavailable("no answer from the server")
            return await super().store_many(items)

    path = tmp_path / "many.jsonl"
    path.write_text("\n".join(dump_item(learning(f"n{number}")) for number in range(150)))
    use_engine(Failing())
    assert run("import", path, "--engine", "odd") == Ran(
        1,
        "",
        "tinymemory: no answer from the server\n"
        "Before that: 100 stored, 0 replayed, 0 refused. Importing the file again adds the rest.\n",
    )


def test_unforeseen_failure_is_one_sentence(
    tmp_path: Path, run: Run, use_engine: Callable[[MemoryEngine], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Buggy(ReferenceEngine):
        async def list(self, req: ListRequest) -> Any:
            raise RuntimeError("sk-live-0123456789")

    use_engine(Buggy())
    ran = run("list", "--engine", "odd", "--json")
    assert ran.status == 1
    assert ran.err.startswith("tinymemory: this failed in an unforeseen way (RuntimeError); ")
    assert "sk-live" not in ran.err
    monkeypatch.setenv("TINYMEMORY_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        run("list", "--engine", "odd", "--json")


def test_interrupt_says_what_was_done(tmp_path: Path, run: Run, start: Start) -> None:
    """Ctrl-C while the program waits for more of its input: status 130, and what went in is there."""
    process = start("import", "-", "--db", tmp_path / "m.db", "--progress")
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write("".join(dump_item(learning(f"n{number}")) + "\n" for number in range(40)).encode())
    assert process.stderr.readline().startswith(b"40 lines")
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert process.stderr.read().decode().splitlines() == [
        "Interrupted.",
        "Before that: 40 stored, 0 replayed, 0 refused. Importing the file again adds the rest.",
    ]
    assert len(ids(run, "--db", tmp_path / "m.db")) == 40


# Export.


def test_export_then_import_gives_the_same_ids(tmp_path: Path, db: Path, run: Run) -> None:
    out, second = tmp_path / "out.jsonl", tmp_path / "second.db"
    ran = run("export", out, "--sandboxes")
    assert ran == Ran(0, f"8 items written, {out.stat().st_size / 1000:.1f} kB, to {out}\n", "")
    assert run("import", out, "--db", second).out == "8 stored, 0 replayed, 0 refused.\n"
    for reach in ([], ["--node", "team:acme/service:cron"]):
        assert ids(run, "--db", second, *reach) == ids(run, *reach)
    assert sorted(out.read_bytes().splitlines()) == sorted(dump_item(item).encode() for item in ITEMS)


def test_export_says_what_sandboxes_hold(tmp_path: Path, db: Path, run: Run) -> None:
    ran = run("export", tmp_path / "out.jsonl")
    assert ran.status == 0
    assert ran.out.startswith("6 items written")
    assert ran.err == "2 items in sandboxes left out (team:acme/service:cron); --sandboxes takes them along.\n"


def test_export_under_a_filter(tmp_path: Path, db: Path, run: Run) -> None:
    out = tmp_path / "out.jsonl"
    run("export", out, "--tag", "seat", "--tag", "nothing")
    assert out.read_text("utf-8") == dump_item(ITEMS[0]) + "\n"


def test_export_to_standard_output_is_items_alone(db: Path, run: Run) -> None:
    ran = run("export", "-", "--node", "user:dana")
    assert sorted(ran.lines) == sorted(dump_item(item) for item in ITEMS[4:6])
    assert ran.err.endswith("items written, 0.5 kB.\n") or "2 items written, " in ran.err


def test_existing_file_is_kept_without_force(tmp_path: Path, db: Path, run: Run) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("mine")
    ran = run("export", out)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err == f"tinymemory: {out} is there already; choose another name, or add --force to overwrite it\n"
    assert out.read_text() == "mine"
    assert run("export", out, "--force").status == 0
    assert out.read_text("utf-8").count('"type"') == 6


def test_memory_is_not_overwritten_by_its_export(db: Path, run: Run) -> None:
    before = db.read_bytes()
    ran = run("export", db, "--force")
    assert (ran.status, ran.err) == (
        1,
        f"tinymemory: {db} is the memory itself; choose another name for the export\n",
    )
    assert db.read_bytes() == before


@pytest.mark.parametrize("suffix", ["-wal", "-shm"])
def test_log_of_the_memory_is_not_overwritten_by_its_export(tmp_path: Path, db: Path, run: Run, suffix: str) -> None:
    log = db.with_name(db.name + suffix)
    assert "belongs to the memory itself" in run("export", log).err
    assert not log.exists()
    log.write_bytes(b"")
    linked = tmp_path / "linked.db"
    linked.symlink_to(db)
    for name in (db, linked):
        ran = run("export", log, "--db", name, "--force")
        assert ran.status == 1
        assert "belongs to the memory itself" in ran.err
        assert log.read_bytes() == b""


def test_name_that_is_too_long_is_told(db: Path, run: Run) -> None:
    for name in ("x" * 300, "x" * 5000):
        ran = run("export", name)
        assert ran.status == 1
        assert "file name too long" in ran.err


def test_export_as_json(tmp_path: Path, db: Path, run: Run) -> None:
    out = tmp_path / "out.jsonl"
    told = {"written": 6, "incomplete": [], "left_in_sandboxes": 2}
    ran = run("export", out, "--json")
    assert json.loads(ran.out) == {**told, "bytes": out.stat().st_size}
    ran = run("export", "-", "--json")
    assert len(ran.lines) == 6
    assert json.loads(ran.err) == {**told, "bytes": out.stat().st_size}


def test_engine_without_export_is_refused(tmp_path: Path, run: Run, use_engine: Callable[[MemoryEngine], None]) -> None:
    class NoExport(ReferenceEngine):
        export = MemoryEngine.export

    use_engine(NoExport())
    ran = run("export", tmp_path / "out.jsonl", "--engine", "odd")
    assert ran.status == 1
    assert "does not export items" in ran.err.splitlines()[0]
    assert not (tmp_path / "out.jsonl").exists()


def test_incomplete_items_are_named_at_the_end(
    tmp_path: Path, run: Run, use_engine: Callable[[MemoryEngine], None]
) -> None:
    class Halves(ReferenceEngine):
        async def export(self, req: ListRequest) -> ExportPage:
            page = await super().export(req)
            return page.model_copy(update={"incomplete": [ItemId("half-1"), ItemId("half\x1b-2")]})

    use_engine(Halves())
    ran = run("export", tmp_path / "out.jsonl", "--engine", "odd")
    assert ran.status == 1
    assert ran.err.splitlines() == [
        "2 items not written, since the engine holds only part of them:",
        "  half-1",
        "  half␛-2",
    ]
    ran = run("export", "-", "--engine", "odd", "--json")
    assert json.loads(ran.err)["incomplete"] == ["half-1", "half\x1b-2"]


def test_closed_pipe_is_quiet(tmp_path: Path, run: Run, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in `tinymemory list --all --json | head -1`."""
    path = tmp_path / "many.jsonl"
    path.write_text("".join(dump_item(learning(f"{number} " + "x" * 3000)) + "\n" for number in range(200)))
    run("import", path, "--db", tmp_path / "m.db")
    for args in (["list", "--all", "--json"], ["export", "-"]):
        for unbuffered in ("", "1"):
            monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
            process = start(*args, "--db", tmp_path / "m.db")
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.read(1)
            process.stdout.close()
            assert process.wait(20) == 141
            assert process.stderr.read() == b""


def test_nothing_is_lost_on_the_way_into_a_pipe(
    tmp_path: Path, run: Run, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a buffer, one write to a pipe takes 64 KiB and says so; the rest must follow."""
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    item = learning("x" * 1_000_000)
    path = tmp_path / "big.jsonl"
    path.write_text(dump_item(item))
    run("import", path, "--db", tmp_path / "m.db")
    for args in (["export", "-"], ["get", item.fingerprint(), "--json"], ["get", item.fingerprint()]):
        done = subprocess.run([*command, *args, "--db", str(tmp_path / "m.db")], cwd=ROOT, capture_output=True)
        assert b"x" * 1_000_000 in done.stdout
        assert done.stdout.endswith(b"\n")


def test_real_conversations_go_in_and_out(tmp_path: Path, run: Run) -> None:
    """LoCoMo's 430 items where they are, else items made here; facets as independent code counts them."""
    source = real_file(tmp_path)
    lines = [json.loads(line) for line in source.read_text("utf-8").splitlines()]
    database, out = tmp_path / "real.db", tmp_path / "out.jsonl"
    assert run("import", source, "--db", database).out == f"{len(lines)} stored, 0 replayed, 0 refused.\n"
    run("export", out, "--db", database)
    key = lambda item: json.dumps(item, sort_keys=True)  # noqa: E731
    assert sorted((json.loads(line) for line in out.read_text("utf-8").splitlines()), key=key) == sorted(lines, key=key)
    counted = {
        "kind": Counter(line["type"] for line in lines),
        "tag": Counter(tag for line in lines for tag in set(line["meta"].get("tags", []))),
        "namespace": Counter(line["meta"].get("namespace", "root") for line in lines),
        "thread": Counter(line["meta"]["thread_id"] for line in lines if "thread_id" in line["meta"]),
    }
    ran = run("facets", *counted, "--db", database, "--json", "--limit", "500")
    for page in map(json.loads, ran.lines):
        assert {bucket["value"]: bucket["count"] for bucket in page["buckets"]} == counted[page["facet"]]
        assert page["total"] == len(lines)


def real_file(folder: Path) -> Path:
    shared = Path(os.environ.get("TINYMEMORY_SHARED") or Path(__file__).parents[3] / "shared")
    path = shared / "data" / "locomo" / "items.jsonl"
    if path.exists():
        return path
    print(f"{path} is not there: tested with items made here instead")
    made = folder / "made.jsonl"
    made.write_text(
        "".join(
            dump_item(learning(f"fact {n}", f"team:t{n % 5}", tags=[f"t{n % 7}"], thread_id=f"thread-{n % 11}")) + "\n"
            for n in range(430)
        )
    )
    return made
