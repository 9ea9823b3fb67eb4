"""The title bar of the preview: for whom the document is, and which page of it is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from explorer.contract import Namespace
from explorer.i18n import mark, tr, tr_in
from explorer.ui import icons
from explorer.ui.context_parts.node_button import NodeButton
from explorer.ui.context_parts.pages import RENDERED, SOURCE
from explorer.ui.labels import plain_label
from explorer.ui.margins import margins
from explorer.ui.segments import Segments
from explorer.ui.viewer import Header

# Translators: a page of the preview: the items that a document rests on
ITEMS = mark("Items")
_EDGE = 16


class ContextHeader(Header):
    """Where it is narrow it goes without its words."""

    def __init__(self, nodes: Callable[[], Sequence[Namespace]]) -> None:
        super().__init__()
        self.setObjectName("contextHeader")
        label = plain_label("small", "text2", tr("Brief for"))
        self.node_button = NodeButton("contextNodeButton", tr("Brief for"), nodes)
        self.node_button.follows = tr("The node of the filter")
        self.segments = Segments([RENDERED, SOURCE, ITEMS])
        # Translators: a document as it is written
        self.segments.set_words(SOURCE, tr_in("view", "Source"))
        self.segments.setObjectName("contextSegments")
        self.more_button = QToolButton()
        self.more_button.setObjectName("contextMoreButton")
        self.more_button.setProperty("kind", "small")
        self.more_button.setAccessibleName(tr("More for context.md"))
        self.more_button.setToolTip(tr("More for context.md"))
        self.more_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        icons.keep(self.more_button, "more")
        row = QHBoxLayout(self)
        row.setContentsMargins(margins(_EDGE, 0, 2, 0))
        row.setSpacing(3)
        row.addWidget(label)
        row.addWidget(self.node_button)
        row.addStretch(1)
        row.addWidget(self.segments)
        row.addWidget(self.more_button)
        self.spare = [label]

    @property
    def stops(self) -> list[QWidget]:
        """Where the Tab key comes to."""
        segments = [self.segments.button(choice) for choice in (RENDERED, SOURCE, ITEMS)]
        return [self.node_button, *segments, self.more_button]
