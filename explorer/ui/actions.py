"""The actions of a window: one rule finds them all, names them where they stand alone, and says why one cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QComboBox, QDialog, QMenu, QWidget

from explorer.i18n import tr
from explorer.text import named
from explorer.ui.shortcuts import VIEW


def allow(action: QAction, why_not: str) -> None:
    """Let an action be, or grey it; the reason is in its tooltip and in the palette."""
    action.setEnabled(not why_not)
    action.setProperty("whyNot", why_not)
    tip = str(action.property("tip") or "")
    if why_not:
        tip = tr("{tip}. {reason}.", tip=tip, reason=why_not) if tip else why_not
    action.setToolTip(tip)


def why_not(action: QAction) -> str:
    """Why an action cannot be now; "" where it can."""
    return "" if action.isEnabled() else str(action.property("whyNot") or tr("Not possible now"))


def is_of_a_row(menu: QMenu) -> bool:
    """Whether a menu was opened on a single row or value, and goes when it closes: what is there belongs to that."""
    return menu.testAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)


def actions_of(window: QWidget) -> dict[QAction, str]:
    """Every action of a window with its title, its own ones first, then those of its menus, then of its panels.

    Menus are brought up to date, as when they open, and what a box lets choose is made an action each. An action that
    stands in a menu is called by the titles of the menus that lead to it, unless its property `wholeTitle` says how.
    Menus of single rows are no part of a window, nor what is marked as a `note`, a line of a menu that does nothing.
    """
    for box in window.findChildren(QComboBox):
        if not isinstance(box.window(), QDialog):
            _make_choices(box)
    roots = [menu for menu in window.findChildren(QMenu) if not isinstance(menu.parent(), QMenu)]
    titles = {action: title for menu in roots if not is_of_a_row(menu) for action, title in _of_menu(menu, "")}
    titles |= {action: _plain(action.text()) for action in window.actions()}
    found: dict[QAction, str] = {}
    for action in [*window.actions(), *titles, *window.findChildren(QAction)]:
        if action.isSeparator() or not action.text() or action.menu() is not None or action.property("note"):
            continue
        if action in titles or not isinstance(action.parent(), QMenu):  # else of a row's menu, or of one of before
            found[action] = str(action.property("wholeTitle") or titles.get(action) or _plain(action.text()))
    return found


def view_action(window: QWidget, name: str, words: str, tip: str) -> QAction:
    """An action of a window on what its view shows; `name` finds it, `words` and `tip` tell it."""
    action = QAction(words, window)
    action.setObjectName(name)
    action.setToolTip(tip)
    action.setStatusTip(tip)
    action.setProperty("area", VIEW)
    action.setProperty("tip", tip)
    window.addAction(action)
    return action


def why_not_all(query: str) -> str:
    """Why nothing can be done with all that a view shows; "" where it can: without a search the filter says it."""
    return tr("A search ranks what the filter admits: remove the search, or select hits") if query else ""


def panel_action(owner: QObject, of: str, words: str) -> QAction:
    """An action of a panel that stands in no menu: `of` what it is comes before its words in the palette."""
    action = QAction(words, owner)
    action.setProperty("wholeTitle", under(of, words))
    return action


def clear(menu: QMenu) -> None:
    """Empty a menu that is to be filled anew, of its groups and of the menus below it too."""
    menu.clear()
    for kind in (QMenu, QActionGroup):
        for old in menu.findChildren(kind, options=Qt.FindChildOption.FindDirectChildrenOnly):
            old.deleteLater()


def _make_choices(box: QComboBox) -> None:
    choices = [*map(box.itemText, range(box.count())), str(box.currentIndex()), str(box.isEnabled())]
    if box.property("choices") == choices:
        return
    box.setProperty("choices", choices)
    for old in box.findChildren(QAction, options=Qt.FindChildOption.FindDirectChildrenOnly):
        old.setParent(None)
        old.deleteLater()
    for row in range(box.count()):
        if box.itemText(row):
            action = panel_action(box, box.accessibleName(), box.itemText(row))
            action.setCheckable(True)
            action.setChecked(row == box.currentIndex())
            allow(action, "" if box.isEnabled() else tr("There is nothing to choose"))
            action.triggered.connect(partial(_choose, box, row, box.itemText(row)))


def _choose(box: QComboBox, row: int, words: str) -> None:
    """Choose what the action names, wherever it stands by now; nothing where it is gone."""
    if box.itemText(row) != words:
        row = box.findText(words, Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchCaseSensitive)
    if row >= 0:
        box.setCurrentIndex(row)
        box.activated.emit(row)


def _of_menu(menu: QMenu, title: str) -> Iterator[tuple[QAction, str]]:
    menu.aboutToShow.emit()
    title = under(title, menu.title())
    for action in menu.actions():
        below = action.menu()
        if isinstance(below, QMenu):
            yield from _of_menu(below, title)
        else:
            yield action, under(title, action.text())


def under(title: str, words: str) -> str:
    """What something of a menu, or of a panel, is called where it stands alone; either may be empty."""
    return named(title, _plain(words)) if title and words else title or _plain(words)


def _plain(words: str) -> str:
    """Without the marks of the keys that open menus."""
    return words.replace("&&", "\0").replace("&", "").replace("\0", "&")
