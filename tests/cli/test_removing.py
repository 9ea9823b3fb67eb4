"""`forget` and `erase`: shown unless told otherwise, run only when confirmed, and the exit status tells the truth."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

from explorer.cli.output import Console
from explorer.contract import (
    EngineFailure,
    ExplorePage,
    Exported,
    ForgetTarget,
    GetRequest,
    MemoryEngine,
    TinyMemoryError,
    Unauthorized,
)
from explorer.engines import ConnectionStore, EngineSettings, SavedConnection
from explorer.engines.sqlite import SqliteEngine
from explorer.removal.preview import Preview
from explorer.removal.removing import Removal
from explorer.transfer import FileError

from .made import HOSTILE, ITEMS, Ran

Run = Callable[..., Ran]


@pytest.fixture
def ids(run: Run, db: Path) -> Callable[[], set[str]]:
    """The ids held, sandboxes included."""

    def held() -> set[str]:
        shown = run("list", "--all", "--json").lines
        boxed = run("list", "--all", "--json", "--node", "team:acme/service:cron").lines
        return {json.loads(line)["id"] for line in [*shown, *boxed]}

    return held


def test_without_yes_the_plan_is_shown_and_nothing_goes(run: Run, db: Path, ids: Callable[[], set[str]]) -> None:
    before = db.read_bytes()
    held = ids()
    ran = run("erase", "--node", "team:acme", "--reach", "subtree")
    assert ran.status == 0
    assert "Erase team:acme and everything below it" in ran.out
    assert "3 items of 8 stored" in ran.out
    assert "The sandbox team:acme/service:cron with 2 items" in ran.out
    assert "--yes --confirm team:acme" in ran.out
    assert db.read_bytes() == before
    assert ids() == held


def test_an_erase_that_was_confirmed_takes_what_was_planned_and_nothing_else(
    run: Run, db: Path, ids: Callable[[], set[str]], tmp_path: Path
) -> None:
    held = ids()
    planned = json.loads(run("erase", "--json", "--node", "team:acme", "--reach", "subtree").out)["plan"]
    assert planned["items"] == 3
    going = {
        json.loads(line)["id"]
        for line in run("list", "--all", "--json", "--node", "team:acme", "--reach", "subtree").lines
    }
    ran = run(
        *("erase", "--node", "team:acme", "--reach", "subtree", "--receipts", tmp_path / "receipts"),
        *("--yes", "--confirm", "team:acme", "--export", tmp_path / "back.jsonl"),
    )
    assert ran.status == 0, ran.err
    assert "3 of 3 items erased" in ran.out
    (receipt,) = (tmp_path / "receipts").glob("*.jsonl")
    assert str(receipt) in ran.out
    assert held - ids() == going
    assert len((tmp_path / "back.jsonl").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    "flags",
    [
        ["--yes"],
        ["--yes", "--confirm", "Team:acme"],
        ["--yes", "--confirm", "team:acme/agent:writer"],
    ],
)
def test_a_plan_that_is_not_confirmed_is_refused(
    run: Run, db: Path, ids: Callable[[], set[str]], flags: list[str]
) -> None:
    held = ids()
    ran = run("erase", "--node", "team:acme", "--reach", "exact", *flags)
    assert ran.status == 2
    assert "--confirm team:acme" in ran.err
    assert ids() == held


def test_the_whole_tree_takes_its_own_switch_and_sandboxes(
    run: Run, db: Path, ids: Callable[[], set[str]], tmp_path: Path
) -> None:
    whole = ("erase", "--node", "root", "--reach", "subtree", "--receipts", tmp_path / "receipts", "--yes")
    ran = run(*whole, "--confirm", "root")
    assert ran.status == 2
    assert "--whole-tree" in ran.err
    assert len(ids()) == len(ITEMS)
    ran = run(*whole, "--confirm", "root", "--whole-tree")
    assert ran.status == 0, ran.err
    assert not ids()


def test_an_erase_by_metadata_is_refused_with_the_reason(run: Run, db: Path) -> None:
    ran = run("erase", "--tag", "travel")
    assert ran.status == 2
    assert "nodes and kinds only" in ran.err


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ([], "what is to go"),
        (["--node", "team:acme"], "say which"),
        (["--node", "team:acme", "--reach", "inherit"], "never goes up"),
        (["--dry-run", "--yes", "--tag", "x"], "contradict"),
        (["--id", " "], "say which item"),
        (["--id", "0" * 64, "--tag", "x"], "one by one"),
        (["--tag", "x", "--export", "back.jsonl"], "add --yes"),
    ],
)
def test_what_could_be_meant_in_two_ways_is_wrong_usage(run: Run, db: Path, flags: list[str], reason: str) -> None:
    ran = run("forget", *flags)
    assert ran.status == 2
    assert reason in ran.err


def test_forgetting_by_a_value_needs_no_name(run: Run, db: Path, ids: Callable[[], set[str]], tmp_path: Path) -> None:
    held = ids()
    ran = run("forget", "--tag", "travel", "--receipts", tmp_path / "receipts", "--yes")
    assert ran.status == 0, ran.err
    assert "2 of 2 items forgotten" in ran.out
    assert len(held - ids()) == 2


def test_forgetting_by_id_takes_that_one_and_tells_of_the_other(
    run: Run, db: Path, ids: Callable[[], set[str]], tmp_path: Path
) -> None:
    held = ids()
    one = sorted(held)[0]
    shown = run("forget", "--id", one, "--id", "0" * 64)
    assert "1 item named and not there" in shown.out
    ran = run("forget", "--id", one, "--receipts", tmp_path / "receipts", "--yes")
    assert ran.status == 0, ran.err
    assert held - ids() == {one}


def test_nothing_to_remove_is_no_failure(run: Run, db: Path) -> None:
    ran = run("forget", "--tag", "nobody has this", "--yes")
    assert ran.status == 0
    assert "nothing to remove" in ran.err


def test_the_status_is_1_where_something_is_left(
    run: Run, db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget = SqliteEngine.forget

    async def refuse(self: SqliteEngine, target: object) -> object:
        raise EngineFailure("the disk said no")

    monkeypatch.setattr(SqliteEngine, "forget", refuse)
    ran = run("forget", "--tag", "travel", "--receipts", tmp_path / "receipts", "--yes")
    assert ran.status == 1
    assert "2 failed" in ran.out
    assert "the disk said no" in ran.out
    assert str(next((tmp_path / "receipts").glob("*.jsonl"))) in ran.out
    monkeypatch.setattr(SqliteEngine, "forget", forget)
    assert run("forget", "--tag", "travel", "--receipts", tmp_path / "receipts", "--yes").status == 0


def test_stored_text_cannot_drive_the_terminal(run: Run, db: Path) -> None:
    ran = run("forget", "--node", "user:dana", "--reach", "exact")
    assert ran.status == 0
    assert HOSTILE not in ran.out
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out


@pytest.mark.parametrize("flags", [[], ["--keep-texts"]])
def test_the_receipt_holds_texts_only_where_they_are_asked_for(
    run: Run, db: Path, tmp_path: Path, flags: list[str]
) -> None:
    ran = run("forget", "--language", "de", "--receipts", tmp_path / "receipts", "--yes", *flags)
    assert ran.status == 0, ran.err
    (receipt,) = (tmp_path / "receipts").glob("*.jsonl")
    assert ("Gangplätze" in receipt.read_text("utf-8")) is bool(flags)


def test_json_says_it_all(run: Run, db: Path, tmp_path: Path) -> None:
    ran = run("forget", "--json", "--tag", "travel", "--receipts", tmp_path / "receipts", "--yes")
    told = json.loads(ran.out)
    assert told["plan"]["items"] == told["outcome"]["removed"] == 2
    assert told["outcome"]["is_clean"]
    assert {check["asked"] for check in told["outcome"]["checks"]} == {"list", "get", "explore", "fetch", "recall"}
    assert Path(told["receipt"]).is_file()


def test_an_engine_that_does_not_erase_is_a_refused_plan(
    run: Run, db: Path, ids: Callable[[], set[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = ids()
    monkeypatch.setattr(SqliteEngine, "erase", MemoryEngine.erase)
    ran = run(
        *("erase", "--node", "team:acme", "--reach", "exact", "--receipts", tmp_path / "receipts"),
        *("--yes", "--confirm", "team:acme"),
    )
    assert ran.status == 2
    assert "does not erase" in ran.err
    assert "forget" in ran.err
    assert ids() == held


@pytest.mark.parametrize("error", [EngineFailure("the scopes could not be listed"), Unauthorized("no")], ids=repr)
def test_an_erase_that_the_engine_refuses_as_a_whole_is_a_refused_plan(
    run: Run,
    db: Path,
    ids: Callable[[], set[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: TinyMemoryError,
) -> None:
    held = ids()

    async def refuse(self: SqliteEngine, req: object) -> object:
        raise error

    monkeypatch.setattr(SqliteEngine, "erase", refuse)
    node = ("--node", "team:acme", "--reach", "exact", "--receipts", tmp_path / "receipts", "--json")
    ran = run("erase", *node, "--yes", "--confirm", "team:acme")
    assert ran.status == 2
    assert f"{error.text}; nothing was removed" in ran.err
    assert json.loads(ran.out)["refused"] == error.text
    assert ids() == held


def test_a_receipt_that_cannot_be_written_is_a_failure(
    run: Run, db: Path, ids: Callable[[], set[str]], tmp_path: Path
) -> None:
    held = ids()
    (tmp_path / "receipts").write_text("no folder")
    ran = run("forget", "--tag", "travel", "--receipts", tmp_path / "receipts", "--yes")
    assert ran.status == 1
    assert ids() == held


@pytest.mark.parametrize(
    ("flags", "refused"),
    [
        (["--tag", "nobody has this"], None),
        (["--node", "team:acme", "--reach", "exact"], "add --confirm team:acme, exactly"),
    ],
)
def test_json_says_why_nothing_was_removed(run: Run, db: Path, flags: list[str], refused: str | None) -> None:
    told = json.loads(run("forget", "--json", "--yes", *flags).out)
    assert told["plan"]["items"] == (0 if refused is None else 2)
    assert told.get("refused") == refused
    assert "outcome" not in told


def test_json_says_why_there_is_no_plan(run: Run, db: Path) -> None:
    assert "nodes and kinds only" in json.loads(run("erase", "--json", "--tag", "travel").out)["refused"]


def test_json_says_what_is_different_by_now(
    run: Run, db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted_again = Removal._counted_again

    async def after_another_went(self: Removal) -> AsyncGenerator[Preview, None]:
        assert self.preview is not None
        await self.engine.forget(ForgetTarget(ids=list(self.preview.ids)[:1]))
        async for now in counted_again(self):
            yield now

    monkeypatch.setattr(Removal, "_counted_again", after_another_went)
    ran = run("forget", "--json", "--tag", "travel", "--receipts", tmp_path / "receipts", "--yes")
    told = json.loads(ran.out)
    assert ran.status == 2
    assert (len(told["moved"]["new"]), len(told["moved"]["gone"])) == (0, 1)
    assert "has changed" in told["refused"]


def test_json_says_of_the_plan_what_the_text_says(run: Run, db: Path) -> None:
    team = ("--node", "team:acme", "--reach", "subtree")
    plan = json.loads(run("erase", "--json", *team).out)["plan"]
    shown = run("erase", *team).out
    assert plan["stays"] == ["Everything above and beside it."]
    assert plan["may_remain"]
    assert all(said in shown for said in [*plan["stays"], *plan["may_remain"]])
    assert plan["months"] == {"2026-10": 2, "undated": 1}
    assert plan["sources"]["file:docs"] == 1
    assert len(plan["samples"]) == 3


@pytest.mark.parametrize("command", ["forget", "erase"])
def test_what_goes_is_never_said_to_be_deleted(run: Run, command: str) -> None:
    assert "delet" not in run(command, "--help").out.casefold()


@pytest.mark.parametrize("name", ["--export", "--receipts", "--folder", "--file-path", "--node"])
def test_a_blank_value_is_never_taken_for_none_or_for_all(
    run: Run, db: Path, ids: Callable[[], set[str]], name: str
) -> None:
    held = ids()
    ran = run("forget", "--reach", "subtree", "--tag", "travel", "--yes", name, " ")
    assert ran.status == 2
    assert "blank" in ran.err
    assert ids() == held


@pytest.mark.parametrize("command", ["forget", "erase"])
def test_a_file_that_is_not_there_is_neither_made_nor_a_success(run: Run, tmp_path: Path, command: str) -> None:
    ran = run(
        *(command, "--db", tmp_path / "typo.db", "--node", "root", "--reach", "subtree"),
        *("--yes", "--whole-tree", "--confirm", "root"),
    )
    assert ran.status == 2
    assert "there is no file" in ran.err
    assert not (tmp_path / "typo.db").exists()


def test_a_link_to_nowhere_is_no_file_either(run: Run, tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "gone.db")
    ran = run("forget", "--db", tmp_path / "link.db", "--tag", "travel", "--yes")
    assert ran.status == 2
    assert not (tmp_path / "gone.db").exists()


def test_a_connection_that_is_read_only_is_refused_before_anything_is_asked(
    run: Run, db: Path, ids: Callable[[], set[str]], tmp_path: Path
) -> None:
    settings = EngineSettings(path=db, read_only=True)
    ConnectionStore().save(SavedConnection(name="locked", engine="sqlite", settings=settings))
    held = ids()
    receipts = tmp_path / "receipts"
    ran = run("forget", "--connection", "locked", "--tag", "travel", "--receipts", receipts, "--yes")
    assert ran.status == 2
    assert "read-only" in ran.err
    assert not receipts.exists()
    assert ids() == held


def test_json_is_printed_where_there_is_nothing_to_remove(run: Run, db: Path) -> None:
    ran = run("forget", "--json", "--id", "0" * 64, "--yes")
    assert ran.status == 0
    assert json.loads(ran.out)["plan"]["not_there"] == ["0" * 64]


@pytest.mark.parametrize("flags", [["--json"], []])
@pytest.mark.parametrize("command", ["forget", "erase"])
def test_a_removal_that_the_engine_has_not_finished_is_no_success(
    run: Run, db: Path, tmp_path: Path, command: str, flags: list[str]
) -> None:
    with contextlib.closing(sqlite3.connect(db)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM item").fetchone()
        ran = run(
            *(command, "--node", "team:acme", "--reach", "exact", "--receipts", tmp_path / "receipts"),
            *("--yes", "--confirm", "team:acme", *flags),
        )
        assert ran.status == 1
        assert "not finished" in ran.out
        if flags:
            assert "not finished" in json.loads(ran.out)["outcome"]["remains"][0]
    again = run("forget", "--node", "user:dana", "--reach", "exact", "--yes", "--confirm", "user:dana")
    assert (again.status, "not finished" in again.out) == (0, False)


def test_the_samples_have_ids_that_can_be_named(run: Run, db: Path, ids: Callable[[], set[str]]) -> None:
    shown = run("forget", "--tag", "travel").out
    assert sum(id in shown for id in ids()) == 2


@pytest.mark.parametrize("flags", [["--json"], []])
def test_a_way_back_that_lacks_items_names_them(
    run: Run, db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str]
) -> None:
    get_items = SqliteEngine.get_items
    part = json.loads(run("list", "--json", "--tag", "seat").out)["id"]

    async def without(self: SqliteEngine, req: GetRequest) -> list[Exported]:
        return [each for each in await get_items(self, req) if each.id != part]

    monkeypatch.setattr(SqliteEngine, "get_items", without)
    ran = run(
        *("forget", "--tag", "travel", "--receipts", tmp_path / "receipts", "--yes"),
        *("--export", tmp_path / "back.jsonl", *flags),
    )
    assert ran.status == 0, ran.err
    assert part in ran.err
    if flags:
        assert json.loads(ran.out)["way_back"] == {
            "path": str(tmp_path / "back.jsonl"),
            "items": 1,
            "size_bytes": (tmp_path / "back.jsonl").stat().st_size,
            "incomplete": [part],
        }


def test_sandboxes_that_are_not_listed_are_said_to_go_with_an_erased_tree(
    run: Run, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespaces = SqliteEngine.namespaces

    async def of_a_part(self: SqliteEngine, *args: Any) -> ExplorePage:
        return (await namespaces(self, *args)).model_copy(update={"truncated": True})

    monkeypatch.setattr(SqliteEngine, "namespaces", of_a_part)
    said = "This engine does not list all of its sandboxes: "
    tree = ("--node", "root", "--reach", "subtree")
    assert f"  goes: {said}the erase takes them" in run("erase", *tree).out
    shown = run("forget", *tree).out
    assert f"  may remain: {said}what is in one is not found, and stays." in shown
    assert "the erase takes them" not in shown
    assert not json.loads(run("erase", "--json", *tree).out)["plan"]["knows_sandboxes"]


@pytest.mark.parametrize("flags", [["--json"], []])
def test_where_the_answer_cannot_be_printed_the_receipt_is_named(
    run: Run, db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str]
) -> None:
    out = Console.out

    def full(self: Console, line: str = "") -> None:
        if "items forgotten" in line:
            raise FileError("cannot print the answer: no space left on device")
        out(self, line)

    monkeypatch.setattr(Console, "out", full)
    monkeypatch.setattr(Console, "json", lambda self, text: full(self, "items forgotten"))
    ran = run("forget", "--tag", "travel", "--receipts", tmp_path / "receipts", "--yes", *flags)
    assert ran.status == 1
    (receipt,) = (tmp_path / "receipts").glob("*.jsonl")
    assert str(receipt) in ran.err
