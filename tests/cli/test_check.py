"""`check`: a file verified and repaired."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from explorer.cli import check
from explorer.contract import dump_item

from .made import ITEMS, Ran

Run = Callable[..., Ran]


def damage(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as conn:
        assert conn.execute(statement).rowcount
        conn.commit()


def test_whole_file_is_zero(db: Path, run: Run) -> None:
    for args in ((db,), (), ("--db", db), (db, "--repair")):  # TINYMEMORY_DB names it too
        ran = run("check", *args)
        assert (ran.status, ran.err) == (0, "")
        assert ran.out.startswith(f"{len(ITEMS)} items checked in ")
        assert ran.out.endswith(" s: nothing is wrong.\n")
    assert [path.name for path in db.parent.glob("m.db*")] == ["m.db"]
    told = json.loads(run("check", "--json").out)
    assert told.pop("seconds") >= 0
    assert told == {"path": str(db), "items": len(ITEMS), "problems": []}
    assert "checking the structure\n" in run("check", "--progress").err


def test_problems_are_one_until_they_are_repaired(db: Path, run: Run) -> None:
    hidden = ITEMS[0].fingerprint()
    damage(db, f"DELETE FROM fac WHERE id = (SELECT id FROM item WHERE fp = x'{hidden}')")
    before = db.read_bytes()
    ran = run("check", db)
    assert (ran.status, ran.err) == (1, "")
    assert f"- items without a record of their fields, which lists and filters hide: 1 ({hidden})\n" in ran.out
    assert " kinds of problems.\n" in ran.out
    told = json.loads(run("check", db, "--json").out)
    (found,) = [problem for problem in told["problems"] if problem["problem"] == "no_record"]
    assert (found["count"], found["examples"]) == (1, [hidden])
    assert found["text"] in ran.out
    assert db.read_bytes() == before
    assert hidden not in run("list", "--all").out
    ran = run("check", db, "--repair")
    assert (ran.status, ran.err) == (0, "")
    assert f"The file as it was is {db}.repair-backup; it holds stored text, so delete it in the end.\n" in ran.out
    assert ran.out.endswith("nothing is wrong.\n")
    assert hidden in run("list", "--all").out


def test_items_that_are_lost_are_named_and_one(db: Path, run: Run) -> None:
    lost, changed = (ITEMS[number].fingerprint() for number in (1, 2))
    damage(db, f"UPDATE item SET payload = x'00' WHERE fp = x'{lost}'")
    other = dump_item(ITEMS[2]).replace("Fridays", "Mondays").encode()
    damage(db, f"UPDATE item SET payload = x'{other.hex()}' WHERE fp = x'{changed}'")
    ran = run("check", db, "--repair", "--json")
    assert ran.status == 1
    told = json.loads(ran.out)
    assert (told["unreadable"], told["duplicates"], told["lost_places"]) == ([lost], [], 0)
    ((old, new),) = told["renamed"]
    assert old == changed
    assert told["copy"] == f"{db}.repair-backup"
    assert {problem["problem"] for problem in told["repaired_problems"]} >= {"content", "fingerprint"}
    assert (told["items"], told["problems"]) == (len(ITEMS) - 1, [])
    assert "deploys on Mondays" in run("get", new).out
    damage(db, f"UPDATE item SET payload = x'00' WHERE fp = x'{new}'")
    ran = run("check", db, "--repair")
    assert ran.status == 1
    assert f"Taken out: 1 item whose content cannot be read ({new}).\n" in ran.out


def test_what_cannot_be_opened_is_two(tmp_path: Path, db: Path, run: Run) -> None:
    (tmp_path / "other.db").write_text("not a database, " * 99)
    for path, says in ((tmp_path / "none.db", "there is no file"), (tmp_path / "other.db", "is not a SQLite database")):
        for flags in ((), ("--repair",)):
            ran = run("check", path, *flags)
            assert (ran.status, ran.out) == (2, "")
            assert says in ran.err
    assert not (tmp_path / "none.db").exists()
    damage(db, "PRAGMA user_version = 99")
    ran = run("check", db)
    assert (ran.status, ran.out) == (2, "")
    assert "newer version" in ran.err


def test_only_files_can_be_checked(run: Run) -> None:
    ran = run("check", "--engine", "reference")
    assert (ran.status, ran.out) == (2, "")
    assert "only a file of the engine sqlite can be checked" in ran.err
    assert run("check").status == 2


def test_ctrl_c_stops_it(db: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(path: str, on_progress: Callable[[str], None]) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(100):
            on_progress("checking")
        pytest.fail("it went on")

    monkeypatch.setattr(check, "check_file", interrupted)
    ran = run("check", db)
    assert (ran.status, ran.out, ran.err) == (130, "", "Interrupted.\n")
