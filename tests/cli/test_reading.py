"""`facets`, `list`, `get`, `namespaces`, and the flags that all commands share."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.cli.output import clipped, one_line, size_text, visible, width
from explorer.contract import (
    Facet,
    Hit,
    ItemKind,
    MetaFilter,
    Namespace,
    Reach,
    SourceKind,
    Timestamp,
    TurnRange,
    dump_item,
)
from explorer.engines import ConnectionStore, EngineSettings, KeyPlace, SavedConnection

from .conftest import ROOT
from .made import HOSTILE, ITEMS, Ran

Run = Callable[..., Ran]


def listed(run: Run, *args: str) -> set[str]:
    ran = run("list", "--all", "--json", *args)
    assert ran.status == 0, ran.err
    return {json.loads(line)["id"] for line in ran.lines}


# Flags of the filter.

FLAGS: list[tuple[list[str], MetaFilter]] = [
    ([], MetaFilter()),
    (["--workspace", "w"], MetaFilter(workspace="w")),
    (["--workspace", ""], MetaFilter(workspace="")),
    (["--folder", "/data"], MetaFilter(folder="/data")),
    (["--file-path", "/data/docs/"], MetaFilter(file_path="/data/docs")),
    (["--language", "de"], MetaFilter(language="de")),
    (["--repo", "acme/api"], MetaFilter(repo="acme/api")),
    (["--commit", "c0ffee"], MetaFilter(commit="c0ffee")),
    (["--url", "https://a.example/x"], MetaFilter(url="https://a.example/x")),
    (["--thread-id", "thread-1"], MetaFilter(thread_id="thread-1")),
    (["--thread", "thread-1"], MetaFilter(thread_id="thread-1")),
    (["--turns", "4..5"], MetaFilter(turns=TurnRange(first=4, last=5))),
    (["--turns", "4"], MetaFilter(turns=TurnRange(first=4, last=4))),
    (["--agent-id=writer"], MetaFilter(agent_id="writer")),
    (["--agent", "writer"], MetaFilter(agent_id="writer")),
    (["--tool-call", "deploy"], MetaFilter(tool_call="deploy")),
    (["--source-id", "docs"], MetaFilter(source_id="docs")),
    (["--kind", "document", "--kind", "conversation"], MetaFilter(kinds=[ItemKind.DOCUMENT, ItemKind.CONVERSATION])),
    (["--source", "file"], MetaFilter(sources=[SourceKind.FILE])),
    (["--tag", "seat", "--tag", "travel"], MetaFilter(tags_any=["seat", "travel"])),
    (["--observed-after", "2026-10-04"], MetaFilter(observed_after=Timestamp.parse("2026-10-04T00:00:00Z"))),
    (["--observed-before", "2026-10-04"], MetaFilter(observed_before=Timestamp.parse("2026-10-04T00:00:00Z"))),
    (
        ["--observed-before", "2026-10-03T23:59:59.999999999Z"],
        MetaFilter(observed_before=Timestamp.parse("2026-10-03T23:59:59.999999999Z")),
    ),
    (
        ["--observed-after", "2026-10-04T02:00:00+02:00", "--observed-before", "2026-10-04T00:00:01Z"],
        MetaFilter(
            observed_after=Timestamp.parse("2026-10-04T00:00:00Z"),
            observed_before=Timestamp.parse("2026-10-04T00:00:01Z"),
        ),
    ),
    (["--node", "team:acme"], MetaFilter(reach=Reach.subtree(Namespace.parse("team:acme")))),
    (
        ["--node", "team:acme", "--reach", "exact"],
        MetaFilter(reach=Reach.exact(Namespace.parse("team:acme"))),
    ),
    (
        ["--node", "team:acme/agent:writer", "--reach", "inherit"],
        MetaFilter(reach=Reach.of(Namespace.parse("team:acme/agent:writer"))),
    ),
    (["--reach", "exact"], MetaFilter(reach=Reach.exact(Namespace.ROOT))),
    (["--node", "team:acme/service:cron"], MetaFilter(reach=Reach.subtree(Namespace.parse("team:acme/service:cron")))),
]

# The first is no range of an item's; the second is exclusive, and the one earlier item is at that nanosecond.
NOTHING = [["--turns", "4"], ["--observed-before", "2026-10-03T23:59:59.999999999Z"]]


def test_each_flag_is_its_filter(db: Path, run: Run) -> None:
    for flags, filter in FLAGS:
        wanted = {item.fingerprint() for item in ITEMS if filter.matches(item.item_kind, item.meta)}
        assert listed(run, *flags) == wanted, flags
        assert wanted or flags in NOTHING


def test_every_field_of_the_filter_has_its_flag(run: Run) -> None:
    help = run("list", "--help").out
    spelt = {"kinds": "--kind", "sources": "--source", "tags_any": "--tag", "reach": "--reach"}
    for field in MetaFilter.model_fields:
        assert spelt.get(field, "--" + field.replace("_", "-")) + " " in help
    covered = {name for _, filter in FLAGS for name in filter.model_fields_set}
    assert covered == set(MetaFilter.model_fields)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["list"], "which memory? Give --db PATH, or set TINYMEMORY_DB"),
        (["list", "--db", ""], "which memory?"),
        ([], "COMMAND"),
        (["nonsense"], "nonsense"),
        (["list", "--db", "m.db", "--nonsense"], "--nonsense"),
        (["list", "--db", "m.db", "--thr", "x"], "--thr"),
        (["list", "--db", "m.db", "--kind", "rumour"], "rumour"),
        (["list", "--db", "m.db", "--turns", "4-5"], "write a range of turns like 4..5"),
        (["list", "--db", "m.db", "--turns", "9" * 5_000], "write a range of turns like 4..5"),
        (["list", "--db", "m.db", "--turns", "0..4294967296"], "less than or equal to 4294967295"),
        (["list", "--db", "m.db", "--observed-after", "yesterday"], "or as a day like 2026-10-04"),
        (["list", "--db", "m.db", "--observed-after", "2026-02-30"], "day"),
        (["list", "--db", "m.db", "--node", "acme"], "namespace segment `acme` must be written kind:id"),
        (["list", "--db", "m.db", "--reach", "far"], "far"),
        (["list", "--db", "m.db", "--limit", "0"], "write a number from 1 on"),
        (["list", "--db", "m.db", "--limit", "3", "--all"], "not allowed with"),
        (["list", "--db", "m.db", "--connection", "c"], "leave out --db and --engine"),
        (["list", "--db", "m.db", "--language", "\udcff"], "language: "),
        (["facets", "--db", "m.db", "colour"], "colour"),
        (["facets", "--db", "m.db", "--limit", "501"], "write a number from 1 to 500"),
        (["get", "--db", "m.db"], "ID"),
        (["import", "--db", "m.db"], "FILE.jsonl"),
    ],
)
def test_wrong_usage_is_two(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, args: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run(*args)
    assert (ran.status, ran.out) == (2, "")
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "m.db").exists()


def test_help_and_version_are_fine(run: Run) -> None:
    assert run("--version").out.startswith("tinymemory ")
    for command in ("import", "export", "facets", "list", "get", "namespaces", "context", "check"):
        ran = run(command, "--help")
        assert (ran.status, ran.err) == (0, "")
        assert "Exit status: 0" in ran.out


@pytest.mark.parametrize(
    "command", [["list"], ["facets"], ["namespaces"], ["get", "a"], ["export", "out.jsonl"], ["context"]]
)
def test_reading_makes_no_database(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run(*command, "--db", "none.db")
    assert (ran.status, ran.out) == (1, "")
    assert "none.db" in ran.err
    assert len(ran.err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_reading_changes_no_byte(db: Path, run: Run) -> None:
    before = db.read_bytes()
    for command in (["list"], ["facets"], ["namespaces"], ["get", "a"], ["export", "-"]):
        run(*command)
    assert db.read_bytes() == before


def test_file_that_is_no_database_is_told(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("just text " * 100)
    ran = run("list", "--db", path)
    assert ran.status == 1
    assert str(path) in ran.err
    assert path.read_text() == "just text " * 100


def test_unknown_engine_is_told(run: Run) -> None:
    ran = run("list", "--engine", "nope", "--db", "m.db")
    assert ran.status == 1
    assert ran.err.startswith("tinymemory: unknown memory engine `nope`; choose one of ")


def test_flags_of_the_memory_may_stand_before_the_command(db: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TINYMEMORY_DB")
    assert run("--db", db, "--json", "list", "--limit", "1") == run("list", "--limit", "1", "--db", db, "--json")


# What the commands print.


def test_facets_as_a_table(db: Path, run: Run) -> None:
    ran = run("facets", "kind", "tag", "workspace", "tag", "--limit", "2")
    assert ran == Ran(
        0,
        "kind: 6 items\n"
        "  4  learning\n"
        "  1  conversation\n"
        "  and 1 more value\n"
        "\n"
        "tag: 6 items, 3 without\n"
        "  2  travel\n"
        "  1  ␛[31mred\n"
        "  and 2 more values\n"
        "\n"
        "workspace: 6 items, 4 without\n"
        "  1  (empty)\n"
        "  1  w\n",
        "",
    )


def test_all_facets_as_json(db: Path, run: Run) -> None:
    pages = [json.loads(line) for line in run("facets", "--json").lines]
    assert [page["facet"] for page in pages] == [facet.value for facet in Facet]
    assert all(page["total"] == 6 and not page["truncated"] for page in pages)
    tags = next(page for page in pages if page["facet"] == "tag")
    assert {"value": "\x1b[31mred", "count": 1} in tags["buckets"]


def test_list_as_a_table(db: Path, run: Run) -> None:
    ran = run("list", "--node", "team:acme")
    rows = {line[:40]: line[40:] for line in ran.lines}
    assert rows == {
        ITEMS[1].fingerprint(): "  -           learning      team:acme               mag Gangplätze",
        ITEMS[2].fingerprint(): "  2026-10-04  learning      team:acme/agent:writer  deploys on Fridays",
        ITEMS[3].fingerprint(): "  2026-10-05  document      team:acme               # Handbook first line second line",
    }


def test_list_says_that_there_is_more(db: Path, run: Run) -> None:
    ran = run("list", "--limit", "2")
    assert len(ran.lines) == 2
    assert ran.err == "There are more than these 2; --limit N or --all shows them.\n"
    assert run("list", "--limit", "6").err == run("list", "--all").err == ""


def test_list_as_json_is_hits(db: Path, run: Run) -> None:
    (line,) = run("list", "--json", "--tag", "seat").lines
    assert line == Hit.of_item(ITEMS[0].fingerprint(), ITEMS[0]).model_dump_json()


def test_get_shows_an_item_whole(db: Path, run: Run) -> None:
    handbook = ITEMS[3].fingerprint()
    assert run("get", handbook) == Ran(
        0,
        f"id           {handbook}\n"
        "kind         document\n"
        "mime         text/plain\n"
        "namespace    team:acme\n"
        "folder       /data/docs\n"
        "file_path    /data/docs/handbook.md\n"
        "source       file (docs)\n"
        "observed_at  2026-10-05T12:30:00.123456789Z\n"
        "\n"
        "# Handbook\n\nfirst line\nsecond\tline\n",
        "",
    )


def test_get_keeps_the_order_and_names_what_is_missing(db: Path, run: Run) -> None:
    asked = [ITEMS[4].fingerprint(), "0" * 40, ITEMS[0].fingerprint(), ITEMS[4].fingerprint()]
    ran = run("get", *asked)
    assert ran.status == 1
    assert [line.split()[1] for line in ran.lines if line.startswith("id ")] == [asked[0], asked[2]]
    assert ran.err == f"no item {'0' * 40}\n"


def test_get_as_json_can_be_imported_again(tmp_path: Path, db: Path, run: Run) -> None:
    (line,) = run("get", ITEMS[2].fingerprint(), "--json").lines
    assert json.loads(line)["id"] == ITEMS[2].fingerprint()
    assert line == f'{{"id":"{ITEMS[2].fingerprint()}","item":{dump_item(ITEMS[2])}}}'


def test_get_looks_into_sandboxes(db: Path, run: Run) -> None:
    boxed = ITEMS[7].fingerprint()
    assert "in a box below" in run("get", boxed).out
    ran = run("get", boxed, "--node", "team:acme")
    assert (ran.status, ran.err) == (1, f"no item {boxed} within that reach\n")
    assert run("get", boxed, "--node", "team:acme/service:cron").status == 0


def test_namespaces_as_a_tree(db: Path, run: Run) -> None:
    assert run("namespaces").out == (
        "OWN  SUBTREE  NODE\n"
        "  1        6  root\n"
        "  2        3    team:acme\n"
        "  1        1      agent:writer\n"
        "  1        2      service:cron  (sandbox)\n"
        "  1        1        agent:x\n"
        "  2        2    user:dana\n"
    )


def test_namespaces_as_json_under_a_filter(db: Path, run: Run) -> None:
    nodes = [json.loads(line) for line in run("namespaces", "--json", "--tag", "travel", "--node", "team:acme").lines]
    assert nodes == [{"namespace": "team:acme", "own": 1, "subtree": 1, "sandbox": False}]
    inherited = run("namespaces", "--json", "--node", "team:acme/agent:writer", "--reach", "inherit")
    assert [json.loads(line)["namespace"] for line in inherited.lines] == [
        "root", "team:acme", "team:acme/agent:writer",
    ]  # fmt: skip


# Text that would drive the terminal.


def test_stored_text_cannot_drive_the_terminal(db: Path, run: Run) -> None:
    hostile = ITEMS[5].fingerprint()
    for command in (["list"], ["get", hostile], ["facets"], ["get", "\x1b[2J"], ["list", "--engine", "\x1b[2J"]):
        ran = run(*command)
        for char in ran.out + ran.err:
            assert char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cs"), (command, char)
            assert char not in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u200e\u200f\u061c", (command, char)
    assert "␛]0;owned␇␛[2J⟦U+202E⟧gnp.exe⟦U+202C⟧ ⟦U+009B⟧31m end␀␡" in run("get", hostile).out


def test_json_is_exact(db: Path, run: Run) -> None:
    (line,) = run("get", ITEMS[5].fingerprint(), "--json").lines
    assert json.loads(line)["item"]["text"] == HOSTILE


def test_right_to_left_cell_is_isolated() -> None:
    assert one_line("a مرحبا\n b") == "\u2068a مرحبا b\u2069"
    assert one_line("a\n\tb") == "a b"


def test_visible_leaves_words_and_pictures_alone() -> None:
    for text in ("plain", "Gangplätze", "今日は", "می‌خواهم", "👩‍👩‍👧 ☎️", "e\u0301"):
        assert visible(text) == text
    assert visible("\ud83d") == "\ufffd"
    assert visible("a\n\tb", keep="\n\t") == "a\n\tb"
    assert visible("\u2028\ufeff\u200b") == "⟦U+2028⟧⟦U+FEFF⟧⟦U+200B⟧"


def test_width_counts_columns() -> None:
    assert [width(text) for text in ("abc", "今日", "e\u0301", "\u2068a\u2069", "")] == [3, 4, 1, 1, 0]
    assert clipped("abcdef", 6) == "abcdef"
    assert clipped("abcdefg", 6) == "abcde…"
    assert clipped("今日は東京", 6) == "今日…"


def test_sizes_are_short() -> None:
    assert [size_text(size) for size in (0, 999, 1000, 999_949, 999_951, 5_000_000_000)] == [
        "0 B", "999 B", "1.0 kB", "999.9 kB", "1.0 MB", "5.0 GB",
    ]  # fmt: skip


def test_output_of_a_plain_charset(db: Path, command: list[str]) -> None:
    """A table shows ? where the charset has no letter; JSON stays UTF-8."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    for args, wanted in ((["list", "--tag", "travel"], b"Gangpl?tze"), (["list", "--json"], "Gangplätze".encode())):
        done = subprocess.run([*command, *args], cwd=ROOT, env=environment, capture_output=True, check=True)
        assert wanted in done.stdout
        assert done.stderr == b""


# Saved connections.


def test_saved_connection_is_opened(db: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TINYMEMORY_DB")
    ConnectionStore().save(SavedConnection(name="Notes", engine="sqlite", settings=EngineSettings(path=str(db))))
    assert listed(run, "--connection", "Notes", "--tag", "seat") == {ITEMS[0].fingerprint()}
    ran = run("list", "--connection", "None\x1b")
    assert ran == Ran(1, "", "tinymemory: there is no saved connection named None␛; saved are: Notes\n")


def test_a_saved_file_that_is_gone_is_not_made_anew(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TINYMEMORY_DB", raising=False)
    gone, lines = tmp_path / "gone.db", tmp_path / "items.jsonl"
    lines.write_text("".join(dump_item(item) + "\n" for item in ITEMS))
    ConnectionStore().save(SavedConnection(name="Notes", engine="sqlite", settings=EngineSettings(path=str(gone))))
    ConnectionStore().touch("Notes")
    ran = run("import", lines, "--connection", "Notes")
    assert ran == Ran(1, "", f"tinymemory: {gone} is not there any more; it was moved, renamed or removed\n")
    assert not gone.exists()


def test_key_that_must_be_asked_for_needs_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    ConnectionStore().save(
        SavedConnection(name="Cloud", engine="reference", key_from=KeyPlace.ENVIRONMENT, key_variable="CLOUD_KEY")
    )
    ran = run("list", "--connection", "Cloud")
    assert ran.status == 1
    assert ran.err == (
        "tinymemory: the environment variable CLOUD_KEY is not set; enter the key in a terminal, "
        "or let an environment variable hold it\n"
    )
    monkeypatch.setenv("CLOUD_KEY", "sk-live-0123456789")
    ran = run("list", "--connection", "Cloud")
    assert ran == Ran(0, "", "")


def test_key_is_asked_for_in_a_terminal_and_not_shown(command: list[str]) -> None:
    ConnectionStore().save(SavedConnection(name="Cloud", engine="reference", key_from=KeyPlace.ASK))
    ours, theirs = os.openpty()
    # A session of its own has no other terminal than the one it is given here.
    process = subprocess.Popen(
        [*command, "facets", "kind", "--connection", "Cloud"],
        cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # which is how a terminal of ours ends
        while chunk := os.read(ours, 1 << 16):
            shown += chunk
            if shown.endswith(b"Key: "):
                os.write(ours, b"sk-live-0123456789\n")
    os.close(ours)
    assert process.wait(20) == 0
    assert shown.replace(b"\r", b"") == b"the key of Cloud is not kept; enter it.\nKey: \nkind: 0 items\n"


def test_unreadable_connections_are_told(home: Path, run: Run) -> None:
    store = ConnectionStore()
    store.path.parent.mkdir(parents=True)
    store.path.write_text("{")
    ran = run("list", "--connection", "Notes")
    assert ran.status == 1
    assert "connections.unreadable-1.json" in ran.err
    assert "saved are: none" in ran.err
