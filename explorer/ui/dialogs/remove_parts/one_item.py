"""The one item that would go, with its text."""

from __future__ import annotations

from datetime import tzinfo

from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from explorer import text
from explorer.contract import Hit
from explorer.i18n import tr
from explorer.ui.dialogs.plan_parts.one_line import OneLine
from explorer.ui.headline import headline
from explorer.ui.icons import IconLabel
from explorer.ui.item_view import KIND_ICONS
from explorer.ui.labels import plain_label
from explorer.ui.margins import margins
from explorer.ui.viewer_parts.marks import marked

_TEXT_MOST = 20_000


class OneItem(QWidget):
    """Its name, what and where it is, and what it says."""

    def __init__(self, zone: tzinfo) -> None:
        super().__init__()
        self._zone = zone
        self._mark = IconLabel()
        self.name_label = OneLine("title")
        self.facts_label = OneLine("small", "text2")
        self.item_text = QPlainTextEdit()
        self.item_text.setObjectName("itemText")
        self.item_text.setReadOnly(True)
        self.item_text.setProperty("kind", "field")
        self.item_text.setTabChangesFocus(True)
        self.item_text.setAccessibleName(tr("The item's text"))
        self.cut_label = plain_label("small", "caution")
        self.cut_label.setWordWrap(True)
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self._mark)
        head.addWidget(self.name_label, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(margins(24, 12, 24, 4))
        column.setSpacing(4)
        column.addLayout(head)
        column.addWidget(self.facts_label)
        column.addWidget(self.item_text, 1)
        column.addWidget(self.cut_label)
        self.cut_label.hide()

    def show_hit(self, hit: Hit | None) -> None:
        """Show an item; None while it is not read, or where it is not there."""
        if hit is None:
            self._mark.show_icon("")
            for part in (self.name_label, self.facts_label):
                part.say("")
            self.item_text.clear()
            return
        self._mark.show_icon(KIND_ICONS[hit.kind])
        self.name_label.say(text.shown(headline(hit).name) or tr("(empty)"))
        at = hit.meta.observed_at
        when = text.when_full(at, self._zone) if at is not None else tr("no date")
        self.facts_label.say(text.listed((text.word(hit.kind), str(hit.meta.namespace), when)))
        self.item_text.setPlainText(marked(hit.text[:_TEXT_MOST]))
        is_cut = len(hit.text) > _TEXT_MOST
        self.cut_label.setVisible(is_cut)
        if is_cut:
            self.cut_label.setText(
                tr(
                    "Shown are the first {n} of {total} characters.",
                    n=text.number(_TEXT_MOST),
                    total=text.number(len(hit.text)),
                )
            )
