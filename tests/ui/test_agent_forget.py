"""Forgetting in the view of an agent: as its tool would, and what it does not read is skipped and said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pytestqt.qtbot import QtBot

from explorer.contract import ForgetTarget, GetRequest, ItemId, Reach
from explorer.engines import EngineSettings, build_engine
from explorer.ui.selected import seen_of
from tests.conftest import Until
from tests.ui.removing import Opened, opened
from tests.ui.test_agent_console import ids_by_text
from tests.ui.test_agent_view import ITEMS, NIGHTLY, READ_BY_WRITER, TRIAGE, WRITER, see_as
from tests.ui.test_main_window import texts


@asynccontextmanager
async def agent_view(qtbot: QtBot, tmp_path: Path, until: Until) -> AsyncIterator[Opened]:
    engine = build_engine("sqlite", EngineSettings(path=str(tmp_path / "nodes.db")), None)
    async with opened(qtbot, tmp_path, until, engine, list(ITEMS)) as at:
        await see_as(at.window, WRITER, until)
        yield at


async def test_a_selection_goes_wherever_the_agent_reads_it(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with agent_view(qtbot, tmp_path, until) as at:
        window = at.window
        window.items.select_all()
        await until(lambda: window.is_idle)
        window.forget_selected_wanted.emit()
        dialog = await at.counted()
        assert dialog.removal is not None
        assert dialog.removal.preview is not None
        assert dialog.removal.preview.total == len(READ_BY_WRITER), "at the nodes above too, which its tool forgets"
        assert dialog.removal.plan.target.reach == Reach.of(WRITER)
        await at.done()
        await at.close()
        assert texts(window) == set()
        left = set(await ids_by_text(at.engine))
        assert left == {item.render_text() for item in ITEMS} - READ_BY_WRITER


async def test_all_that_match_goes_above_too_and_never_beside(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with agent_view(qtbot, tmp_path, until) as at:
        window = at.window
        window.go_to_filter(window.trail.current.filter.model_copy(update={"tags_any": ["billing", "refunds"]}))
        await until(lambda: window.is_idle)
        window.removing.forget_matching_action.trigger()
        dialog = await at.counted()
        assert dialog.removal is not None
        assert dialog.removal.preview is not None
        assert {str(node) for node in dialog.removal.preview.nodes} == {"team:acme", "team:acme/agent:writer"}
        await at.done()
        await at.close()
        left = set(await ids_by_text(at.engine))
        assert {"triage keeps a queue of refunds", "a nightly digest of refunds", "a stranger's note"} <= left
        assert not left & {"the ledger closes at six", "refunds need a second approval"}


async def test_what_is_out_of_reach_is_skipped_and_said(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with agent_view(qtbot, tmp_path, until) as at:
        ids = await ids_by_text(at.engine)
        mine = ids["the ledger closes at six"]
        others = [ids["triage keeps a queue of refunds"], ids["a nightly digest of refunds"]]

        async def chosen() -> list[ItemId]:
            return [others[0], mine, others[1], mine]

        seen = await seen_of(at.engine, WRITER, chosen())
        assert (seen.ids, seen.skipped) == ([mine], others)
        at.removals._plan_seen(WRITER, seen)
        dialog = await at.counted()
        said = "2 of those chosen are out of reach of agent:writer at team:acme, or gone: they are skipped."
        assert dialog.banner.sentence == said
        await at.done()
        await at.close()
        for id, node in zip(others, (TRIAGE, NIGHTLY), strict=True):
            assert await at.engine.get(GetRequest(ids=[id], reach=Reach.exact(node))), "it survives"
        assert "the ledger closes at six" not in await ids_by_text(at.engine)


async def test_nothing_in_reach_opens_no_dialog(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with agent_view(qtbot, tmp_path, until) as at:
        ids = await ids_by_text(at.engine)

        async def chosen() -> list[ItemId]:
            return [ids["triage keeps a queue of refunds"]]

        at.removals._plan_seen(WRITER, await seen_of(at.engine, WRITER, chosen()))
        assert at.removals.dialog is None
        assert "Nothing was forgotten." in at.window.error_banner.sentence


async def test_rows_that_went_elsewhere_meanwhile_are_skipped(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    """The list is of before: what another has forgotten by then is not asked of the engine again."""
    async with agent_view(qtbot, tmp_path, until) as at:
        window, ids = at.window, await ids_by_text(at.engine)
        window.items._select_ids([ids["the ledger closes at six"], ids["refunds need a second approval"]])
        await at.engine.forget(ForgetTarget(ids=[ids["refunds need a second approval"]]))
        window.forget_selected_wanted.emit()
        dialog = await at.counted()
        assert dialog.removal is not None
        assert dialog.removal.preview is not None
        assert list(dialog.removal.preview.ids) == [ids["the ledger closes at six"]]
        assert "1 of those chosen is out of reach" in dialog.banner.sentence
        await at.close()
