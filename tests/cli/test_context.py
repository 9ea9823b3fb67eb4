"""`context`: a context.md printed, or written into a file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from explorer.context import Brief, ContextDoc, Preset, PresetStore
from explorer.contract import ListRequest, MetaFilter, Namespace, Reach
from explorer.engines import build_engine, file_settings

from .made import HOSTILE, Ran

Run = Callable[..., Ran]

ON_FRIDAYS = [{"heading": "Deploys", "question": "Who deploys on Fridays?"}]


@pytest.fixture
def briefs(tmp_path: Path) -> Callable[[Any], Path]:
    def write(value: Any) -> Path:
        path = tmp_path / "briefs.json"
        path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
        return path

    return write


def doc_of(ran: Ran) -> ContextDoc:
    assert ran.status == 0, ran.err
    return ContextDoc.model_validate_json(ran.out)


def test_document_is_printed(db: Path, run: Run) -> None:
    ran = run("context", "--learnings", "2")
    assert ran.status == 0, ran.err
    assert ran.out.startswith("---\ngenerated_at: ")
    assert "\nengine: sqlite\ntokens: " in ran.out
    assert "\n## Learnings\n\n- deploys on Fridays\n- " in ran.out
    assert ran.out.endswith("\n")
    assert not ran.out.endswith("\n\n")
    assert "in a box" not in run("context").out


def test_json_is_the_document(db: Path, run: Run, briefs: Callable[[Any], Path]) -> None:
    doc = doc_of(run("context", "--json", "--briefs", briefs([])))
    assert doc.engine == "sqlite"
    assert doc.tokens == -(-len(doc.markdown) // 4)
    assert len(doc.refs) == 4
    assert HOSTILE.split("\x1b")[0] in doc.markdown


def test_at_a_node_is_what_its_agent_reads(db: Path, run: Run, briefs: Callable[[Any], Path]) -> None:
    team = run("context", "--at", "team:acme").out
    assert "- mag Gangplätze\n" in team
    assert "- likes window seats\n" in team
    assert "deploys" not in team
    assert "deploys" in run("context", "--at", "team:acme/agent:writer").out
    assert "in a box" in run("context", "--at", "team:acme/service:cron").out
    spec = {"briefs": [], "reach": Reach.of(Namespace.parse("team:acme")).model_dump(mode="json")}
    assert "window seats" in run("context", "--briefs", briefs(spec)).out
    assert "Gangplätze" not in run("context", "--at", "root", "--briefs", briefs(spec)).out


def test_budget_is_kept_and_what_had_no_room_is_told(db: Path, run: Run, briefs: Callable[[Any], Path]) -> None:
    learnings = ("context", "--briefs", briefs([]))
    ran = run(*learnings, "--budget", "60")
    assert ran.status == 0
    assert "tokens: 4" in ran.out
    assert ran.err == "Learnings: Shortened to fit the token budget.\n"
    none = run(*learnings, "--budget", "1")
    assert (none.status, none.out) == (0, "")
    assert none.err == (
        "Learnings: The token budget had no room for it.\nThe document is empty: nothing that is stored goes into it.\n"
    )


def test_empty_memory_is_an_empty_document(tmp_path: Path, run: Run) -> None:
    async def make() -> None:
        engine = build_engine("sqlite", file_settings(tmp_path / "e.db"), None)
        await engine.list(ListRequest(limit=1))
        await engine.aclose()

    asyncio.run(make())
    ran = run("context", "--db", tmp_path / "e.db")
    assert ran == Ran(0, "", "The document is empty: nothing that is stored goes into it.\n")


def test_no_memory_is_no_empty_document(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "none.db"
    assert run("context", "--db", path) == Ran(1, "", f"tinymemory: there is no file `{path}` to open read-only\n")
    assert not path.exists()


def test_briefs_of_a_file(db: Path, run: Run, briefs: Callable[[Any], Path]) -> None:
    path = briefs([*ON_FRIDAYS, {"heading": "Else", "question": "zzz?", "filter": {"workspace": "w"}}])
    doc = doc_of(run("context", "--json", "--briefs", path, "--learnings", "0"))
    assert "\n## Deploys\n\n" in doc.markdown
    assert "deploys on Fridays" in doc.markdown
    assert "## Learnings" not in doc.markdown
    assert len(doc.refs) == 1
    spec = {"briefs": ON_FRIDAYS, "learnings_limit": 1, "budget_tokens": 2_000}
    doc = doc_of(run("context", "--json", "--briefs", briefs(spec)))
    assert doc.markdown.endswith("\n## Learnings\n\n- deploys on Fridays\n")
    assert doc_of(run("context", "--json", "--briefs", briefs(spec), "--budget", "1")).markdown == ""
    assert "Deploys" in run("context", "--briefs", briefs("\ufeff" + json.dumps(ON_FRIDAYS))).out


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("{", "does not hold briefs: not JSON"),
        ("[1]", "does not hold briefs: briefs.0: "),
        ([{"heading": "H"}], "does not hold briefs: briefs.0.question: field required"),
        ({"briefs": [], "budget_tokens": -1}, "does not hold briefs: budget_tokens: "),
        ({"budget_tokens": 0}, "the token budget must be at least 1"),
        ([{"heading": " ", "question": "Q"}], "the heading of brief 1 must not be blank"),
    ],
)
def test_briefs_that_do_not_fit(db: Path, run: Run, briefs: Callable[[Any], Path], value: Any, says: str) -> None:
    ran = run("context", "--briefs", briefs(value))
    assert (ran.status, ran.out) == (1, "")
    assert says in ran.err
    assert len(ran.err.splitlines()) == 1


def test_briefs_that_are_not_there(db: Path, run: Run, tmp_path: Path) -> None:
    ran = run("context", "--briefs", tmp_path / "none.json")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith(f"tinymemory: cannot read {tmp_path / 'none.json'}: ")
    assert run("context", "--briefs", tmp_path).status == 1


def test_presets_of_the_window(db: Path, run: Run) -> None:
    filter = MetaFilter(reach=Reach.exact(Namespace.parse("user:dana")))
    PresetStore().save(
        Preset(name="Fridays", briefs=[Brief(heading="H", question="Who deploys?", filter=filter)], learnings_limit=1)
    )
    out = run("context", "--preset", "Fridays").out
    assert out.endswith("\n# Context\n\n## Learnings\n\n- deploys on Fridays\n")
    assert "window seats" in run("context", "--preset", "Fridays", "--learnings", "9").out
    ran = run("context", "--preset", "Mondays")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err == "tinymemory: there is no saved preset named Mondays; saved are: Fridays\n"
    PresetStore().path.write_bytes(b"{")
    ran = run("context", "--preset", "Fridays")
    assert ran.err.startswith("The saved presets could not be read: it is not JSON.")
    assert ran.err.endswith("saved are: none\n")


def test_output_goes_into_a_file(db: Path, run: Run, briefs: Callable[[Any], Path], tmp_path: Path) -> None:
    path = tmp_path / "context.md"
    ran = run("context", "--output", path, "--briefs", briefs([]))
    assert (ran.status, ran.out) == (0, "")
    text = path.read_text("utf-8")
    assert text.startswith("---\n")
    assert ran.err.startswith("About ")
    assert ran.err.endswith(" tokens, resting on 4 items.\n")
    again = run("context", "--output", path, "--budget", "1")
    assert again.status == 1
    assert "is there already" in again.err
    assert path.read_text("utf-8") == text
    assert run("context", "--output", path, "--budget", "1", "--force").status == 0
    assert path.read_text("utf-8") == ""
    assert {each.name for each in tmp_path.iterdir()} >= {"context.md", "m.db"}
    assert not [each for each in tmp_path.iterdir() if each.name.endswith(".tmp")]


def test_output_never_takes_the_memorys_place(db: Path, run: Run) -> None:
    before = db.read_bytes()
    for name in (db, f"{db}-wal"):
        ran = run("context", "--output", name, "--force")
        assert ran.status == 1
        assert "the memory itself" in ran.err
    assert db.read_bytes() == before


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--budget", "0"], "write a number from 1 on"),
        (["--budget", "many"], "write a number from 1 on"),
        (["--learnings", "-1"], "write a number from 0 on"),
        (["--at", "acme"], "namespace segment `acme` must be written kind:id"),
        (["--preset", "a", "--briefs", "b"], "not allowed with"),
    ],
)
def test_wrong_flags(run: Run, flags: list[str], says: str) -> None:
    ran = run("context", "--db", "m.db", *flags)
    assert (ran.status, ran.out) == (2, "")
    assert says in ran.err


def test_stored_text_is_exact_in_a_pipe_and_safe_on_a_terminal(
    db: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert f"- {HOSTILE}\n" in run("context").out
    monkeypatch.setattr("explorer.cli.output._is_terminal", lambda stream: True)
    shown = run("context").out
    assert "- ␛]0;owned␇␛[2J⟦U+202E⟧gnp.exe" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
