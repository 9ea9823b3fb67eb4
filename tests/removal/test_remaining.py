"""What a removal does not reach, in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.contract import EngineDescriptor, FetchMode, Namespace, SourceKind, SourceRef
from explorer.contract.query import Consolidation
from explorer.engines.sqlite import SqliteEngine
from explorer.removal.journal import Journal
from explorer.removal.plan import Action, Target
from explorer.removal.receipts import Receipt
from explorer.removal.remaining import Remains, Remnant, not_covered, remaining
from explorer.removal.way_back import WayBack
from tests.contract.engines import PlainEngine
from tests.fakes import FakeEngine, filled, learning
from tests.removal.written import begin, preview_of, ready, ten

WHOLE = Target.below(Namespace.ROOT)


def descriptor(**facts: object) -> EngineDescriptor:
    plain = {"hosted": False, "needs_endpoint": False, "needs_key": False, "fetch_modes": [FetchMode.KEYWORD]}
    return EngineDescriptor(id="x", label="X", description="An engine.", **{**plain, **facts})  # type: ignore[arg-type]


def kinds(found: list[Remnant]) -> list[Remains]:
    return [one.kind for one in found]


async def test_each_kind_of_engine(journal: Journal) -> None:
    removal = await ready(await filled([learning("x")]), journal, WHOLE)
    plan, preview = removal.plan, preview_of(removal)
    assert remaining(descriptor(), plan, preview) == []
    assert kinds(remaining(descriptor(consolidation=Consolidation.SCHEDULED), plan, preview)) == [Remains.DERIVED]
    assert kinds(remaining(descriptor(hosted=True), plan, preview)) == [Remains.SERVICE]
    assert kinds(remaining(descriptor(needs_path=True), plan, preview)) == [Remains.BACKUPS]


@pytest.mark.parametrize(
    ("action", "node", "said"),
    [
        (
            Action.ERASE,
            "root",
            "This engine does not list all of its sandboxes: the erase takes them, and nothing ",
        ),
        (
            Action.FORGET,
            "root",
            "This engine does not list all of its sandboxes: what is in one is not found, and stays.",
        ),
        (
            Action.ERASE,
            "agent:a",
            "This engine does not list all of its sandboxes: what is in one below the node stays.",
        ),
        (
            Action.FORGET,
            "agent:a",
            "This engine does not list all of its sandboxes: what is in one below the node stays.",
        ),
    ],
)
async def test_sandboxes_that_an_engine_does_not_list(action: Action, node: str, said: str, journal: Journal) -> None:
    engine = PlainEngine()
    await engine.store(learning("x", "agent:a"))
    removal = await ready(engine, journal, Target.below(Namespace.parse(node)), action)
    before = remaining(descriptor(), removal.plan, preview_of(removal))
    assert kinds(before) == ([] if removal.plan.takes_unlisted else [Remains.SANDBOXES])
    with begin(journal, removal, action) as writer:
        pass
    (one,) = (one for one in not_covered(Receipt.read(writer.path)) if one.kind is Remains.SANDBOXES)
    assert one.words.startswith(said)
    assert before in ([], [one])


async def test_what_the_engine_says_of_removals_and_nothing_else(journal: Journal) -> None:
    removal = await ready(await filled([learning("x")]), journal, WHOLE)
    plan, preview = removal.plan, preview_of(removal)
    copies = "what was removed may still lie in `/m.db.v1-backup`, made when the file was updated; delete that too"
    (told,) = remaining(descriptor(), plan, preview, copies)
    assert told == Remnant(Remains.ENGINE, copies.capitalize() + ".")
    assert remaining(descriptor(), plan, preview, "search by meaning is behind: the model is gone") == []
    for reason in (
        "what was forgotten is still indexed",
        "an erase is not finished",
        "deletion takes a day",
        "purging",
    ):
        assert kinds(remaining(descriptor(), plan, preview, reason)) == [Remains.ENGINE]


def sourced(kind: SourceKind, id: str | None, n: int) -> list[object]:
    name = f"{kind} {id}"
    return [learning(f"{name} {number}", source=SourceRef(kind=kind, id=id)) for number in range(n)]


async def test_sources_that_bring_items_back(journal: Journal) -> None:
    items = [
        *sourced(SourceKind.FOLDER, "kb-export", 3),
        *sourced(SourceKind.GITHUB, "acme/site", 2),
        *sourced(SourceKind.RSS, None, 1),
        *sourced(SourceKind.AGENT, "writer", 5),
        *sourced(SourceKind.IMPORT, "old", 5),
        *sourced(SourceKind.CONVERSATION, "chat", 5),
    ]
    removal = await ready(await filled(items), journal, WHOLE)  # type: ignore[arg-type]
    assert [one.words for one in remaining(descriptor(), removal.plan, preview_of(removal))] == [
        "3 items may come back at the next sync of their source (folder): kb-export",
        "2 items may come back at the next sync of their source (github): acme/site",
        "1 item may come back at the next sync of a source (rss).",
    ]


async def test_very_many_sources_are_added_up(journal: Journal) -> None:
    items = [one for n in range(8) for one in sourced(SourceKind.FILE, f"/f{n}", 8 - n)]
    removal = await ready(await filled(items), journal, WHOLE)  # type: ignore[arg-type]
    words = [one.words for one in remaining(descriptor(), removal.plan, preview_of(removal))]
    assert len(words) == 6
    assert words[-1] == "6 items came from 3 more sources, which may bring them back at their next sync."


async def test_a_source_by_a_hostile_name_stays_at_the_end(journal: Journal) -> None:
    engine = await filled(sourced(SourceKind.LINK, "\u202egpj.exe\nNothing remains.", 1))  # type: ignore[arg-type]
    removal = await ready(engine, journal, WHOLE)
    (said,) = remaining(descriptor(), removal.plan, preview_of(removal))
    assert said.words.endswith("(link): ⟦RLO⟧gpj.exe Nothing remains.")


@pytest.mark.parametrize("kind", ["fake", "sqlite"])
async def test_a_receipt_says_the_same_and_its_export(tmp_path: Path, journal: Journal, kind: str) -> None:
    engine = await ten() if kind == "fake" else SqliteEngine(tmp_path / "memory.db", embedder=None)
    try:
        if not isinstance(engine, FakeEngine):
            await engine.store_many([learning("x", "agent:a", source=SourceRef(kind=SourceKind.FOLDER, id="a:b"))])
        removal = await ready(engine, journal)
        removal.way_back = WayBack(tmp_path / "out.jsonl", 5, 100)
        with begin(journal, removal, "forget") as writer:
            writer.note("remains", words=["its log still holds traces"])
        said = remaining(engine.descriptor(), removal.plan, preview_of(removal))
        assert len(said) == 2
        of_receipt = not_covered(Receipt.read(writer.path))
        assert [one for one in of_receipt if one.kind not in (Remains.ENGINE, Remains.EXPORT)] == said
        assert Remnant(Remains.ENGINE, "Its log still holds traces.") in of_receipt
        assert of_receipt[-1].kind is Remains.EXPORT
        assert of_receipt[-1].words.endswith(str(tmp_path / "out.jsonl"))
    finally:
        await engine.aclose()
