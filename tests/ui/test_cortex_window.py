"""The window on a CortexDB that is elsewhere: the real engine over a server of the tests' own."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from explorer.contract import (
    Conversation,
    Document,
    DocumentBody,
    Facet,
    ItemKind,
    ListOrder,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    Role,
    SortBy,
    StoreItem,
    Turn,
    dump_item,
)
from explorer.engines import EngineSettings, StaticCredential
from explorer.engines.cortex import DIRECT, browsing, wires
from explorer.engines.cortex.direct import DirectWire
from explorer.engines.cortex.engine import CortexEngine
from explorer.engines.cortex.scopes import Layout
from explorer.engines.cortex.settings import CortexSettings
from explorer.engines.cortex.transport import Timing
from explorer.removal.plan import Action, Target
from explorer.ui import facets as facets_module
from explorer.ui import items as items_module
from explorer.ui import job_list, watch
from explorer.ui.dialogs.remove import ERASE
from explorer.ui.models.facet_rows import RowType
from explorer.ui.transfers import Transfers
from tests.conftest import Until
from tests.doubles import cortexdb
from tests.doubles.cortexdb import Asked, CortexDouble
from tests.doubles.fault_proxy import FaultProxy, Link, passes, reset_unanswered, status
from tests.engines.cortex import filling, flows
from tests.fakes import learning
from tests.ui.removing import Opened, opened, said
from tests.ui.test_agent_console import answer, question
from tests.ui.test_app import choose
from tests.ui.test_gradual import press
from tests.ui.test_main_window import count_text, texts

pytestmark = pytest.mark.limit_s(40)

NARROW = "\u202f"
ITEMS: list[StoreItem] = [
    learning("tea at four", "team:acme", tags=["drinks"]),
    learning("milk", "team:acme/agent:writer", tags=["drinks"]),
    learning("ledger", "team:books", tags=["money"]),
]
BELOW = "team:acme/source:github"


def page(title: str, at: str, **meta: Any) -> Document:
    return Document(title=title, body=DocumentBody(text=title), meta=MemoryMeta(namespace=Namespace.parse(at), **meta))


@asynccontextmanager
async def there(
    qtbot: QtBot,
    tmp_path: Path,
    until: Until,
    items: list[StoreItem] = ITEMS,
    wire: str = "direct",
    layout: Layout | None = None,
    **settings: Any,
) -> AsyncIterator[tuple[Opened, CortexDouble]]:
    """A window on what another client has stored."""
    async with CortexDouble() as double:
        filling.put(double, wire, items, layout)
        async with (
            filling.opened(double, wire, **settings) as engine,
            opened(qtbot, tmp_path, until, engine, []) as it,
        ):
            yield it, double


def number_of(words: str) -> str:
    return words.replace(NARROW, " ")


# Slow


async def test_counts_and_list_fill_in_while_a_slow_server_is_read(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browsing, "STEP_S", 0.01)
    monkeypatch.setattr(browsing, "PATIENCE_S", 0.05)
    monkeypatch.setattr(facets_module, "SO_FAR_S", 0.0)
    monkeypatch.setattr(items_module, "GROWS_EVERY_S", 0.02)
    many: list[StoreItem] = [learning(f"item {at}", f"team:t{at % 12}", tags=["red"]) for at in range(120)]
    async with CortexDouble(listing_delay_ms=60) as double:
        filling.put(double, "direct", many)
        async with filling.opened(double) as engine, opened(qtbot, tmp_path, _at_once, engine, []) as it:
            window = it.window
            rows: set[int] = set()
            seen: set[str] = set()

            def look() -> bool:
                rows.add(window.items.model.rowCount())
                seen.add(number_of(count_text(window)))
                return window.is_idle

            await until(look)
            growing = sorted(rows - {0, 120})
            assert growing, rows
            assert {f"{n}+ items" for n in growing} <= seen
            assert count_text(window) == "120 items"
            tags = window.facets.model.section(window.facets.model.facets[1])
            assert tags.page is not None
            assert [(bucket.value, bucket.count) for bucket in tags.page.buckets] == [("red", 120)]
            assert not tags.page.truncated
            assert double.count("scopes") == 1, "all of it is read once"


@pytest.mark.parametrize("wire", filling.WIRES)
async def test_opening_drilling_down_and_listing_read_the_memory_once(
    wire: str, qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    many: list[StoreItem] = [learning(f"item {at}", "team:big", tags=["red"]) for at in range(230)]
    many += [learning(f"of {at}", f"team:t{at}/agent:a", tags=["blue"]) for at in range(9)]
    many += [page("readme", BELOW), page("at the root", "root"), learning("boxed", "team:acme/service:nightly")]
    async with there(qtbot, tmp_path, until, many, wire) as (it, double):
        window = it.window
        assert number_of(count_text(window)) == "241 items"
        in_reach = {path.removeprefix("org:acme/") for path in double.log.scopes()}
        listings = [asked.params for asked in double.asked if asked.route == "events"]
        walked = Counter((params["scope"], params.get("cursor")) for params in listings if "labels" not in params)
        assert {scope for scope, _ in walked} == in_reach
        assert set(walked.values()) == {1}, "no page is read twice"
        first_item = 1  # which the viewer shows
        health = {"health": 1} if wire == "direct" else {"scopes": 1}
        once = Counter(scopes=1, events=len(in_reach) + 2 + first_item)  # one of the scopes has three pages
        assert Counter(double.counts()) == once + Counter(health)
        double.forget_requests()

        async def drilled(filter: MetaFilter, count: str) -> None:
            window.go_to_filter(filter)
            await until(lambda: window.is_idle)
            assert number_of(count_text(window)) == count

        await drilled(MetaFilter(kinds=[ItemKind.DOCUMENT]), "2 items")
        await drilled(MetaFilter(tags_any=["red"]), "230 items")
        await drilled(MetaFilter(reach=Reach.subtree(Namespace.parse("team:t3"))), "1 item")
        await drilled(MetaFilter(reach=Reach.exact(Namespace.parse("team:acme/service:nightly"))), "1 item")
        await drilled(MetaFilter(), "241 items")
        index = window.facets.model.row_index(Facet.KIND, RowType.VALUE, "document")
        window.facets.tree.scrollTo(index)
        place = window.facets.delegate.box_area(index).center()
        qtbot.mouseClick(window.facets.tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
        await until(lambda: window.is_idle and number_of(count_text(window)) == "2 items")
        window.back_action.trigger()
        await until(lambda: window.is_idle and number_of(count_text(window)) == "241 items")
        for by in (SortBy.KIND, SortBy.NODE):
            window.items.set_order(ListOrder(by=by))
            await until(lambda: window.is_idle)
        window.items.view.scrollToBottom()
        await until(lambda: window.is_idle and window.items.model.hit(240) is not None)
        for facet in Facet:
            window.facets.reveal(facet)
            await until(lambda: window.is_idle)
        window.refresh()
        await until(lambda: window.is_idle)
        assert [asked.target for asked in double.asked if not is_for_one_item(asked)] == []
        double.forget_requests()
        hit = window.items.model.hit(240)
        assert hit is not None
        window.items.select_id(hit.id)
        await until(lambda: window.is_idle and window.viewer.hit is not None)
        assert [(asked.route, is_for_one_item(asked)) for asked in double.asked] == [("events", True)]


def is_for_one_item(asked: Asked) -> bool:
    """What the viewer asks for, of the one scope that is known to hold the item, and the question for its health."""
    labels = asked.params.get("labels", "").split(",")
    is_one = len(labels) == 1 and labels[0].startswith("tm:i:")
    return is_one or asked.route == "health" or asked.params.get("prefix") == "tmh:probe"


async def test_all_that_is_selected_while_it_is_read_is_all_of_it(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browsing, "PATIENCE_S", 0.05)
    monkeypatch.setattr(items_module, "GROWS_EVERY_S", 0.02)
    many: list[StoreItem] = [learning(f"item {at}", f"team:t{at}") for at in range(40)]
    async with CortexDouble(listing_delay_ms=60) as double:
        filling.put(double, "direct", many)
        async with filling.opened(double) as engine, opened(qtbot, tmp_path, _at_once, engine, []) as it:
            items = it.window.items
            await until(lambda: 0 < items.model.rowCount() < 40)
            items.select_all()
            items.forget_action.trigger()
            double.listing_delay_ms = 0
            await until(lambda: it.removals.dialog is not None and it.dialog.removal is not None)
            assert it.title == "Forget 40 chosen items"


async def test_what_a_server_does_not_name_is_not_taken_for_nothing(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((wires, "MAX_SCOPES"), (cortexdb, "SCOPES_MAX")):
        monkeypatch.setattr(module, name, 4)
    async with CortexDouble(padding_scopes=9) as double:
        filling.put(double, "direct", [*ITEMS, learning("first", "agent:a", tags=["drinks"])])
        async with filling.opened(double) as engine, opened(qtbot, tmp_path, until, engine, []) as it:
            window = it.window
            assert texts(window) == {"first"}
            assert count_text(window) == "1+ items"
            assert "does not name all" in window.items.count_label.toolTip()
            for target in (Target.of_filter(MetaFilter(tags_any=["drinks"])), Target.of_filter(MetaFilter())):
                window.removal_wanted.emit(target, Action.FORGET)
                await until(lambda: it.removals.dialog is not None and bool(it.dialog.banner.sentence))
                assert "does not name all nodes" in it.dialog.banner.sentence
                assert it.dialog.removal is None
                assert not it.dialog.confirm.remove_button.isEnabled()
                await it.close()


async def _at_once(condition: Any, timeout_s: float = 0.0) -> None:
    """In place of `until`: nothing is waited for."""


async def test_f5_shows_what_other_programs_did(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with there(qtbot, tmp_path, until) as (it, double):
        window = it.window
        assert texts(window) == {"tea at four", "milk", "ledger"}
        filling.put(double, "direct", [learning("sugar", "team:acme")])
        window.refresh()
        await until(lambda: window.is_idle)
        assert "sugar" not in texts(window), "nothing is asked again that this program did not change"
        window.refresh_action.trigger()
        await until(lambda: window.is_idle and "sugar" in texts(window))
        hit = next(hit for hit in map(window.items.model.hit, range(4)) if hit.text == "milk")
        window.items.select_id(hit.id)
        await until(lambda: window.is_idle)
        for scope in [scope for scope in double.log.scopes() if "agent:writer" in scope]:
            double.lose_last(scope)
        window.refresh_action.trigger()
        await until(lambda: window.is_idle)
        assert texts(window) == {"tea at four", "ledger", "sugar"}
        assert window.viewer.banner.sentence == "This item is no longer stored."


async def test_a_pause_that_the_server_asks_for_is_seen_until_it_is_over(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_list, "APPEARS_S", 0.0)
    monkeypatch.setattr(job_list, "_TICK_MS", 20)
    async with there(qtbot, tmp_path, until) as (it, double):
        window = it.window
        assert isinstance(it.engine, CortexEngine)
        it.engine._wire.transport.timing = Timing()
        double.rate_limit_headers = {"Retry-After": "1"}
        double.rate_limit_any = 1
        window.refresh_action.trigger()
        await until(lambda: window.pause_label.isVisible())
        assert window.pause_label.text().startswith("The server asked to wait: going on at ")
        await until(lambda: window.is_idle)
        await until(lambda: window.pause_label.isHidden())
        assert count_text(window) == "3 items"


# A key that is refused, or lacks something


@pytest.mark.parametrize("is_denied", [False, True])
async def test_a_refused_key_is_said_once_and_nothing_is_sent_after_it(
    is_denied: bool, qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_EVERY_MS", 20)
    async with there(qtbot, tmp_path, until) as (it, double):
        window, token = it.window, double.token
        if is_denied:
            double.fail_all, double.error_text = (403, "MISSING_CAPABILITY"), "memory:read is missing"
        else:
            double.token = "another"
        window.refresh_action.trigger()
        await until(lambda: window.is_idle and window.items.model.is_stale)
        assert texts(window) == {"tea at four", "milk", "ledger"}, "what was read stays"
        state = window.items.state
        words = " ".join(label.text() for label in state.findChildren(QLabel))
        assert ("The key may not do this" if is_denied else "The key was refused") in words
        assert ("memory:read is missing" in words) is is_denied
        assert "nothing is sent until then" in words
        assert any(button.text() == "Edit connection…" for button in state.findChildren(QPushButton))
        everything = " ".join(label.text() for label in window.findChildren(QLabel) if label.isVisible())
        assert token not in everything
        await until(lambda: double.in_flight == 0)
        sent = len(double.asked)
        await asyncio.sleep(0.15)
        assert len(double.asked) == sent, "no loop of retries"
        assert not window._health_timer.isActive()
        double.token, double.fail_all = token, None
        window.refresh_action.trigger()
        await until(lambda: window.is_idle and not window.items.model.is_stale)
        assert window._health_timer.isActive()
        assert window.watch.timer.isActive()


async def test_a_key_that_may_not_forget_forgets_nothing_and_says_why(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with there(qtbot, tmp_path, until) as (it, double):
        dialog = await it.planned(Target.at(Namespace.parse("team:acme")))
        double.failures["forget"] = [(403, "MISSING_CAPABILITY")] * 9
        double.error_text = "memory:forget is missing"
        it.answer()
        dialog.confirm.remove_button.click()
        await until(lambda: bool(dialog.banner.sentence))
        assert dialog.banner.sentence.startswith("The key may not do this: ")
        assert dialog.banner.sentence.endswith("Nothing was forgotten.")
        assert dialog.outcome is None
        await until(lambda: it.window.is_idle)
        assert len(texts(it.window)) == 3


@pytest.mark.parametrize("wire", filling.WIRES)
async def test_a_key_that_may_not_write_stores_nothing_and_says_why(
    wire: str, qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text(dump_item(learning("from a file", "team:acme")))
    async with there(qtbot, tmp_path, until, wire=wire) as (it, double):
        window, transfers = it.window, Transfers(it.window)
        double.fail_all, double.error_text = (403, "MISSING_CAPABILITY"), "memory:write is missing"
        await choose(qtbot, until, window.import_action, path)
        await answer(until, "Continue")
        await until(lambda: not transfers.jobs.is_busy, 20.0)
        await until(lambda: window.is_idle)
        banner = window.error_banner.sentence
        assert banner.startswith("The key may not do this: ")
        assert "memory:write is missing" in banner
        assert "0 items stored" in banner
        assert double.token not in banner
        assert len(double.log) == 3
        await transfers.aclose()


DENIED = json.dumps({"error_code": "MISSING_CAPABILITY", "message": "memory:forget is missing"}).encode()


@asynccontextmanager
async def through(qtbot: QtBot, tmp_path: Path, until: Until) -> AsyncIterator[tuple[Opened, CortexDouble, FaultProxy]]:
    """As `there`, by a proxy that may spoil what is asked."""
    async with CortexDouble() as double, FaultProxy(double.endpoint) as proxy:
        filling.put(double, "direct", ITEMS)
        settings = CortexSettings.of(EngineSettings(endpoint=proxy.endpoint), hosted=False)
        wire = DirectWire(settings, StaticCredential(double.token), flows.QUICK)
        async with opened(qtbot, tmp_path, until, CortexEngine(wire, settings, DIRECT), []) as it:
            yield it, double, proxy


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("code", [401, 403])
async def test_a_key_that_is_refused_in_the_middle_of_a_removal_hides_nothing_of_what_went(
    code: int, action: Action, qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with through(qtbot, tmp_path, until) as (it, double, proxy):
        await it.planned(Target.below(Namespace.parse("team:acme")), action)
        proxy.only = "forget" if action is Action.FORGET else "erasures"
        proxy.plan, proxy.always = [passes], status(code, DENIED)
        await it.done()
        assert it.title.startswith("1 of 2 removed, 1 ")
        assert len(texts(it.window)) == 2, "the window shows what is left"
        (left,) = [scope for scope in double.log.scopes() if "team:acme" in scope and double.held(scope)]
        assert double.held(left)


async def test_a_long_item_of_which_only_a_part_went_is_said_to_be_in_parts(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    turns = [Turn(role=Role.USER, text=f"turn {n}") for n in range(120)]
    async with through(qtbot, tmp_path, until) as (it, double, proxy):
        talk = Conversation(turns=turns, meta=MemoryMeta(namespace=Namespace.parse("team:talk")))
        filling.put(double, "direct", [talk])
        await it.planned(Target.at(Namespace.parse("team:talk")))
        proxy.only, proxy.plan, proxy.always = "forget", [passes], status(403, DENIED)
        await it.done()
        assert len(double.held("app:tinymemory/team:talk/app:conversations")) == 20
        assert it.title == "0 of 1 removed, 1 failed"
        assert it.dialog.outcome is not None
        (why,) = it.dialog.outcome.failed.values()
        assert why.startswith("some of its parts may be gone; ")


async def test_what_went_by_a_call_whose_answer_was_lost_was_not_gone_before(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with through(qtbot, tmp_path, until) as (it, double, proxy):
        await it.planned(Target.below(Namespace.parse("team:acme")))
        proxy.only, proxy.plan = "forget", [reset_unanswered]
        await it.done()
        assert it.title == "2 of 2 items forgotten"
        assert not any("lready gone" in each for each in said(it.dialog))
        assert texts(it.window) == {"ledger"}
        assert sum(len(double.held(scope)) for scope in double.log.scopes()) == 1


async def test_an_erase_that_goes_on_without_us_is_not_said_to_have_done_nothing(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with through(qtbot, tmp_path, until) as (it, double, proxy):
        double.erasure_running_for = 9

        async def polls_are_refused(link: Link) -> None:
            is_poll = "/erasures/" in link.request.path
            if is_poll:
                await link.upstream()
            await (status(401) if is_poll else passes)(link)

        dialog = await it.planned(Target.at(Namespace.parse("team:acme")), Action.ERASE)
        proxy.always = polls_are_refused
        await it.done()
        assert it.title == "0 of 1 removed, 1 without an answer"
        everything = " ".join(said(dialog))
        assert "Whether 1 item was removed is not known." in everything
        assert "Nothing was erased" not in everything
        assert "was not removed" not in everything


# Erasing


async def test_an_erase_that_would_hide_more_is_explained_and_forgetting_is_offered(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    items: list[StoreItem] = [page("readme", BELOW), page("api", f"{BELOW}/project:api")]
    layout = Layout(root="org:42")
    async with there(qtbot, tmp_path, until, items, layout=layout, scope_root="org:42") as (it, double):
        dialog = await it.planned(Target.at(Namespace.parse(BELOW)), Action.ERASE)
        it.answer()
        dialog.confirm.remove_button.click()
        await until(lambda: bool(dialog.banner.sentence))
        assert "would hide" in dialog.banner.sentence
        assert dialog.banner.sentence.endswith("Nothing was erased.")
        assert dialog.outcome is None
        assert double.count("erasures") == 0
        assert not dialog.choice.button(ERASE).isEnabled()
        assert "would hide" in dialog.choice.button(ERASE).toolTip()
        assert not dialog.confirm.remove_button.isEnabled()
        press(dialog.banner, "Forget instead…")
        await it.counted()
        assert dialog.action is Action.FORGET
        assert number_of(dialog.count_label.text()) == "1 item"
        assert not dialog.choice.button(ERASE).isEnabled(), "it is known by now, and not asked again"
        await it.done()
        assert it.title == "1 of 1 item forgotten"
        await until(lambda: it.window.is_idle)
        assert [hit.text for hit in map(it.window.items.model.hit, range(it.window.items.model.rowCount()))] == [
            "# api\n\napi"
        ]


async def test_a_removal_is_planned_with_what_others_made_meanwhile(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with there(qtbot, tmp_path, until) as (it, double):
        filling.put(double, "direct", [learning("boxed", "team:acme/service:nightly")])
        dialog = await it.planned(Target.of_filter(MetaFilter()), Action.ERASE)
        assert number_of(dialog.count_label.text()) == "4 items"
        assert any("team:acme/service:nightly" in each for each in said(dialog))


@pytest.mark.parametrize("is_missing", [False, True])
async def test_the_whole_hosted_memory_is_said_to_be_all_of_the_account(
    is_missing: bool, qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with there(qtbot, tmp_path, until, wire="hosted") as (it, double):
        double.erase_all_missing = is_missing
        dialog = await it.planned(Target.of_filter(MetaFilter()), Action.ERASE)
        assert any("for the account goes, whoever wrote it" in each for each in said(dialog))
        if not is_missing:
            await it.done()
            assert it.title == "3 of 3 items erased"
            assert double.count("erase_all") == 1
            assert it.window.items.model.rowCount() == 0
            return
        it.answer()
        dialog.confirm.remove_button.click()
        await until(lambda: bool(dialog.banner.sentence))
        assert dialog.banner.sentence.startswith("This engine does not offer that")
        assert dialog.outcome is None
        press(dialog.banner, "Forget instead…")
        await it.counted()
        assert not any("whoever wrote it" in each for each in said(dialog))
        await it.done()
        assert it.title == "3 of 3 items forgotten"


async def test_that_an_erase_of_a_node_takes_what_others_keep_there_is_said(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with there(qtbot, tmp_path, until) as (it, double):
        double.put("app:tinymemory/team:acme/app:learnings", "of another program")
        for action in (Action.FORGET, Action.ERASE):
            dialog = await it.planned(Target.at(Namespace.parse("team:acme")), action)
            is_said = any("What other programs keep at the same places goes as well" in each for each in said(dialog))
            assert is_said is (action is Action.ERASE)
            if action is Action.FORGET:
                await it.close()
        await it.done()
        assert not double.held("app:tinymemory/team:acme/app:learnings")


# What stays on this machine, and what cannot be asked


async def test_the_first_store_says_that_folders_stay_here_and_they_do(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text(dump_item(learning("from a file", "team:acme", folder="/home/me", file_path="/home/me/notes.md")))
    async with there(qtbot, tmp_path, until) as (it, double):
        window, transfers = it.window, Transfers(it.window)
        await choose(qtbot, until, window.import_action, path)
        assert "Folders and absolute workspaces stay on this machine" in await answer(until, "Continue")
        await until(lambda: not transfers.jobs.is_busy and window.is_idle, 20.0)
        assert "from a file" in texts(window)
        hit = next(hit for hit in map(window.items.model.hit, range(4)) if hit.text == "from a file")
        assert (hit.meta.file_path, hit.meta.folder) == ("notes.md", None)
        assert all(b"/home/me" not in asked.request.body for asked in double.asked)
        await choose(qtbot, until, window.import_action, path)
        await until(lambda: not transfers.jobs.is_busy and window.is_idle, 20.0)
        assert question() is None, "it was said"
        assert window.items.model.rowCount() == 4, "a replay, not a copy"
        await transfers.aclose()


@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_an_import_that_ends_in_the_middle_of_a_batch_says_so_and_shows_what_went_in(
    is_cancelled: bool, qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text("".join(f"{dump_item(learning(f'number {n}', 'team:acme'))}\n" for n in range(20)))
    async with there(qtbot, tmp_path, until, wire="hosted") as (it, double):
        window, transfers = it.window, Transfers(it.window)
        await choose(qtbot, until, window.import_action, path)
        await answer(until, "Continue")
        double.latency_ms = 20
        await until(lambda: double.count("experience") > 8)
        if is_cancelled:
            transfers.jobs.stop(next(iter(transfers.jobs.running)))
        else:
            double.failures["experience"] = [(503, "UNAVAILABLE")] * 9
        await until(lambda: not transfers.jobs.is_busy)
        (job,) = [job for job in window.job_list.jobs if job.title.startswith("Import")]
        assert job.words.endswith("0 items stored, 0 held already. Some of the next 100 may have gone in as well.")
        double.latency_ms = 0
        await until(lambda: window.is_idle)
        held = sum(len(double.held(scope)) for scope in double.log.scopes())
        assert 8 < held < 23
        assert number_of(count_text(window)) == f"{held} items"
        await transfers.aclose()


async def test_what_it_does_not_offer_is_said_at_the_controls(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with there(qtbot, tmp_path, until) as (it, _):
        box = it.window.search_box.mode_box
        assert [box.itemText(row) for row in range(box.count())] == ["Hybrid"]
        assert box.toolTip().endswith("This engine does not offer: Keyword, Vector")
        it.window.search_box.search("ledger")
        await until(lambda: it.window.is_idle and "found by hybrid" in it.window.items.aside_label.text())
        qtbot.mouseClick(it.window.viewer.segments.button("Why"), Qt.MouseButton.LeftButton)
        await until(lambda: it.window.is_idle)
        why = " ".join(label.text() for label in it.window.viewer.findChildren(QLabel) if label.isVisible())
        assert "does not tell why a hit stands where it does" in why
