"""The tools over the Model Context Protocol, spoken by the SDK's own client to the program as it is installed."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import socket
import sqlite3
import sys
from pathlib import Path

import httpx
import pytest
from mcp import Client

import explorer
from explorer.cli import main
from explorer.cli import mcp as command
from explorer.contract import (
    EngineFailure,
    ForgetTarget,
    ItemId,
    ListRequest,
    MetaFilter,
    Namespace,
    Reach,
)
from explorer.engines.sqlite import SqliteEngine
from explorer.mcp.server import memory_server
from explorer.tools import WRITE_TOOL_NAMES, MemoryTools, ToolScope
from tests.fakes import FakeEngine, learning
from tests.tools.serving import (
    HELLO,
    PLACE,
    PROGRAM,
    ROOT,
    answer,
    call,
    client,
    lines,
    refusal,
    run,
    started,
)

pytestmark = pytest.mark.limit_s(40)  # each starts a program of its own

NODE = Namespace.parse(PLACE)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


async def texts(db: Path, reach: Reach | None = None) -> list[str]:
    """What another program reads in the file."""
    engine = SqliteEngine(db, embedder=None, read_only=True)
    try:
        page = await engine.list(ListRequest(filter=MetaFilter(reach=reach), limit=100))
        return sorted(hit.text for hit in page.items)
    finally:
        await engine.aclose()


# --- what a client gets


async def test_a_client_is_served_the_tools_as_they_are(home, db):
    async with client(home, "--db", db, "--place", PLACE, mode="legacy") as connected:
        assert connected.server_info.name == "tinymemory"
        assert connected.server_info.version == explorer.__version__
        listed = (await connected.list_tools()).tools
        engine = SqliteEngine(db)
        specs = [spec.as_mcp() for spec in MemoryTools.new(engine).specs()]
        await engine.aclose()
        assert [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in listed] == specs

        stored = await answer(connected, "store", {"learning": {"text": "Dana likes green tea"}, "tags": ["drink"]})
        assert stored["replayed"] is False
        id = stored["id"]
        recalled = await answer(connected, "recall", {"question": "What tea does Dana like?"})
        assert [cited["id"] for cited in recalled["citations"]] == [id]
        found = await answer(connected, "fetch", {"query": "tea", "mode": "keyword"})
        assert [hit["id"] for hit in found["hits"]] == [id]
        assert [hit["text"] for hit in (await answer(connected, "list"))["items"]] == ["Dana likes green tea"]
        assert (await answer(connected, "get", {"ids": [id, "x"]}))["missing"] == ["x"]
        explored = await answer(connected, "explore", {"facet": "tag"})
        assert explored["buckets"] == [{"value": "drink", "count": 1}]
        assert await answer(connected, "forget", {"ids": [id, "x"]}) == {"forgotten": 1, "skipped": ["x"]}

        assert await refusal(connected, "memory_list", {"filter": {"reach": None}}) == (
            "memory_list: `filter.reach` is fixed by the host and cannot be passed to a memory tool"
        )
        assert await refusal(connected, "memory_get", {"ids": []}) == "memory_get: `ids` must list from 1 to 200 ids"
        assert (await refusal(connected, "memory_update")).startswith("unknown tool `memory_update`; valid: ")
    assert await texts(db) == []


async def test_read_only_serves_exactly_what_reads(home, db):
    engine = SqliteEngine(db, embedder=None)
    await engine.store(learning("kept", PLACE))
    await engine.aclose()
    before = db.read_bytes()
    async with client(home, "--db", db, "--place", PLACE, "--read-only") as connected:
        names = [tool.name for tool in (await connected.list_tools()).tools]
        assert names == ["memory_recall", "memory_fetch", "memory_list", "memory_get", "memory_explore"]
        for name in WRITE_TOOL_NAMES:
            assert await refusal(connected, name, {"filter": {"kinds": ["learning"]}}) == f"{name}: read-only"
        assert [hit["text"] for hit in (await answer(connected, "list"))["items"]] == ["kept"]
    assert db.read_bytes() == before


async def test_the_agent_reads_and_forgets_no_more_than_its_place_allows(home, db):
    engine = SqliteEngine(db, embedder=None)
    beyond = [f"{PLACE}/agent:s", "team:acme/agent:b"]
    nodes = ["root", "team:acme", PLACE, *beyond]
    for at in nodes:
        await engine.store(learning(f"at {at}", at))
    await engine.aclose()
    async with client(home, "--db", db, "--place", PLACE) as connected:
        seen = {hit["text"] for hit in (await answer(connected, "list"))["items"]}
        assert seen == {"at root", "at team:acme", f"at {PLACE}"}
        await answer(connected, "forget", {"filter": {"kinds": ["learning"]}})
        await answer(connected, "store", {"document": {"text": "new"}})
    assert await texts(db, Reach.exact(NODE)) == ["new"]
    assert await texts(db) == sorted(["new", *(f"at {at}" for at in beyond)])


def test_the_flags_make_the_scope():
    parser = argparse.ArgumentParser()
    command.add(parser)
    for flags, scope in (
        ([], ToolScope.at(NODE)),
        (["--read-only"], ToolScope(NODE, Reach.of(NODE), writes=False)),
        (["--reach", "exact"], ToolScope(NODE, Reach.exact(NODE))),
        (["--reach", "subtree"], ToolScope(NODE, Reach.subtree(NODE))),
    ):
        assert command._scope(parser.parse_args(["--place", PLACE, *flags])) == scope


async def test_the_window_and_the_agent_share_one_file_while_it_is_served(home, db):
    window = SqliteEngine(db, embedder=None)
    try:
        await window.store(learning("from the window", "team:acme"))
        mark = (await window.changes(MetaFilter())).mark
        async with client(home, "--db", db, "--place", PLACE) as connected:
            assert [hit["text"] for hit in (await answer(connected, "list"))["items"]] == ["from the window"]
            id = (await answer(connected, "store", {"learning": {"text": "from the agent"}}))["id"]
            changes = await window.changes(MetaFilter(), mark)
            assert (changes.mark != mark, changes.added) == (True, 1)
            page = await window.list(ListRequest(filter=MetaFilter(reach=Reach.exact(NODE)), limit=10))
            assert [(hit.id, hit.text) for hit in page.items] == [(id, "from the agent")]
            await window.forget(ForgetTarget(ids=[ItemId(id)]))
            assert (await answer(connected, "get", {"ids": [id]}))["missing"] == [id]
            await window.store(learning("from the window, later", PLACE))
            seen = {hit["text"] for hit in (await answer(connected, "list"))["items"]}
            assert seen == {"from the window", "from the window, later"}

            both = [answer(connected, "store", {"learning": {"text": f"fact {n}"}}) for n in range(20)]
            both += [window.store(learning(f"note {n}", PLACE)) for n in range(20)]
            await asyncio.gather(*both)
            assert len((await answer(connected, "list", {"limit": 50}))["items"]) == 42
    finally:
        await window.aclose()


@pytest.mark.parametrize("flags", [[], ["--read-only"]])
async def test_a_file_that_was_done_away_with_is_served_no_more(home, db, tmp_path, flags):
    engine = SqliteEngine(db, embedder=None)
    await engine.store(learning("forgotten with its file", PLACE))
    await engine.aclose()
    kept = tmp_path / "kept.db"
    async with client(home, "--db", db, "--place", PLACE, *flags) as connected:
        (hit,) = (await answer(connected, "list"))["items"]
        db.rename(kept)
        for name, arguments in (
            ("memory_list", {}),
            ("memory_get", {"ids": [hit["id"]]}),
            ("memory_fetch", {"query": "file"}),
            ("memory_recall", {"question": "What was forgotten?"}),
            ("memory_explore", {"facet": "kind"}),
        ):
            said = await refusal(connected, name, arguments)
            assert "was moved, deleted or replaced" in said or "there is no file" in said
            assert str(tmp_path) not in said
        kept.rename(db)
        assert (await answer(connected, "list"))["items"] == [hit]


# --- how it begins and ends


async def test_what_was_asked_before_the_input_ended_is_stored_and_answered(home, db):
    asked = [call(n, "store", {"learning": {"text": f"fact {n}"}}) for n in range(20)]
    done = await asyncio.to_thread(run, home, "--db", db, "--place", PLACE, stdin=lines(*HELLO, *asked))
    assert done.returncode == 0
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert {said["id"] for said in answers} == {"hello", *range(20)}
    assert not [said for said in answers if said.get("error") or said["result"].get("isError")]
    assert done.stderr.decode().splitlines() == [
        f"There was no memory at {db}: a new one was made.",
        f"Serving {db}, placed at {PLACE}, over standard input and output.",
    ]
    assert len(await texts(db)) == 20


async def test_a_signal_ends_it_with_everything_stored(home, db):
    async with started(home, "--db", db, "--place", PLACE) as wire:
        wire.send(*HELLO)
        assert (await wire.receive())["result"]["serverInfo"]["name"] == "tinymemory"
        wire.send(call(1, "store", {"learning": {"text": "kept"}}))
        assert "result" in await wire.receive()
        wire.process.send_signal(signal.SIGTERM)
        status, out, err = await wire.ended()
    assert (status, out) == (0, b"")
    assert b"Traceback" not in err
    assert await texts(db) == ["kept"]


async def test_a_client_that_reads_no_more_ends_it(home, db):
    async with started(home, "--db", db, "--place", PLACE) as wire:
        wire.send(*HELLO)
        await wire.receive()
        wire.process.stdout._transport.close()  # type: ignore[union-attr]
        wire.send(call(1, "list", {}), call(2, "list", {}))
        assert wire.process.stderr is not None
        told = (await wire.process.stderr.read()).decode()
        assert await wire.process.wait() == 0
    assert "Traceback" not in told


BAD_LINES: list[tuple[bytes, object]] = [
    (b"{", None),
    (b"\xff\xfe", None),
    (b"[" * 100_000, None),
    (b'{"id": true}', None),
    (b'{"id": "\\ud800"}', None),
    (b'{"id": 1}', 1),
    (b'{"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "\\ud800"}}', "a"),
]


async def test_neither_a_bad_line_nor_a_cancelled_call_holds_up_what_comes_after(home, db):
    async with started(home, "--db", db, "--place", PLACE) as wire:
        wire.send(*HELLO)
        await wire.receive()
        for bad, id in BAD_LINES:
            wire.send_raw(bad + b"\n")
            said = await wire.receive()
            assert (said["id"], said["error"]["code"]) == (id, -32700 if id is None else -32600)
        wire.send_raw(b"\n  \n")
        for nothing in ([1], None, "unknown"):
            wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": nothing}})

        with contextlib.closing(sqlite3.connect(db, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            wire.send(call(1, "store", {"learning": {"text": "waits"}}))
            wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "1"}})
            wire.send(call(2, "list", {}))
            assert (await wire.receive())["id"] == 2, "and the first is not answered"
            other.execute("ROLLBACK")
        # Far longer than what is read at once.
        wire.send(call(3, "store", {"document": {"title": "x" * 300_000, "text": "stored"}}))
        assert (await wire.receive())["id"] == 3
        assert wire.process.stdin is not None
        wire.process.stdin.close()
        status, out, _ = await wire.ended()
    assert (status, out) == (0, b"")
    assert f"# {'x' * 300_000}\n\nstored" in await texts(db)


@pytest.mark.parametrize("written", ["1", "01", " 1 "])
async def test_the_end_waits_for_no_call_that_was_cancelled(home, db, written):
    """However the number of the call is written."""
    async with started(home, "--db", db, "--place", PLACE) as wire:
        wire.send(*HELLO)
        await wire.receive()
        with contextlib.closing(sqlite3.connect(db, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            wire.send(call(1, "store", {"learning": {"text": "waits"}}))
            wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": written}})
            wire.send(call(2, "list", {}))
            assert (await wire.receive())["id"] == 2
            other.execute("ROLLBACK")
        assert wire.process.stdin is not None
        wire.process.stdin.close()
        async with asyncio.timeout(15):
            status, out, _ = await wire.ended()
    assert (status, out) == (0, b"")


async def test_the_end_waits_for_calls_of_the_same_number(home, db):
    asked = [call(1, "store", {"learning": {"text": f"fact {n}"}}) for n in range(8)]
    stray = {"jsonrpc": "2.0", "id": 1, "result": {}}
    done = await asyncio.to_thread(run, home, "--db", db, "--place", PLACE, stdin=lines(*HELLO, *asked, stray))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [said["id"] for said in answers if said["id"] == 1 and "result" in said] == [1] * 8
    assert len(await texts(db)) == 8


async def test_each_message_is_one_line_for_any_reader(home, db):
    text = "one\u2028two\u2029three\x85four\x1cfive\x0bsix\rseven"
    async with started(home, "--db", db, "--place", PLACE) as wire:
        wire.send(*HELLO, call(1, "store", {"document": {"text": text}}))
        assert [(await wire.receive())["id"] for _ in range(2)] == ["hello", 1]
        wire.send(call(2, "list", {}))
        assert wire.process.stdout is not None
        line = (await wire.process.stdout.readline()).decode()
    assert len(line.splitlines()) == 1
    (item,) = json.loads(json.loads(line)["result"]["content"][0]["text"])["items"]
    assert item["text"] == text


# --- what is refused at the start


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--place", "acme"], "argument --place: namespace segment `acme` must be written kind:id"),
        (["--place", " "], "argument --place: a node must not be blank; the root is written root"),
        ([], "the following arguments are required: --place"),
        (["--place", PLACE, "--http", "0.0.0.0:80"], "write a port from 0 to 65535; only 127.0.0.1 is served"),
        (["--place", PLACE, "--http", "70000"], "write a port from 0 to 65535"),
        (["--place", PLACE, "--http", "0000000070000"], "write a port from 0 to 65535"),
    ],
)
def test_wrong_flags_are_refused_before_a_file_is_made(db, capsys, args, said):
    assert main(["mcp", "--db", str(db), *args]) == 2
    out, err = capsys.readouterr()
    assert (out, said in err) == ("", True)
    assert not db.exists()


def test_what_is_wrong_with_the_file_is_told_in_a_sentence(home, db, tmp_path):
    missing = run(home, "--db", db, "--place", PLACE, "--read-only")
    assert (missing.returncode, missing.stdout) == (1, b"")
    assert missing.stderr.startswith(b"tinymemory: ")
    assert not db.exists()
    no_memory = tmp_path / "notes.txt"
    no_memory.write_text("no database " * 1000)
    other = run(home, "--db", no_memory, "--place", PLACE)
    assert (other.returncode, other.stdout) == (1, b"")
    assert b"Traceback" not in other.stderr


@pytest.mark.parametrize("name", ["stdin", "stdout"])
def test_a_closed_stream_is_told_before_a_file_is_made(db, monkeypatch, capsys, name):
    monkeypatch.setattr(sys, name, None)  # what Python puts there where it was closed
    assert main(["mcp", "--db", str(db), "--place", PLACE]) == 1
    assert "the protocol needs standard input and standard output" in capsys.readouterr().err
    assert not db.exists()


def test_without_the_sdk_it_says_how_to_install_it(home, db):
    without = f"import sys; sys.modules['mcp'] = sys.modules['mcp_types'] = None; {PROGRAM}"
    done = run(home, "--db", db, "--place", PLACE, program=without)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"pip install 'tinymemory-explorer[mcp]'" in done.stderr
    assert not db.exists()


# --- over HTTP


async def test_any_client_of_this_computer_is_served_over_http(home, db):
    async with started(home, "--db", db, "--place", PLACE, "--http", "0") as wire:
        url = (await wire.told("http://")).split()[-1]
        for mode in ("legacy", "auto"):
            async with Client(url, mode=mode) as one, Client(url, mode=mode) as two:
                assert len((await one.list_tools()).tools) == 7
                id = (await answer(one, "store", {"learning": {"text": "over http"}}))["id"]
                assert [hit["id"] for hit in (await answer(two, "list"))["items"]] == [id]
                assert "fixed by the host" in await refusal(two, "memory_list", {"namespace": "root"})
        told = await check_refusals(url)
        wire.process.send_signal(signal.SIGINT)
        status, out, err = await wire.ended()
    assert (status, out) == (0, b"")
    assert len(err.splitlines()) == told
    assert await texts(db) == ["over http"]


async def check_refusals(url: str) -> int:
    """Refuses strange origins, names and addresses; how many of them are told on standard error."""
    port = int(url.removeprefix("http://127.0.0.1:").removesuffix("/mcp"))
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    plain = {"Accept": "application/json, text/event-stream"}
    strange = [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": f"https://127.0.0.1:{port}"}, 403),
        ({"Origin": f"http://localhost:{port + 1}"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": f"evil.example:{port}"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": f"127.0.0.1:{port}.evil.example"}, 421),
    ]
    async with httpx.AsyncClient(trust_env=False) as http:
        for headers, status in (
            *strange,
            ({}, 200),
            ({"Origin": f"http://127.0.0.1:{port}", "Host": f"localhost:{port}"}, 200),
            ({"Content-Type": "text/plain"}, 400),
        ):
            assert (await http.post(url, json=body, headers={**plain, **headers})).status_code == status, headers
        assert (await http.get(url, headers=plain)).status_code == 405
        assert (await http.delete(url, headers=plain)).status_code == 405
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", port), timeout=5)
    return len(strange)


def test_a_port_that_is_taken_is_told_before_a_file_is_made(home, db):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run(home, "--db", db, "--place", PLACE, "--http", taken.getsockname()[1])
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"cannot listen on 127.0.0.1:" in done.stderr
    assert not db.exists()


# --- refusals, in this process


async def test_a_busy_file_is_a_refusal_that_does_not_say_where_the_file_is(db):
    engine = SqliteEngine(db, embedder=None, busy_timeout_s=0.01)
    try:
        await engine.list(ListRequest(limit=1))
        server = memory_server(MemoryTools.new(engine), command._hider(str(db)))
        with contextlib.closing(sqlite3.connect(db, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            async with Client(server) as connected:
                said = await refusal(connected, "memory_store", {"learning": {"text": "x"}})
                assert (await answer(connected, "list"))["items"] == []
            other.execute("ROLLBACK")
    finally:
        await engine.aclose()
    assert db.name in said
    assert str(db.parent) not in said


async def test_no_failure_shows_a_trace_a_path_or_a_key(tmp_path, caplog):
    engine = FakeEngine()
    engine.fail("get", EngineFailure(f"cannot read {tmp_path}/m.db-wal: broken"))
    engine.fail("recall", RuntimeError("sk-secret-key"))
    server = memory_server(MemoryTools.new(engine), command._hider(str(tmp_path / "m.db")))
    async with Client(server) as connected:
        assert await refusal(connected, "memory_get", {"ids": ["x"]}) == "cannot read m.db-wal: broken"
        assert await refusal(connected, "memory_recall", {"question": "q"}) == (
            "the call failed in an unforeseen way (RuntimeError)"
        )


async def test_a_call_that_waits_does_not_hold_up_others():
    engine = FakeEngine()
    gate = engine.hold("get")
    async with Client(memory_server(MemoryTools.new(engine))) as connected, asyncio.TaskGroup() as group:
        held = group.create_task(answer(connected, "get", {"ids": ["x"]}))
        assert await answer(connected, "list") == {"items": []}
        gate.open()
    assert held.result() == {"items": [], "missing": ["x"]}


def client_config(path: str | os.PathLike[str], place: Namespace, *, read_only: bool = False) -> str:
    """The JSON that most clients take to start `tinymemory mcp` over the file at `path`, five lines."""
    args = ["mcp", "--db", os.path.abspath(path), "--place", str(place), *(["--read-only"] if read_only else [])]
    entry = f'"command": "tinymemory", "args": {json.dumps(args, ensure_ascii=False)}'
    return f'{{\n  "mcpServers": {{\n    "memory": {{ {entry} }}\n  }}\n}}'


def test_the_configuration_starts_this_server(tmp_path):
    written = client_config(tmp_path / "m.db", NODE, read_only=True)
    assert len(written.splitlines()) == 5
    server = json.loads(written)["mcpServers"]["memory"]
    assert server["command"] == "tinymemory"
    assert server["args"] == ["mcp", "--db", str(tmp_path / "m.db"), "--place", PLACE, "--read-only"]


def test_the_readme_shows_that_configuration():
    shown = client_config("/path/to/notes.db", Namespace.parse("team:acme/agent:writer"))
    assert f"```json\n{shown}\n```" in (ROOT / "README.md").read_text("utf-8")
