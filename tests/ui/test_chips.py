"""Chips driven as a person drives them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from explorer.ui import chips
from explorer.ui.chips import EMPTY_TEXT, Chip, ChipBar
from explorer.ui.theme import Theme

NAMESPACE = Chip("namespace", "namespace at", "team:acme and below")
TAG = Chip("tag", "tag is", "refunds or billing")
TIME = Chip("observed", "observed from", "1 Jan to 30 Jun 2026")
Make = Callable[..., ChipBar]


@pytest.fixture
def make(qtbot: QtBot) -> Make:
    """A bar in a shown window, with fields before and after it."""

    windows: list[QWidget] = []  # qtbot holds them weakly

    def build(*chips: Chip, width: int = 1000) -> ChipBar:
        window = QWidget()
        windows.append(window)
        qtbot.addWidget(window)
        column = QVBoxLayout(window)
        column.setContentsMargins(0, 0, 0, 0)
        before, bar, after = QLineEdit(), ChipBar(), QLineEdit()
        before.setObjectName("before")
        after.setObjectName("after")
        for part in (before, bar, after):
            column.addWidget(part)
        column.addStretch()
        bar.show_chips(list(chips))
        window.resize(width, 300)
        window.show()
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)
        before.setFocus()
        return bar

    return build


def chip(bar: ChipBar, field: str) -> QAbstractButton:
    found = bar.findChild(QAbstractButton, f"chip:{field}")
    assert found is not None
    return found


def focused() -> str:
    widget = QApplication.focusWidget()
    return widget.objectName() if widget is not None else ""


def press(qtbot: QtBot, key: Qt.Key) -> None:
    widget = QApplication.focusWidget()
    assert widget is not None
    qtbot.keyClick(widget, key)


def test_one_chip_per_condition_in_order(make: Make) -> None:
    bar = make(NAMESPACE, TAG, TIME)
    lefts = [chip(bar, field).x() for field in ("namespace", "tag", "observed")]
    assert lefts == sorted(lefts)
    assert chip(bar, "tag").text() == "tag is refunds or billing"
    assert bar.objectName() == "chipBar"
    assert bar.findChild(QPushButton, "clearFilterButton").isVisible()
    assert not bar.findChild(QLabel, "emptyFilterLabel").isVisible()


def test_without_a_filter_it_says_so(make: Make) -> None:
    bar = make()
    label = bar.findChild(QLabel, "emptyFilterLabel")
    assert label.isVisible()
    assert label.text() == EMPTY_TEXT
    assert not bar.findChild(QPushButton, "clearFilterButton").isVisible()
    bar.empty_text = "no filter"
    assert label.text() == "no filter"


def test_the_cross_removes_and_the_chip_opens(make: Make, qtbot: QtBot) -> None:
    bar = make(NAMESPACE, TAG)
    cross = chip(bar, "tag").findChild(QAbstractButton, "removeChipButton")
    with qtbot.waitSignal(bar.removed) as removed, qtbot.assertNotEmitted(bar.activated):
        qtbot.mouseClick(cross, Qt.MouseButton.LeftButton)
    assert removed.args == ["tag"]
    with qtbot.waitSignal(bar.activated) as activated:
        qtbot.mouseClick(chip(bar, "namespace"), Qt.MouseButton.LeftButton, pos=QPoint(12, 8))
    assert activated.args == ["namespace"]
    with qtbot.waitSignal(bar.clear_wanted):
        qtbot.mouseClick(bar.findChild(QPushButton, "clearFilterButton"), Qt.MouseButton.LeftButton)


def test_the_row_of_chips_is_one_stop(make: Make, qtbot: QtBot) -> None:
    make(NAMESPACE, TAG, TIME)
    stops = []
    for _ in range(3):
        press(qtbot, Qt.Key.Key_Tab)
        stops.append(focused())
    assert stops == ["chip:namespace", "clearFilterButton", "after"]


def test_arrows_walk_and_do_not_leave(make: Make, qtbot: QtBot) -> None:
    bar = make(NAMESPACE, TAG, TIME)
    chip(bar, "namespace").setFocus(Qt.FocusReason.TabFocusReason)
    seen = []
    for key in (
        Qt.Key.Key_Left,
        Qt.Key.Key_Right,
        Qt.Key.Key_Right,
        Qt.Key.Key_Right,
        Qt.Key.Key_Right,
        Qt.Key.Key_Home,
    ):
        press(qtbot, key)
        seen.append(focused().removeprefix("chip:"))
    assert seen == ["namespace", "tag", "observed", "clearFilterButton", "clearFilterButton", "namespace"]


def test_the_walk_is_mirrored(make: Make, qtbot: QtBot) -> None:
    bar = make(NAMESPACE, TAG)
    bar.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    assert chip(bar, "namespace").x() > chip(bar, "tag").x()
    chip(bar, "namespace").setFocus(Qt.FocusReason.TabFocusReason)
    press(qtbot, Qt.Key.Key_Left)
    assert focused() == "chip:tag"


@pytest.mark.parametrize("key", [Qt.Key.Key_Delete, Qt.Key.Key_Backspace])
def test_delete_removes_and_the_focus_goes_to_the_neighbour(make: Make, qtbot: QtBot, key: Qt.Key) -> None:
    bar = make(NAMESPACE, TAG, TIME)
    bar.removed.connect(lambda field: bar.show_chips([one for one in bar.chips() if one.field != field]))
    chip(bar, "tag").setFocus(Qt.FocusReason.TabFocusReason)
    press(qtbot, key)
    assert [one.field for one in bar.chips()] == ["namespace", "observed"]
    assert focused() == "chip:observed"
    press(qtbot, key)
    assert focused() == "chip:namespace"
    press(qtbot, key)
    assert bar.chips() == []
    assert bar.findChild(QLabel, "emptyFilterLabel").isVisible()


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space])
def test_enter_opens(make: Make, qtbot: QtBot, key: Qt.Key) -> None:
    bar = make(NAMESPACE, TAG)
    chip(bar, "tag").setFocus(Qt.FocusReason.TabFocusReason)
    with qtbot.waitSignal(bar.activated) as activated:
        press(qtbot, key)
    assert activated.args == ["tag"]


def test_new_values_keep_the_focus_where_it_is(make: Make) -> None:
    bar = make(NAMESPACE, TAG)
    tag = chip(bar, "tag")
    tag.setFocus(Qt.FocusReason.TabFocusReason)
    bar.show_chips([NAMESPACE, Chip("tag", "tag is", "refunds"), TIME])
    assert chip(bar, "tag") is tag
    assert tag.hasFocus()
    assert tag.text() == "tag is refunds"


def test_a_dead_value_is_grey_with_a_zero_and_the_others_stay(make: Make, themed: Theme) -> None:
    bar = make(NAMESPACE, Chip("tag", "tag is", "refunds", dead=True))
    assert chip(bar, "tag").text() == "tag is refunds (0)"
    assert chip(bar, "namespace").text() == "namespace at team:acme and below"
    image = chip(bar, "tag").grab().toImage()
    colors = {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}
    assert themed.color("text").name() not in colors


HOSTILE = '<style>a{color:red}</style><a href="http://x.test">Erase done</a>'


def test_markup_is_drawn_as_it_is_written(make: Make) -> None:
    bar = make(Chip("tag", "tag is", HOSTILE))
    assert chip(bar, "tag").text() == f"tag is {HOSTILE}"
    assert "<a href" not in chip(bar, "tag").toolTip()
    assert "&lt;a href" in chip(bar, "tag").toolTip()


def test_unseen_characters_are_named_and_the_value_is_isolated(make: Make) -> None:
    bar = make(Chip("tag", "tag is", "a\u202eb\0"))
    assert chip(bar, "tag").text() == "tag is a⟦RLO⟧b⟦NUL⟧"
    assert "\u2068a⟦RLO⟧b⟦NUL⟧\u2069" in chip(bar, "tag").toolTip()
    assert "\u202e" not in chip(bar, "tag").toolTip()


def test_a_number_after_a_value_stays_behind_it(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    real = chips.draw_text

    def note(painter: object, rect: object, text: str, *more: object, **named: object) -> int:
        drawn.append(text)
        return real(painter, rect, text, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(chips, "draw_text", note)
    hebrew = "\u05e9\u05dc\u05d5\u05dd"
    two = f"\u2068abc\u2069 or \u2068{hebrew}\u2069 (0)"
    bar = make(
        Chip("agent_id", "agent is", hebrew, dead=True), Chip("tag", "tag is", f"abc or {hebrew} (0)", drawn=two)
    )
    assert not bar.grab().isNull()
    assert f"\u2068{hebrew}\u2069 (0)" in drawn, "else Hebrew would take the number to its other side"
    assert two in drawn
    assert chip(bar, "tag").accessibleName() == f"Filter: tag is abc or {hebrew} (0)"
    assert two in chip(bar, "tag").toolTip()


def test_an_ampersand_is_no_shortcut(make: Make) -> None:
    bar = make(Chip("tag", "tag is", "R&D"))
    assert chip(bar, "tag").text() == "tag is R&&D"
    assert chip(bar, "tag").accessibleName() == "Filter: tag is R&D"


def test_a_long_value_is_held_to_its_width(make: Make, themed: Theme) -> None:
    bar = make(Chip("folder", "folder under", "/srv/" + "x" * 500), Chip("tag", "tag is", "a"))
    assert chip(bar, "folder").width() < 260 * themed.size_px("body") / 13 + 200
    assert chip(bar, "tag").y() == chip(bar, "folder").y()


def test_chips_wrap_then_hide_behind_a_number(make: Make, themed: Theme, qtbot: QtBot) -> None:
    chips = [Chip(f"f{at}", "field is", f"value number {at}") for at in range(12)]
    bar = make(*chips, width=640)
    more = bar.findChild(QPushButton, "moreChipsButton")
    outside = [one for one in chips if chip(bar, one.field).isVisible()]
    assert 0 < len(outside) < 12
    assert more.isVisible()
    assert more.text() == f"+{12 - len(outside)}"
    assert len({chip(bar, one.field).y() for one in outside}) == 2
    assert bar.height() == themed.row_height("chipBar") + themed.row_height("chip") + 4
    for part in [chip(bar, one.field) for one in outside] + [more, bar.findChild(QPushButton, "clearFilterButton")]:
        assert bar.rect().contains(part.geometry())

    qtbot.mouseClick(more, Qt.MouseButton.LeftButton)
    last = chip(bar, "f11")
    assert last.isVisible()
    assert focused() == f"chip:f{len(outside)}"
    tops = [chip(bar, one.field).y() for one in chips[len(outside) :]]
    assert tops == sorted(tops)
    press(qtbot, Qt.Key.Key_Down)
    assert focused() == f"chip:f{len(outside) + 1}"
    with qtbot.waitSignal(bar.removed) as removed:
        press(qtbot, Qt.Key.Key_Delete)
    assert removed.args == [f"f{len(outside) + 1}"]
    press(qtbot, Qt.Key.Key_Escape)
    assert not last.isVisible()

    bar.window().resize(3000, 300)
    qtbot.waitUntil(lambda: not more.isVisible())
    assert all(chip(bar, one.field).isVisible() for one in chips)
    assert bar.height() == themed.row_height("chipBar")


@pytest.mark.parametrize("width", [160, 220, 300, 420, 700, 1200])
def test_nothing_overlaps_at_any_width(make: Make, qtbot: QtBot, width: int) -> None:
    bar = make(NAMESPACE, TAG, TIME, Chip("folder", "folder under", "/srv/" + "x" * 500), width=width)
    bar.add_trailing(QPushButton("Save view"))
    parts = [part for part in bar.findChildren(QWidget) if part.parentWidget() is bar and part.isVisible()]
    for at, one in enumerate(parts):
        for two in parts[at + 1 :]:
            if width >= 300:  # under that the bar is narrower than one chip and its button
                assert not one.geometry().intersects(two.geometry()), (one, two)


def test_it_tells_assistive_tools(make: Make) -> None:
    bar = make(NAMESPACE, Chip("tag", "tag is", "refunds", dead=True))
    found = QAccessible.queryAccessibleInterface(chip(bar, "tag"))
    assert found.text(QAccessible.Text.Name) == "Filter: tag is refunds (0)"
    assert found.role() == QAccessible.Role.Button
    cross = chip(bar, "tag").findChild(QAbstractButton, "removeChipButton")
    assert cross.accessibleName() == "Remove filter: tag is refunds (0)"


def test_the_same_bar_survives_a_thousand_updates(make: Make, qapp: QApplication) -> None:
    bar = make()
    for at in range(300):
        bar.show_chips([Chip(f"f{at % 7}", "field is", str(at)), TAG][: at % 3])
    bar.show_chips([TAG])
    QApplication.sendPostedEvents()
    assert len(bar.findChildren(QAbstractButton, "chip:tag")) == 1
