"""Every control has a name for who hears the window: those that come and go too."""

from __future__ import annotations

import asyncio
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractScrollArea,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QDialogButtonBox,
    QFrame,
    QHeaderView,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QProgressBar,
    QScrollBar,
    QTabBar,
    QTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from explorer.contract import EngineHealth, Facet, MetaFilter, Timestamp, Unauthorized
from explorer.ui.dialogs.connect import ConnectDialog
from explorer.ui.job_list import State
from explorer.ui.main_window import MainWindow
from explorer.ui.viewer import METADATA, RAW, READ, WHY
from tests.conftest import Until
from tests.fakes import FakeEngine, filled, learning
from tests.ui.looks import dialogs_of
from tests.ui.test_main_window import ITEMS, opened

CONTROLS = (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QProgressBar,
    QTextEdit,
)
PARTS = QScrollBar | QHeaderView | QMenu  # of a control that has a name


def spoken(widget: QWidget) -> str:
    interface = QAccessible.queryAccessibleInterface(widget)
    return interface.text(QAccessible.Text.Name).strip() if interface is not None else ""


def controls(top: QWidget) -> list[QWidget]:
    """Every control in `top`, seen or hidden; without what Qt makes for itself."""
    return [
        widget
        for widget in top.findChildren(QWidget)
        if (isinstance(widget, CONTROLS) or _takes_keys(widget))
        and not isinstance(widget, PARTS)
        and not _is_qts_own(widget)
    ]


def _takes_keys(widget: QWidget) -> bool:
    """Whether the Tab key comes to a widget of our own drawing."""
    is_stop = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
    return is_stop and not isinstance(widget, QAbstractScrollArea)


def _is_qts_own(widget: QWidget) -> bool:
    if isinstance(widget, QTabBar) and not widget.count():  # of docks that lie on each other while none is seen
        return True
    above: QWidget | None = widget
    while above is not None:
        holder = above.parentWidget()
        is_inner = above.objectName().startswith("qt_") and not isinstance(above, QDialogButtonBox)
        if is_inner or (isinstance(above, QFrame) and isinstance(holder, QComboBox)):
            return True
        above = holder
    return False


class Heard:
    """What was found to have a name while states came and went."""

    def __init__(self) -> None:
        self.named: set[str] = set()
        self.unnamed: set[str] = set()

    def listen(self, top: QWidget) -> None:
        for widget in controls(top):
            id = f"{type(widget).__name__} {widget.objectName()} in {type(widget.parent()).__name__}"
            if spoken(widget):
                self.named.add(id)
            elif widget.isVisible():
                self.unnamed.add(id)

    def seen_nowhere(self, top: QWidget) -> set[str]:
        """The controls in `top` that had a name at no time."""
        ids = {f"{type(one).__name__} {one.objectName()} in {type(one.parent()).__name__}" for one in controls(top)}
        return ids - self.named


async def states(window: MainWindow, engine: FakeEngine, until: Until, heard: Heard) -> None:
    """Have every control of the window come up once."""
    for facet in Facet:
        window.facets.reveal(facet)
    await until(lambda: window.is_idle)
    heard.listen(window)
    for page in (READ, RAW, METADATA, WHY):
        window.viewer.segments.button(page).click()
        await until(lambda: window.is_idle)
        heard.listen(window)
    window.viewer.segments.button(READ).click()
    window.viewer.find_action.trigger()
    window.items.show_news("3 new, 1 gone")
    window.show_error("It failed", "details", lambda: None)
    window.items.banner.show_error("It failed", "details", lambda: None)
    window.facets.banner.show_error("It failed", "details", lambda: None)
    window.namespaces.banner.show_error("It failed", "details", lambda: None)
    heard.listen(window)
    window.items.show_health(EngineHealth.degraded("slow"))
    window.go_to_filter(MetaFilter(tags_any=["refunds"]))
    await until(lambda: window.is_idle)
    heard.listen(window)
    window.palette_action.trigger()
    window.palette_box.edit.setText("open")
    heard.listen(window)
    window.palette_box.hide()

    gate = engine.hold("list_preview")
    window.refresh()
    window.items.model.clear()
    window.items.refresh()
    heard.listen(window)
    gate.open()
    await until(lambda: window.is_idle)
    names = ("agent_id", "folder", "file_path", "thread_id", "language", "repo", "workspace", "url", "source_id")
    long = {name: f"a long name of a {name} that nothing has" for name in names}
    window.resize(900, 700)
    window.go_to_filter(MetaFilter(tags_any=["none at all"], **long))
    await until(lambda: window.is_idle)
    heard.listen(window)
    engine.fail("list_preview", Unauthorized("no"))
    window.refresh()
    await until(lambda: window.is_idle)
    heard.listen(window)


async def test_every_control_that_comes_or_goes_has_a_name(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    years = [1969, *(2026 for _ in range(38)), 9999]
    engine = await filled(
        [
            *ITEMS,
            *(
                learning(f"item {at}", tags=[f"t{at}"], observed_at=Timestamp.parse(f"{year}-06-30T00:00:00Z"))
                for at, year in enumerate(years)
            ),
        ]
    )
    assert isinstance(engine, FakeEngine)
    heard = Heard()
    async with opened(qtbot, tmp_path, until, engine) as window:
        await states(window, engine, until, heard)
        jobs = window.job_list
        jobs.end(jobs.begin("An import"), State.FAILED, "It failed.", "why", lambda: None)
        running = jobs.begin("An export", lambda: None)
        jobs.step(running, "half", 0.5)
        window.show_jobs()
        heard.listen(window)
        jobs.end(running, State.DONE, "Done.")
        assert heard.unnamed == set()
        assert heard.seen_nowhere(window) == set()


async def test_every_control_of_every_dialog_has_a_name(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        for dialog in dialogs_of(window, tmp_path):
            dialog.show()
            await asyncio.sleep(0)
            heard = Heard()
            heard.listen(dialog)
            assert heard.unnamed == set(), type(dialog)
            assert heard.seen_nowhere(dialog) == set(), type(dialog)
            assert controls(dialog), type(dialog)
            assert spoken(dialog) or dialog.windowTitle(), type(dialog)
            dialog.close()
            if isinstance(dialog, ConnectDialog):
                await dialog.jobs.aclose()
