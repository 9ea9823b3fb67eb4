"""The values of an item by the keyboard: each takes the focus and can be copied, whether it filters or not."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from explorer.contract import ActorRef, Learning, LearningKind, ToolCallRef
from explorer.ui.viewer import METADATA
from explorer.ui.viewer_parts.pairs import ValueButton
from tests.conftest import Until
from tests.ui.test_viewer import choose, meta, opened

CTRL = Qt.KeyboardModifier.ControlModifier
ITEM = Learning(
    text="x",
    kind=LearningKind.FACT,
    confidence=0.5,
    meta=meta(
        tool_call=ToolCallRef(name="crm", id="call-7\u202e"),
        tags=["a", "b"],
        derive=False,
        observed_actor=ActorRef(id="user:dana", name="Dana"),
    ),
)


async def test_every_value_of_the_metadata_is_reached_by_tab_and_copied(qtbot: QtBot, until: Until) -> None:
    viewer = await opened(qtbot, until, ITEM)
    await choose(viewer, METADATA, until)
    await until(lambda: viewer.metadata.buttons("fingerprint"))
    viewer.window().activateWindow()
    wanted: list[object] = []
    viewer.filter_wanted.connect(lambda field, value: wanted.append(field))
    values = viewer.metadata.findChildren(ValueButton)
    values = [one for one in values if one.isVisible()]
    keys = {one.objectName() for one in values}
    assert {"value:tool call id", "value:fingerprint", "value:derive", "value:id", "value:tags"} <= keys
    values[0].setFocus(Qt.FocusReason.TabFocusReason)
    reached: list[str] = []
    for _ in values:
        focus = QApplication.focusWidget()
        assert isinstance(focus, ValueButton)
        reached.append(focus.objectName())
        QGuiApplication.clipboard().setText("")
        qtbot.keyClick(focus, Qt.Key.Key_C, CTRL)
        assert QGuiApplication.clipboard().text() == focus.value.text
        assert focus.value.text, focus.objectName()
        qtbot.keyClick(focus, Qt.Key.Key_Tab)
    assert sorted(reached) == sorted(one.objectName() for one in values), "each once"
    assert reached == [one.objectName() for one in sorted(values, key=lambda one: (one.y(), one.x()))]
    assert wanted == [], "to copy is not to filter"
    await viewer.aclose()


async def test_a_value_that_does_not_filter_is_copied_as_it_is_stored(qtbot: QtBot, until: Until) -> None:
    viewer = await opened(qtbot, until, ITEM)
    await choose(viewer, METADATA, until)
    viewer.window().activateWindow()
    wanted: list[object] = []
    viewer.filter_wanted.connect(lambda field, value: wanted.append(field))
    (value,) = viewer.metadata.buttons("tool call id")
    value.setFocus()
    assert "⟦RLO⟧" in value.drawn
    qtbot.keyClick(value, Qt.Key.Key_Space)
    assert wanted == []
    qtbot.keyClick(value, Qt.Key.Key_C, CTRL)
    assert QGuiApplication.clipboard().text() == "call-7\u202e"
    value.customContextMenuRequested.emit(value.rect().center())  # as the key of menus does
    menu = value.findChild(QMenu)
    assert isinstance(menu, QMenu)
    assert [action.text() for action in menu.actions()] == ["Copy value"]
    menu.close()
    await viewer.aclose()
