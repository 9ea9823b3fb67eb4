"""What became of a removal: what a fresh read says, question by question."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from explorer import text
from explorer.i18n import tr, tr_n
from explorer.removal.outcome import Check, Outcome
from explorer.removal.page import check_words
from explorer.removal.plan import Action
from explorer.removal.way_back import WayBack
from explorer.removal.words import doubt
from explorer.ui.dialogs.plan_parts.one_line import OneLine
from explorer.ui.dialogs.remove_parts.confirm import home
from explorer.ui.first_click import take_first_click_only
from explorer.ui.headline import headline
from explorer.ui.icons import IconLabel
from explorer.ui.labels import plain_label
from explorer.ui.margins import margins
from explorer.ui.rows import fill_round
from explorer.ui.theme import theme
from explorer.ui.viewer_parts.marks import marked

_SIDE_PX = 336
_STILL_MOST = 3
_FAILED_MOST = 500
_BAR = 6


class _LeftBar(QWidget):
    """What is left of what was stored before."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self._share = min(1.0, after / before) if before else 0.0
        self.setFixedHeight(_BAR)

    def sizeHint(self) -> QSize:
        return QSize(theme().scaled(200), _BAR)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        fill_round(painter, self.rect(), _BAR / 2, "barDim")
        width = max(_BAR if self._share else 0, round(self.width() * self._share))
        if width:
            box = self.rect()
            if self.isRightToLeft():
                box.setLeft(box.right() - width + 1)
            else:
                box.setWidth(width)
            fill_round(painter, box, _BAR / 2, "accent")
        painter.end()


class ReceiptView(QWidget):
    """A row for each question that was asked again; at the side the numbers, and where it is written down."""

    hit_opened = Signal(object)  # a Hit
    retry_wanted = Signal()
    restore_wanted = Signal()
    print_wanted = Signal()
    file_wanted = Signal()
    done = Signal()

    def __init__(self, zone: tzinfo, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("receiptView")
        self._zone = zone
        self._left = _scroll("receiptChecks", tr("What a fresh read says"))
        self._right = _scroll("receiptSide", tr("The numbers, and where it is written down"))
        self._right.setProperty("surface", "panel")
        self._right.setFixedWidth(theme().scaled(_SIDE_PX))
        body = QHBoxLayout()
        body.setSpacing(0)
        body.addWidget(self._left, 1)
        rule = QFrame()
        rule.setProperty("surface", "vrule")
        body.addWidget(rule)
        body.addWidget(self._right)
        self.restore_button = _button("restoreButton", tr("Restore from export…"))
        self.print_button = _button("printButton", tr("Print…"))
        self.file_button = _button("showReceiptButton", tr("Show receipt file"))
        self.retry_button = _button("retryButton", "")
        self.done_button = _button("doneButton", tr("Done"))
        self.done_button.setProperty("kind", "primary")
        take_first_click_only(self.retry_button, self.done_button)
        foot = QFrame()
        foot.setProperty("surface", "dialogFoot")
        row = QHBoxLayout(foot)
        row.setContentsMargins(24, 12, 24, 12)
        row.setSpacing(8)
        for button in (self.restore_button, self.print_button, self.file_button):
            row.addWidget(button)
        row.addStretch(1)
        row.addWidget(self.retry_button)
        row.addWidget(self.done_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(body, 1)
        column.addWidget(foot)
        self.restore_button.clicked.connect(self.restore_wanted)
        self.print_button.clicked.connect(self.print_wanted)
        self.file_button.clicked.connect(self.file_wanted)
        self.retry_button.clicked.connect(self.retry_wanted)
        self.done_button.clicked.connect(self.done)

    def show_outcome(
        self, outcome: Outcome, action: Action, way_back: WayBack | None, remaining: Sequence[str]
    ) -> None:
        """Say it all; nothing of it changes any more."""
        self._left.setWidget(self._checks(outcome))
        self._right.setWidget(self._side(outcome, action, way_back, remaining))
        self.restore_button.setVisible(way_back is not None)
        self.print_button.setVisible(outcome.receipt is not None)
        self.file_button.setVisible(outcome.receipt is not None)
        n = len(outcome.left)
        self.retry_button.setVisible(n > 0)
        self.retry_button.setText(tr_n("Retry {n} item…", "Retry {n} items…", n, n=text.number(n)))

    # The questions

    def _checks(self, outcome: Outcome) -> QWidget:
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(margins(24, 16, 24, 16))
        column.setSpacing(0)
        if said := doubt(outcome):
            note = QFrame()
            note.setObjectName("doubtNote")
            note.setProperty("surface", "caution")
            row = QHBoxLayout(note)
            row.setContentsMargins(margins(12, 8, 12, 8))
            row.setSpacing(8)
            row.addWidget(IconLabel("warning", "caution"))
            words = plain_label("medium", "", said)
            words.setObjectName("doubtLabel")
            words.setWordWrap(True)
            row.addWidget(words, 1)
            column.addWidget(note)
            column.addSpacing(16)
        if outcome.failed:
            column.addWidget(plain_label("smallStrong", "text2", tr("Failed, with the engine's reasons")))
            column.addSpacing(4)
            column.addWidget(_failed(outcome))
            column.addSpacing(16)
        if outcome.checks:
            column.addLayout(self._table(outcome))
        column.addStretch(1)
        return body

    def _table(self, outcome: Outcome) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(0)
        grid.setColumnStretch(2, 1)
        align = Qt.AlignmentFlag
        for at, column in enumerate(("", tr("Asked again"), tr("With"), tr("Result"))):
            head = plain_label("small", "text2", column)
            grid.addWidget(head, 0, at, align.AlignRight if at == 3 else align.AlignLeft)
        grid.setRowMinimumHeight(0, theme().row_height("row"))
        grid.addWidget(_rule(), 1, 0, 1, 4)
        line = 2
        for check in outcome.checks:
            is_clean, words = check.is_clean, check_words(check)
            mark = IconLabel("check-ring" if is_clean else "warning", "accent" if is_clean else "caution")
            name = plain_label("medium", "", words.question)
            result = plain_label("body" if is_clean else "strong", "" if is_clean else "caution", words.result)
            spoken = text.listed((words.question, words.asked_with, words.result))
            name.setAccessibleName(spoken)
            grid.setRowMinimumHeight(line, theme().row_height("row") + 4)
            grid.addWidget(mark, line, 0, align.AlignVCenter)
            grid.addWidget(name, line, 1, align.AlignVCenter | align.AlignLeft)
            grid.addWidget(
                plain_label("body", "text2", words.asked_with), line, 2, align.AlignVCenter | align.AlignLeft
            )
            grid.addWidget(result, line, 3, align.AlignVCenter | align.AlignRight)
            line += 1
            if not is_clean:
                grid.addWidget(self._reason(check), line, 1, 1, 3)
                line += 1
            grid.addWidget(_rule(), line, 0, 1, 4)
            line += 1
        return grid

    def _reason(self, check: Check) -> QWidget:
        box = QWidget()
        column = QVBoxLayout(box)
        column.setContentsMargins(0, 0, 0, 8)
        column.setSpacing(2)
        said = plain_label("small", "text2", check_words(check).because)
        said.setWordWrap(True)
        column.addWidget(said)
        for hit in check.still[:_STILL_MOST]:
            row = QHBoxLayout()
            row.setSpacing(8)
            line = OneLine("body", "text")
            line.say(text.shown(headline(hit).line) or tr("(empty)"))
            line.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            row.addWidget(line, 1)
            where = OneLine("small", "text3", Qt.TextElideMode.ElideMiddle)
            where.say(str(hit.meta.namespace))
            row.addWidget(where)
            button = QPushButton(tr("Open the item"))
            button.setObjectName("openStillButton")
            button.setProperty("kind", "link")
            button.setAutoDefault(False)
            button.setAccessibleDescription(line.text())
            button.clicked.connect(lambda _=False, hit=hit: self.hit_opened.emit(hit))
            row.addWidget(button)
            column.addLayout(row)
        if len(check.still) > _STILL_MOST:
            column.addWidget(plain_label("small", "text3", text.and_more(len(check.still) - _STILL_MOST)))
        return box

    # The side

    def _side(self, outcome: Outcome, action: Action, way_back: WayBack | None, remaining: Sequence[str]) -> QWidget:
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(margins(24, 16, 24, 16))
        column.setSpacing(0)
        column.addLayout(_before_and_after(outcome))
        for title, said, is_path in _facts(outcome, action, way_back):
            column.addSpacing(8)
            column.addWidget(plain_label("small", "text3", title))
            if is_path:
                line = OneLine("mono", "text", Qt.TextElideMode.ElideMiddle)
                line.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
                line.say(said)
                column.addWidget(line)
            else:
                column.addWidget(_wrapped(said, "body"))
        if remaining:
            column.addSpacing(16)
            column.addWidget(plain_label("smallStrong", "text2", tr("Not covered by this receipt")))
            column.addSpacing(4)
            for said in remaining:
                column.addWidget(_wrapped(said, "small", "text2"))
                column.addSpacing(4)
        column.addStretch(1)
        return body


def subtitle(what: str, connection: str, began_at: datetime, ended_at: datetime, zone: tzinfo) -> str:
    """What was to go, where, and when it ran."""
    began, ended = began_at.astimezone(zone), ended_at.astimezone(zone)
    first = f"{began:%H:%M:%S}" if began.date() == ended.date() else text.when_full(began, zone)
    times = text.from_to(first, f"{ended:%H:%M:%S}")
    return text.listed((what, connection, text.day(began, zone), f"{times} {text.zone_offset(ended)}"))


def _facts(outcome: Outcome, action: Action, way_back: WayBack | None) -> list[tuple[str, str, bool]]:
    """Title, words, and whether these are one line whose exact characters count."""
    found: list[tuple[str, str, bool]] = []
    if outcome.erased_scopes is not None:
        n = outcome.erased_scopes
        found.append(
            (
                tr("Erased by the engine"),
                tr_n("{n} pair of node and kind", "{n} pairs of node and kind", n, n=text.number(n)),
                False,
            )
        )
    none = tr("none")
    found.append((tr("Failed"), text.counted(len(outcome.failed), "item") if outcome.failed else none, False))
    if outcome.already_gone:
        found.append((tr("Already gone before their turn"), text.counted(outcome.already_gone, "item"), False))
    if outcome.not_tried:
        found.append((tr("Not tried"), text.counted(len(outcome.not_tried), "item"), False))
    if outcome.unanswered:
        found.append((tr("Asked for, without an answer"), text.counted(len(outcome.unanswered), "item"), False))
    if outcome.waited_s:
        found.append((tr("Waited for a busy engine"), text.duration(outcome.waited_s), False))
    if action is Action.ERASE:
        said, is_mono = none, False
        if outcome.receipts:
            first, last = text.shown(outcome.receipts[0], 80), text.shown(outcome.receipts[-1], 80)
            n, is_mono = len(outcome.receipts), True
            said = first if n == 1 else tr("{n}, first {first}, last {last}", n=text.number(n), first=first, last=last)
        found.append((tr("Engine receipts"), said, is_mono))
    if way_back is not None:
        found.append((tr("Way back"), text.shown(home(way_back.path), 1_000), True))
    else:
        found.append((tr("Way back"), none, False))
    if outcome.receipt is not None:
        found.append((tr("Receipt file"), text.shown(home(outcome.receipt), 1_000), True))
    return found


def _before_and_after(outcome: Outcome) -> QVBoxLayout:
    before, after = outcome.stored_before, outcome.stored_after
    align = Qt.AlignmentFlag
    grid = QGridLayout()
    grid.setVerticalSpacing(2)
    change = text.DASH
    if after is not None:
        change = text.number(after - before) if after <= before else f"+{text.number(after - before)}"
    said = text.number(after) if after is not None else tr("not counted")
    for at, (words, role, tone, side) in enumerate(
        (
            (text.number(before), "title", "", align.AlignLeft),
            (change, "medium", "text2", align.AlignHCenter),
            (said, "title", "", align.AlignRight),
        )
    ):
        label = plain_label(role, tone, words)
        label.setObjectName(("beforeLabel", "changeLabel", "afterLabel")[at])
        grid.addWidget(label, 0, at, side)
    grid.addWidget(plain_label("small", "text3", tr("before")), 1, 0, align.AlignLeft)
    grid.addWidget(plain_label("small", "text3", tr("after")), 1, 2, align.AlignRight)
    column = QVBoxLayout()
    column.setSpacing(8)
    column.addLayout(grid)
    if after is not None:
        column.addWidget(_LeftBar(before, after))
    return column


def _failed(outcome: Outcome) -> QPlainTextEdit:
    """The ids that failed, each with its reason."""
    lines = [f"{id}  {reason}" for id, reason in list(outcome.failed.items())[:_FAILED_MOST]]
    if len(outcome.failed) > _FAILED_MOST:
        lines.append(text.and_more(len(outcome.failed) - _FAILED_MOST))
    view = QPlainTextEdit(marked("\n".join(line.replace("\n", " ") for line in lines)))
    view.setObjectName("failedView")
    view.setReadOnly(True)
    view.setProperty("kind", "field")
    view.setProperty("textRole", "mono")
    view.setAccessibleName(tr("Failed, with the engine's reasons"))
    view.setTabChangesFocus(True)
    view.setFixedHeight(round(theme().metrics("mono").lineSpacing() * min(8, len(lines) + 1)) + 12)
    return view


def _wrapped(words: str, role: str, tone: str = "") -> QLabel:
    label = plain_label(role, tone, words)
    label.setWordWrap(True)
    label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    return label


def _button(name: str, words: str) -> QPushButton:
    button = QPushButton(words)
    button.setObjectName(name)
    button.setAutoDefault(False)
    return button


def _rule() -> QFrame:
    rule = QFrame()
    rule.setProperty("surface", "rule")
    return rule


def _scroll(name: str, spoken: str) -> QScrollArea:
    area = QScrollArea()
    area.setObjectName(name)
    area.setAccessibleName(spoken)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    return area
