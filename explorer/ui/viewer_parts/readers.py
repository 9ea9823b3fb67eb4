"""Widgets that show stored text: they load nothing, open nothing and run nothing."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QByteArray, QEvent, QSize, Qt, QUrl, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFontMetricsF,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
    QTextCursor,
    QTextOption,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QMenu, QPlainTextEdit, QSizePolicy, QTextBrowser, QWidget

from explorer.i18n import tr
from explorer.text import number
from explorer.ui.theme import theme
from explorer.ui.typed import selected
from explorer.ui.viewer_parts.ink import UNWRAPPED_LINE

MARGIN = 16
TAB_CHARS = 4
SPILL_PX = 8  # to the side, which hides nothing: a full-width table comes out a pixel too wide at some widths


class Reader(QTextBrowser):
    """Formatted text, written by cursor only."""

    link_wanted = Signal(QUrl)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.horizontalScrollBar().rangeChanged.connect(self._on_horizontal_range_changed)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.document().setDocumentMargin(MARGIN)
        self.copy_id: Callable[[], None] | None = None  # for the menu
        self.anchorClicked.connect(self.link_wanted)

    def _on_horizontal_range_changed(self, least: int, most: int) -> None:
        policy = Qt.ScrollBarPolicy
        self.setHorizontalScrollBarPolicy(
            policy.ScrollBarAsNeeded if most > SPILL_PX else policy.ScrollBarAlwaysOff,
        )

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        _menu(self, self.copy_id).popup(event.globalPos())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            copy_plain(self)
        else:
            super().keyPressEvent(event)

    def loadResource(self, type: int, name: QUrl | str) -> object:
        """Nothing, whatever is asked for: no address in a stored text is ever looked up.

        It must be an empty something: for None the document goes on to read local files by itself.
        """
        return QByteArray()

    def start(self, top_px: int = MARGIN) -> None:
        """Empty, with `top_px` above the text."""
        self.clear()
        self.document().setDocumentMargin(MARGIN)  # `clear` may bring a new document's own
        frame = self.document().rootFrame()
        form = frame.frameFormat()
        form.setTopMargin(top_px)
        frame.setFrameFormat(form)
        self.setTabStopDistance(_tab_px("body"))

    def go_to_start(self) -> None:
        """Scroll up; the widget's own cursor has moved along with what was written at it."""
        self.moveCursor(QTextCursor.MoveOperation.Start)

    def go_to(self, position: int, below_px: int = MARGIN) -> None:
        """Scroll so that the line at `position` is `below_px` from the top, or as near to that as the end allows."""
        cursor = QTextCursor(self.document())
        cursor.setPosition(position)
        self.setTextCursor(cursor)
        bar = self.verticalScrollBar()
        bar.setValue(bar.value() + self.cursorRect(cursor).top() - below_px)

    def reveal(self, position: int) -> None:
        """Scroll so that `position` is seen, with some of what stands before it; not if it is seen already."""
        cursor = QTextCursor(self.document())
        cursor.setPosition(position)
        if not self.viewport().rect().contains(self.cursorRect(cursor)):
            self.go_to(position, self.viewport().height() // 3)


class GrowingReader(Reader):
    """As high as its text, for a page that scrolls as a whole."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.horizontalScrollBar().rangeChanged.disconnect(self._on_horizontal_range_changed)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)  # the page scrolls; Tab goes on to what can be pressed
        self.document().documentLayout().documentSizeChanged.connect(self._fit)

    def start(self, top_px: int = 0) -> None:
        super().start(top_px)
        self.document().setDocumentMargin(0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def sizeHint(self) -> QSize:
        return QSize(240, self._height())

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self._height())

    def _height(self) -> int:
        return -int(-self.document().size().height() // 1)

    def _fit(self, *_: object) -> None:
        self.setFixedHeight(self._height())


class PlainReader(QPlainTextEdit):
    """Plain text of any length: only what is seen is laid out."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUndoRedoEnabled(False)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.document().setDocumentMargin(MARGIN)
        self.copy_id: Callable[[], None] | None = None  # for the menu

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        _menu(self, self.copy_id).popup(event.globalPos())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            copy_plain(self)
        else:
            super().keyPressEvent(event)

    def start(self, role: str, *, wraps: bool = True) -> None:
        """Empty, at the top, for text in a font of the theme."""
        self.clear()
        mode = QPlainTextEdit.LineWrapMode.WidgetWidth if wraps else QPlainTextEdit.LineWrapMode.NoWrap
        self.setLineWrapMode(mode)
        self.document().setDefaultFont(theme().font(role))
        self.setTabStopDistance(_tab_px(role))

    def go_to_start(self) -> None:
        """Scroll up; the widget's own cursor has moved along with what was written at it."""
        self.moveCursor(QTextCursor.MoveOperation.Start)

    def go_to(self, position: int) -> None:
        """Scroll so that the line at `position` is the first that is seen, or as near to that as the end allows."""
        cursor = QTextCursor(self.document())
        cursor.setPosition(position)
        self.setTextCursor(cursor)
        bar = self.verticalScrollBar()
        line = self.fontMetrics().lineSpacing()
        bar.setValue(bar.value() + round(self.cursorRect(cursor).top() / max(1, line)))

    def reveal(self, position: int) -> None:
        """Scroll so that `position` is seen, if it is not."""
        cursor = QTextCursor(self.document())
        cursor.setPosition(position)
        if not self.viewport().rect().contains(self.cursorRect(cursor)):
            self.setTextCursor(cursor)
            self.centerCursor()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        self.document().setDocumentMargin(MARGIN)


def _menu(view: QTextBrowser | QPlainTextEdit, copy_id: Callable[[], None] | None) -> QMenu:
    """In the program's own words: Qt's would speak of links, and offer text with its formats."""
    menu = QMenu(view)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    copy = menu.addAction(tr("Copy"), QKeySequence(QKeySequence.StandardKey.Copy), lambda: copy_plain(view))
    copy.setEnabled(view.textCursor().hasSelection())
    menu.addAction(tr("Select all"), QKeySequence(QKeySequence.StandardKey.SelectAll), view.selectAll)
    if copy_id is not None:
        menu.addAction(tr("Copy id"), copy_id)
    return menu


def copy_plain(view: QTextBrowser | QPlainTextEdit) -> None:
    """Copy what is selected without its formats.

    Not by an override of `createMimeDataFromSelection`: Qt destroys what is on the clipboard after the interpreter
    has ended, and an object made in Python would then crash the process.
    """
    if view.textCursor().hasSelection():
        QGuiApplication.clipboard().setText(selected(view.textCursor()))


def _tab_px(role: str) -> float:
    return QFontMetricsF(theme().font(role)).horizontalAdvance(" ") * TAB_CHARS


def long_line_note() -> str:
    """What is to be said below a text whose lines do not wrap."""
    return tr("long lines are broken after {n} characters at most", n=number(UNWRAPPED_LINE))
