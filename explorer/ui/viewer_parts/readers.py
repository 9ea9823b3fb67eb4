"""Widgets that show stored text: they load nothing, open nothing and run nothing."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QEvent, QSize, Qt, QUrl, Signal
from PySide6.QtGui import QFontMetricsF, QResizeEvent, QTextCursor, QTextOption, QWheelEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy, QTextBrowser, QWidget

from explorer.ui.theme import theme
from explorer.ui.viewer_parts.ink import MAX_LINE

MARGIN = 16
TAB_CHARS = 4


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
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.document().setDocumentMargin(MARGIN)
        self.anchorClicked.connect(self.link_wanted)

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


class GrowingReader(Reader):
    """As high as its text, for a page that scrolls as a whole."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
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

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        self.document().setDocumentMargin(MARGIN)


def _tab_px(role: str) -> float:
    return QFontMetricsF(theme().font(role)).horizontalAdvance(" ") * TAB_CHARS


LONG_LINE_NOTE = f"long lines are broken after {MAX_LINE:,} characters".replace(",", "\u202f")
