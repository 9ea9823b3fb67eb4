"""Stored text anywhere in the window: drawn as it is written, never taken for markup, and no address in it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QAbstractListModel, QModelIndex, QPoint, Qt, QUrl
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QDialog,
    QLabel,
    QLineEdit,
    QMenu,
    QMessageBox,
    QPlainTextEdit,
    QTextEdit,
    QToolTip,
    QWidget,
)
from pytestqt.qtbot import QtBot

from explorer.contract import (
    Conversation,
    Document,
    DocumentBody,
    EngineFailure,
    EngineHealth,
    Facet,
    Learning,
    LearningKind,
    MemoryMeta,
    MetaFilter,
    Role,
    SourceKind,
    SourceRef,
    StoreItem,
    Timestamp,
    ToolCallRef,
    Turn,
)
from explorer.engines import ConnectionStore, EngineSettings, KeyStore, SavedConnection, list_engines
from explorer.engines.sqlite import SqliteEngine
from explorer.ui.ask import confirm
from explorer.ui.dialogs.connect import ConnectDialog
from explorer.ui.dialogs.key import KeyDialog
from explorer.ui.dialogs.views import NameDialog, ViewsDialog
from explorer.ui.job_list import State
from explorer.ui.jobs import Jobs
from explorer.ui.main_window import MainWindow
from explorer.ui.models.facet_rows import RowType
from explorer.ui.models.item_model import Column
from explorer.ui.viewer import METADATA, RAW, READ, WHY
from explorer.ui.viewer_parts.link_dialog import LinkDialog
from tests.conftest import Until
from tests.fakes import FakeEngine, filled, learning
from tests.ui.test_main_window import opened, texts


def hostile(port: int) -> str:
    url = f"http://127.0.0.1:{port}/p.png"
    return f'<style>a{{color:red}}</style><a href="{url}">Erase done</a><img src="{url}"><b>a<b'


def items_of(text: str) -> list[StoreItem]:
    """One of each kind, with `text` in every field that takes any text."""
    meta = MemoryMeta(
        workspace=text,
        folder=text,
        file_path=text,
        language=text,
        repo=text,
        commit=text,
        url=text,
        thread_id=text,
        agent_id=text,
        tool_call=ToolCallRef(name=text, id=text),
        source=SourceRef(kind=SourceKind.FILE, id=text),
        tags=[text, "b"],
        observed_at=Timestamp.parse("2026-06-30T09:30:00Z"),
    )
    return [
        Learning(text=text, kind=LearningKind.FACT, confidence=0.5, evidence=text, meta=meta),
        Document(title=text, body=DocumentBody(text=f"{text}\n\n![x]({text})"), mime="text/markdown", meta=meta),
        Conversation(turns=[Turn(role=Role.USER, text=text), Turn(role=Role.TOOL, text=text)], meta=meta),
    ]


def cells(model: QAbstractItemModel, parent: QModelIndex | None = None) -> Iterator[QModelIndex]:
    above = QModelIndex() if parent is None else parent
    for row in range(model.rowCount(above)):
        columns = 1 if isinstance(model, QAbstractListModel) else model.columnCount(above)  # there it is private
        for column in range(columns):
            index = model.index(row, column, above)
            yield index
            if column == 0:
                yield from cells(model, index)


def tooltips() -> Iterator[tuple[Any, str]]:
    """Every tooltip of what is on screen, with whose it is."""
    for window in QApplication.topLevelWidgets():
        if not window.isVisible():
            continue
        for widget in [window, *window.findChildren(QWidget)]:
            yield widget, widget.toolTip()
            if isinstance(widget, QAbstractItemView) and widget.model() is not None:
                for index in cells(widget.model()):
                    yield widget, index.data(Qt.ItemDataRole.ToolTipRole) or ""
        for menu in window.findChildren(QMenu):
            if menu.toolTipsVisible():
                yield from ((action, action.toolTip()) for action in menu.actions())


async def look_at_everything(until: Until) -> int:
    """Draw all that is on screen, its tooltips too; how often an address of a stored text was in it, as text."""
    seen = 0
    for window in QApplication.topLevelWidgets():
        if window.isVisible():
            assert not window.grab().isNull()
            for label in window.findChildren(QLabel):
                if "<" in label.text() and not label.inherits("QTipLabel"):
                    assert label.textFormat() == Qt.TextFormat.PlainText, (label.objectName(), label.text())
                    seen += 1
    drawn: set[str] = set()
    for owner, said in list(tooltips()):
        assert not any(tag in said for tag in ("<a", "<img", "<style", "<b>")), (owner, said)
        if "127.0.0.1" in said and said not in drawn and isinstance(owner, QWidget):
            drawn.add(said)
            QToolTip.showText(owner.mapToGlobal(QPoint(1, 1)), said, owner)
            await until(lambda: any(each.inherits("QTipLabel") for each in QApplication.topLevelWidgets()))
            for each in QApplication.topLevelWidgets():
                if each.inherits("QTipLabel"):
                    assert not each.grab().isNull()
            QToolTip.hideText()
    return seen + len(drawn)


async def filtered(window: MainWindow, until: Until, filter: MetaFilter) -> None:
    window.go_to_filter(filter)
    await until(lambda: window.is_idle)


async def test_what_looks_like_markup_is_text_in_every_part_of_the_window(
    qtbot: QtBot, tmp_path: Path, until: Until, listener: Any
) -> None:
    text = hostile(listener.port)
    engine = await filled(items_of(text))
    assert isinstance(engine, FakeEngine)
    engine.state = EngineHealth.degraded(text)
    async with opened(qtbot, tmp_path, until, engine) as window:
        window.show_engine(engine, text, is_read_only=False)
        await until(lambda: window.is_idle and window.items.model.rowCount() == 3)
        for facet in Facet:
            window.facets.reveal(facet)
        await until(lambda: window.is_idle)
        assert await look_at_everything(until) > 5

        for row in range(3):
            window.items.view.selectRow(row)
            await until(lambda: window.is_idle)
            for page in (READ, RAW, METADATA, WHY):
                window.viewer.segments.button(page).click()
                await until(lambda: window.is_idle)
                assert await look_at_everything(until)

        await filtered(
            window, until, MetaFilter(tags_any=[text, "b"], agent_id=text, folder=text, thread_id=text, source_id=text)
        )
        window.search_box.search_edit.setText(text)
        qtbot.keyClick(window.search_box.search_edit, Qt.Key.Key_Return)
        await until(lambda: window.is_idle and window.trail.current.query)
        assert await look_at_everything(until)
        window.search_box.fill_recent()
        assert await look_at_everything(until)
        await filtered(window, until, MetaFilter(tags_any=["none"], agent_id=text))
        assert await look_at_everything(until)


async def test_what_looks_like_markup_is_text_in_questions_and_news(
    qtbot: QtBot, tmp_path: Path, until: Until, listener: Any
) -> None:
    text = hostile(listener.port)
    engine = await filled(items_of(text))
    assert isinstance(engine, FakeEngine)
    async with opened(qtbot, tmp_path, until, engine) as window:
        window.show_exception(EngineFailure(text))
        engine.fail("list_preview", EngineFailure(text))
        engine.fail("explore_many", EngineFailure(text))
        engine.fail("explore", EngineFailure(text))
        engine.fail("namespaces", EngineFailure(text))
        window.refresh()
        await until(lambda: window.is_idle)
        assert await look_at_everything(until) >= 3
        job = window.job_list.begin(text)
        window.job_list.step(job, text)
        window.show_jobs()
        assert await look_at_everything(until)
        engine.mend()
        window.refresh()
        await until(lambda: window.is_idle)

        window.activateWindow()
        window.palette_action.trigger()
        window.palette_box.edit.setText("Erase")
        await until(lambda: not window.palette_box.jobs.is_busy)
        assert await look_at_everything(until)
        window.palette_box.hide()

        window.views.save(window._saved_view(text))
        dialog = ViewsDialog(window.views, window)
        dialog.open()
        assert await look_at_everything(until)
        dialog.close()

        jobs = Jobs(window)
        answers: list[bool] = []
        jobs.start("ask", confirm(window, f"Remove {text}?", "This cannot be undone.", "Remove"), answers.append)
        await until(lambda: window.findChild(QMessageBox) is not None)
        box = window.findChild(QMessageBox)
        assert isinstance(box, QMessageBox)
        assert box.text() == f"Remove {text}?"
        assert box.informativeText() == "This cannot be undone.", "it stands apart from what is stored"
        assert [label.text() for label in box.findChildren(QLabel)].count("This cannot be undone.") == 1
        assert await look_at_everything(until)
        box.reject()
        await until(lambda: answers == [False])
        await jobs.aclose()
        window.job_list.end(job, State.DONE, text)
    assert not listener()


async def test_controls_are_seen_and_found_and_no_drawn_text_is_an_identity(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    """Two items that are drawn alike, and whose tags are, stay two."""
    nul, drawn_alike = "before\0after \x1f\x07\x1b[31m", "before⟦NUL⟧after ⟦US⟧⟦BEL⟧⟦ESC⟧[31m"
    engine = SqliteEngine(tmp_path / "a.db", embedder=None)
    await engine.store_many([learning(nul, tags=["t\0ag"]), learning(drawn_alike, tags=["t⟦NUL⟧ag"]), learning("x")])
    async with opened(qtbot, tmp_path, until, engine) as window:
        model = window.items.model
        window.items.set_column_shown(Column.LENGTH, True)
        lengths = {}
        for row in range(3):
            window.items.view.selectRow(row)
            await until(lambda: window.is_idle)
            hit = model.hit(row)
            assert window.viewer.full_text() == hit.text
            assert window.viewer.hit is not None
            assert window.viewer.hit.id == hit.id
            lengths[hit.text] = model.index(row, Column.LENGTH).data()
            if hit.text == nul:
                assert model.index(row, Column.TEXT).data() == drawn_alike
        assert lengths == {nul: str(len(nul)), drawn_alike: str(len(drawn_alike)), "x": "1"}

        for tag, text in (("t\0ag", nul), ("t⟦NUL⟧ag", drawn_alike)):
            index = window.facets.model.row_index(Facet.TAG, RowType.VALUE, tag)
            window.facets.tree.setCurrentIndex(index)
            qtbot.keyClick(window.facets.tree, Qt.Key.Key_Return)
            await until(lambda: window.is_idle)
            assert texts(window) == {text}
            window.items.view.selectRow(0)
            qtbot.keyClick(window.items.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
            await until(lambda: window.is_idle)
            assert QGuiApplication.clipboard().text() == text
            window.go_to_filter(MetaFilter())
            await until(lambda: window.is_idle)

        edit = window.search_box.search_edit
        qtbot.keyClicks(edit, "after")
        await until(lambda: window.is_idle and window.trail.current.query == "after")
        assert texts(window) == {nul, drawn_alike}


async def test_text_of_either_direction_stays_within_its_own_part(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    arabic, hebrew, override = "المسار /home/u/x", "שלום", "a\u202egnp.exe"
    engine = await filled([learning(arabic, tags=[hebrew, override]), learning("two", tags=[hebrew])])
    async with opened(qtbot, tmp_path, until, engine) as window:
        await filtered(window, until, MetaFilter(tags_any=[hebrew, override], agent_id=hebrew))
        agent, tags = window.chip_bar.chips()
        assert agent.dead
        assert tags.drawn == f"\u2068{hebrew}\u2069 or \u2068a⟦RLO⟧gnp.exe\u2069"
        for index in cells(window.facets.model):
            said = f"{index.data()} {index.data(Qt.ItemDataRole.ToolTipRole)}"
            assert "\u202e" not in said
        window.show_exception(EngineFailure(f"{override} {hebrew}"))
        assert "\u202e" not in window.error_banner.sentence
        await filtered(window, until, MetaFilter())
        window.items.select_id(learning(arabic, tags=[hebrew, override]).fingerprint())
        await until(lambda: window.is_idle)
        assert window.viewer.full_text() == arabic
        assert not window.grab().isNull()


async def test_what_looks_like_markup_is_text_in_the_dialogs(
    qtbot: QtBot, tmp_path: Path, until: Until, listener: Any
) -> None:
    text = hostile(listener.port)
    url = f"http://127.0.0.1:{listener.port}/p.png"
    saved = SavedConnection(name=text, engine="sqlite", settings=EngineSettings(path=f"/{text}"))
    store = ConnectionStore(tmp_path / "connections.json")
    async with opened(qtbot, tmp_path, until) as window:
        connect = ConnectDialog(store, KeyStore(), [saved], list_engines(), text, window)
        dialogs: list[QDialog] = [
            connect,
            KeyDialog(text, text, window),
            NameDialog(window.views, text, window),
            LinkDialog(QUrl(url), window),
        ]
        for dialog in dialogs:
            dialog.open()
            await until(dialog.isVisible)
            await look_at_everything(until)
            held = [label.text() for label in dialog.findChildren(QLabel)]
            held += [edit.text() for edit in dialog.findChildren(QLineEdit)]
            held += [edit.toPlainText() for edit in dialog.findChildren(QPlainTextEdit)]
            held += [page.toPlainText() for page in dialog.findChildren(QTextEdit)]
            assert any("127.0.0.1" in each for each in held), dialog
            dialog.close()
        await connect.jobs.aclose()
    assert not listener()
