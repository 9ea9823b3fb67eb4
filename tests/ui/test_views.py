"""Saved views: named, shown again, renamed, removed and put back; and settings that make no sense do no harm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, QSettings, Qt
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from explorer.contract import Facet, FetchMode, ListOrder, MetaFilter, SortBy
from explorer.engines import EngineSettings, build_engine
from explorer.ui.dialogs.views import NameDialog, ViewsDialog
from explorer.ui.main_window import MainWindow
from explorer.ui.models.facet_rows import Order
from explorer.ui.models.item_model import Column
from explorer.ui.trail import View
from explorer.ui.views import SavedView, SavedViews
from tests.conftest import Until
from tests.fakes import FakeEngine, filled
from tests.ui.test_main_window import ITEMS, opened

NAMES = ["plain", "<b>bold</b> & more", "\u202eright", "名前"]


@pytest.fixture
def settings(tmp_path: Path) -> QSettings:
    return QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)


def named(window: MainWindow) -> list[str]:
    return [view.name for view in window.views.views]


def dialog_of(kind: type) -> NameDialog | ViewsDialog | None:
    return next((one for one in QApplication.topLevelWidgets() if isinstance(one, kind) and one.isVisible()), None)


def arranged(window: MainWindow) -> tuple[list[Facet], set[Facet], set[Facet], Order]:
    """The first facets, those that are pinned, those that are hidden, and in which order the tags stand."""
    model = window.facets.model
    return model.arrangement[:2], set(model.pinned), set(model.hidden), model.section(Facet.TAG).order


@pytest.mark.parametrize("name", NAMES)
def test_a_view_comes_back_as_it_was_saved(settings: QSettings, name: str) -> None:
    owner = QObject()
    view = SavedView(
        name=name,
        filter=MetaFilter(tags_any=["a", "b"], agent_id=""),
        query='"x" - y',
        mode=FetchMode.HYBRID,
        layout="xx",
    )
    views = SavedViews(settings, owner)
    views.open("saved:one")
    views.save(view)
    again = SavedViews(QSettings(settings.fileName(), QSettings.Format.IniFormat), owner)
    again.open("saved:one")
    assert again.views == [view]
    again.open("saved:two")
    assert again.views == [], "each memory has its own"


def test_renaming_removing_and_putting_back(settings: QSettings) -> None:
    owner = QObject()
    views = SavedViews(settings, owner)
    views.open("key")
    for name in ("a", "b", "c"):
        views.save(SavedView(name=name))
    assert not views.rename("a", "b")
    assert not views.rename("a", "  ")
    assert views.rename("a", " first ")
    views.remove("b")
    assert [view.name for view in views.views] == ["first", "c"]
    assert views.removed is not None
    views.save(SavedView(name="b", query="another of that name"))
    views.put_back()
    assert [view.name for view in views.views] == ["first", "b (2)", "c", "b"]
    assert views.removed is None


@pytest.mark.parametrize("held", ["{", "17", '{"name": "x"}', "null", '"text"', "[[]]", "[1, null]"])
def test_settings_that_make_no_sense_do_no_harm(settings: QSettings, held: str) -> None:
    owner = QObject()
    views = SavedViews(settings, owner)
    views.open("key")
    views.save(SavedView(name="x"))
    (key,) = [key for key in settings.allKeys() if key.startswith("views/")]
    settings.setValue(key, held)
    views.open("key")
    assert views.views == []
    views.save(SavedView(name="new"))
    assert [view.name for view in views.views] == ["new"]


def test_a_view_of_a_later_version_is_left_as_it_is(settings: QSettings) -> None:
    owner = QObject()
    views = SavedViews(settings, owner)
    views.open("key")
    views.save(SavedView(name="mine"))
    (key,) = [key for key in settings.allKeys() if key.startswith("views/")]
    later = {"name": "later", "mode": "telepathy"}
    settings.setValue(key, json.dumps([later, {"name": "mine"}]))
    views.open("key")
    views.save(SavedView(name="second"))
    assert later in json.loads(str(settings.value(key)))
    assert [view.name for view in views.views] == ["mine", "second"]


def test_views_move_to_another_key(settings: QSettings) -> None:
    owner = QObject()
    views, other = SavedViews(settings, owner), SavedViews(settings, owner)
    views.open("saved:new")
    views.save(SavedView(name="b", query="of one that is gone"))
    views.open("saved:old")
    other.open("saved:old")
    for name in ("a", "b"):
        views.save(SavedView(name=name))
    for one in (views, other):
        one.move("saved:old", "saved:new")
    other.save(SavedView(name="c"))
    views.open("saved:old")
    assert views.views == []
    views.open("saved:new")
    assert [view.name for view in views.views] == ["a", "b", "c"]
    assert views.views[1].query == ""
    views.rename("b", "mine")
    views.open("saved:new")
    assert [view.query for view in views.views if view.name == "b"] == ["of one that is gone"], "nothing is lost"


async def test_saving_and_showing_one_in_the_window(
    qtbot: QtBot, tmp_path: Path, until: Until, settings: QSettings
) -> None:
    engine = build_engine("sqlite", EngineSettings(path=str(tmp_path / "a.db")), None)
    await engine.store_many(ITEMS)
    async with opened(qtbot, tmp_path, until, engine, settings) as window:
        window.show_engine(engine, "a.db", is_read_only=False, key="file:/a.db")
        window.go(View(MetaFilter(tags_any=["refunds"]), "refund", None))
        window.facets.parentWidget().hide()
        window.items.set_column_shown(Column.AGENT, True)
        window.items.set_order(ListOrder(by=SortBy.NODE))
        as_saved = arranged(window)
        window.facets.model.arrange_facets([Facet.URL, Facet.TAG], [Facet.URL], [Facet.KIND])
        window.facets.model.set_order(Order.NAME, [Facet.TAG])
        assert arranged(window) != as_saved
        as_saved = arranged(window)
        await until(lambda: window.is_idle)
        window.save_view_action.trigger()
        dialog = dialog_of(NameDialog)
        assert isinstance(dialog, NameDialog)
        assert "refunds" in dialog.name, "the conditions are a name to begin with"
        dialog.name_edit.setText("")
        assert not dialog.save_button.isEnabled()
        qtbot.keyClicks(dialog.name_edit, "Refunds & more")
        qtbot.keyClick(dialog.name_edit, Qt.Key.Key_Return)
        assert named(window) == ["Refunds & more"]

        window.go(View())
        window.facets.parentWidget().show()
        window.items.set_column_shown(Column.AGENT, False)
        window.items.set_order(ListOrder())
        window.facets.model.arrange_facets([], [], [])
        window.facets.model.set_order(Order.COUNT, [Facet.TAG])
        assert arranged(window) != as_saved
        await until(lambda: window.is_idle)
        menu = window.views_button.menu()
        assert menu.actions()[0].text() == "Refunds && more"
        menu.actions()[0].trigger()
        await until(lambda: window.is_idle)
        assert window.trail.current == View(MetaFilter(tags_any=["refunds"]), "refund", None)
        assert not window.facets.isVisible(), "the layout is part of it"
        assert not window.items.view.isColumnHidden(Column.AGENT), "and so are the columns"
        assert window.items.order == ListOrder(by=SortBy.NODE), "the order of the rows"
        assert arranged(window) == as_saved, "and how the facets stand"
        assert as_saved[0] == [Facet.URL, Facet.TAG]
        window.back_action.trigger()
        assert window.trail.current == View()

        window.palette_action.trigger()
        qtbot.keyClicks(window.palette_box.edit, "more refunds")
        qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Return)
        await until(lambda: window.is_idle)
        assert window.trail.current.query == "refund"

        window.save_view_action.trigger()
        dialog = dialog_of(NameDialog)
        assert isinstance(dialog, NameDialog)
        dialog.name_edit.setText("Refunds & more")
        assert dialog.save_button.text() == "Replace"
        dialog.reject()


async def test_putting_them_in_order(qtbot: QtBot, tmp_path: Path, until: Until, settings: QSettings) -> None:
    async with opened(qtbot, tmp_path, until, settings=settings) as window:
        window.views.open("key")
        for name in ("a", "b"):
            window.views.save(SavedView(name=name))
        window.views_action.trigger()
        dialog = dialog_of(ViewsDialog)
        assert isinstance(dialog, ViewsDialog)
        dialog.list.setCurrentRow(0)
        dialog.rename_button.click()
        edit = dialog.list.findChild(QLineEdit)
        assert isinstance(edit, QLineEdit)
        edit.setText("first")
        qtbot.keyClick(edit, Qt.Key.Key_Return)
        await until(lambda: named(window) == ["first", "b"])
        await until(lambda: dialog.list.item(0).text() == "first")
        dialog.list.setCurrentRow(1)
        qtbot.keyClick(dialog.list, Qt.Key.Key_Delete)
        await until(lambda: dialog.list.count() == 1)
        assert named(window) == ["first"]
        assert "b" in dialog.put_back_button.text()
        dialog.put_back_button.click()
        await until(lambda: dialog.list.count() == 2)
        assert named(window) == ["first", "b"]
        dialog.close()


async def test_without_settings_they_last_as_long_as_the_window(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        assert not window.save_view_action.isEnabled(), "nothing names this memory"
        window.views.open("key")
        for name in ("a", "b"):
            window.views.save(SavedView(name=name))
        assert named(window) == ["a", "b"]


async def test_a_way_to_search_that_the_engine_does_not_offer_is_replaced_and_said(
    qtbot: QtBot, tmp_path: Path, until: Until, settings: QSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = await filled(ITEMS)
    assert isinstance(engine, FakeEngine)
    hybrid = engine.descriptor().model_copy(update={"fetch_modes": [FetchMode.HYBRID]})
    async with opened(qtbot, tmp_path, until, engine, settings) as window:
        monkeypatch.setattr(engine, "descriptor", lambda: hybrid)
        window.show_engine(engine, "there", is_read_only=False, key="saved:there")
        await until(lambda: window.is_idle)
        for mode in (FetchMode.KEYWORD, FetchMode.HYBRID):
            window.views.save(SavedView(name=str(mode), query="refund", mode=mode))
        window.show_saved(str(FetchMode.KEYWORD))
        await until(lambda: window.is_idle)
        assert "does not offer (Keyword)" in window.error_banner.sentence
        assert window.trail.current.mode is FetchMode.HYBRID
        assert window.items.aside_label.text() == "found by hybrid"
        window.error_banner.clear()
        window.show_saved(str(FetchMode.HYBRID))
        await until(lambda: window.is_idle)
        assert window.error_banner.sentence == ""
