"""What would go, in numbers: by node, path, kind, source and month, and samples of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any, TypeVar

from PySide6.QtCore import QAbstractTableModel, QEvent, QModelIndex, QObject, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QHelpEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from explorer import text
from explorer.contract import Hit
from explorer.i18n import tr
from explorer.removal.plan import Plan
from explorer.removal.preview import SAMPLES, Preview
from explorer.ui.dialogs.plan_parts.words import node_label, source_label
from explorer.ui.headline import headline
from explorer.ui.item_view import KIND_ICONS
from explorer.ui.labels import plain_label
from explorer.ui.margins import margins
from explorer.ui.rows import (
    Index,
    draw_bar,
    draw_focus_ring,
    draw_icon,
    draw_pill,
    draw_text,
    fill_round,
    pill_width,
    text_width,
)
from explorer.ui.theme import theme

T = TypeVar("T")

HitRole = Qt.ItemDataRole.UserRole + 1
_NODES_MOST, _OTHERS_MOST = 7, 3  # rows of a table before it scrolls by itself
_SHOWN_MEANWHILE = 50  # rows, while it is being counted and shown again and again
_BAR = 2
_GAP = 8
_MONTHS_MOST = 40  # bars; of a longer time the years are shown
_AXIS_LABELS = 5


class Rows(QAbstractTableModel):
    """One column of things that have a text to hear and one to hover over."""

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else self.size()

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 1

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return self.spoken(index.row())
        return text.tip(self.hint(index.row())) if role == Qt.ItemDataRole.ToolTipRole else None

    def size(self) -> int:
        raise NotImplementedError

    def spoken(self, row: int) -> str:
        raise NotImplementedError

    def hint(self, row: int) -> str:
        raise NotImplementedError


class Counts(Rows):
    """What was counted, with its numbers, largest first. There may be very many: a label is made when it is seen."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: list[tuple[Any, int]] = []
        self._label: Callable[[Any], str] = str

    @property
    def largest(self) -> int:
        return self.rows[0][1] if self.rows else 0

    def show(self, rows: Sequence[tuple[Any, int]], label: Callable[[Any], str]) -> None:
        self._label = label
        if list(rows) != self.rows:
            self.beginResetModel()
            self.rows = list(rows)
            self.endResetModel()

    def label(self, row: int) -> str:
        return self._label(self.rows[row][0])

    def size(self) -> int:
        return len(self.rows)

    def spoken(self, row: int) -> str:
        return text.listed((self.label(row), text.counted(self.rows[row][1], "item")))

    def hint(self, row: int) -> str:
        return self.label(row)


class _View(QTableView):
    """Rows of one height without a grid, as high as they are, up to a limit."""

    def __init__(self, rows_most: int, row: str) -> None:
        super().__init__()
        self._rows_most, self._row = rows_most, row
        self.setShowGrid(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.horizontalHeader().hide()
        self.verticalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabKeyNavigation(False)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def fit(self) -> None:
        """Take the height of the rows that are there now."""
        self.verticalHeader().setDefaultSectionSize(theme().row_height(self._row))
        self.verticalHeader().setMinimumSectionSize(theme().row_height(self._row))
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        rows = min(self._rows_most, self.model().rowCount() if self.model() is not None else 0)
        return QSize(theme().scaled(200), rows * theme().row_height(self._row))

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().scaled(120), self.sizeHint().height())

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            said = self.indexAt(event.pos()).data(Qt.ItemDataRole.ToolTipRole)
            QToolTip.showText(event.globalPos(), said or "", self.viewport())
            return True
        return super().viewportEvent(event)


class CountTable(_View):
    """A number for each name, with a bar under both: its length against the largest of them."""

    def __init__(self, rows_most: int, elide: Qt.TextElideMode = Qt.TextElideMode.ElideMiddle) -> None:
        super().__init__(rows_most, "valueRow")
        self.counts = Counts(self)
        self.setModel(self.counts)
        self.setItemDelegate(_CountDelegate(self, elide))

    def show_rows(self, rows: Sequence[tuple[T, int]], label: Callable[[T], str]) -> None:
        """Show numbers and what they are of, which `label` names."""
        self.counts.show(rows, label)
        self.fit()
        self.viewport().update()


class _CountDelegate(QStyledItemDelegate):
    def __init__(self, table: CountTable, elide: Qt.TextElideMode) -> None:
        super().__init__(table)
        self._table, self._elide = table, elide

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        counts = self._table.counts
        name, n = counts.label(index.row()), counts.rows[index.row()][1]
        rect: QRect = option.rect
        line = rect.adjusted(0, 0, 0, -_BAR - 2)
        said = text.number(n)
        width = text_width(said)
        align = Qt.AlignmentFlag
        draw_text(painter, line, said, align=align.AlignRight, elide=Qt.TextElideMode.ElideNone)
        room = _before(line, width + _GAP, self._table.isRightToLeft())
        draw_text(painter, room, name, elide=self._elide)
        bar = QRectF(rect.left(), rect.bottom() - _BAR - 1, rect.width(), _BAR)
        draw_bar(painter, bar, n / max(1, counts.largest))
        if self._table.hasFocus() and self._table.currentIndex().row() == index.row():
            draw_focus_ring(painter, rect)


def _before(rect: QRect, taken: int, is_mirrored: bool) -> QRect:
    """`rect` without what is taken at its end."""
    return rect.adjusted(taken, 0, 0, 0) if is_mirrored else rect.adjusted(0, 0, -taken, 0)


class MonthBars(QWidget):
    """A bar for each month, or each year of a long time; what has no date at the end, hatched."""

    def __init__(self) -> None:
        super().__init__()
        self._bars: list[tuple[str, int]] = []
        self._undated = 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_months(self, months: Mapping[str | None, int]) -> None:
        self._undated = months.get(None, 0)
        self._bars = _bars({month: n for month, n in months.items() if month is not None})
        said = [text.named(name, text.number(n)) for name, n in self._bars if n]
        if self._undated:
            said.append(text.named(tr("no date"), text.number(self._undated)))
        self.setAccessibleName(text.listed([tr("By month observed"), *said[:50]]))
        self.setToolTip(text.tip("\n".join(said[:50])))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(theme().scaled(200), theme().scaled(48) + self._axis())

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().scaled(120), self.sizeHint().height())

    def _axis(self) -> int:
        return round(theme().metrics("micro").height()) + 4

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        high = self.height() - self._axis()
        no_date = text_width(tr("no date"), "micro") if self._undated else 0
        room = self.width() - (no_date + _GAP if no_date else 0)
        most = max([n for _, n in self._bars] + [self._undated, 1])
        mirrored = self.isRightToLeft()

        def place(left: float, width: float, top: float, height: float) -> QRectF:
            return QRectF(self.width() - left - width if mirrored else left, top, width, height)

        painter.fillRect(QRectF(0, high, self.width(), 1), theme().color("line"))
        step = room / max(1, len(self._bars))
        step = min(step, theme().scaled(28))
        widest = max((text_width(name, "micro") for name, _ in self._bars), default=0) + _GAP
        every = max(1, -(-len(self._bars) // _AXIS_LABELS), math.ceil(widest / max(1.0, step)))
        for at, (name, n) in enumerate(self._bars):
            tall = max(1, round(high * n / most)) if n else 0
            painter.fillRect(place(at * step, max(1.0, step - 3), high - tall, tall), theme().color("bar"))
            if at % every == 0:
                left, width = at * step, min(step * every, room - at * step)
                if text_width(name, "micro") <= width + 2:
                    draw_text(
                        painter,
                        place(left, width + 2, high + 3, self._axis() - 3),
                        name,
                        "micro",
                        "text3",
                        elide=Qt.TextElideMode.ElideNone,
                    )
        if no_date:
            tall = max(1, round(high * self._undated / most))
            box = place(self.width() - no_date, no_date, high - tall, tall)
            painter.fillRect(box, QBrush(theme().color("edge"), Qt.BrushStyle.BDiagPattern))
            below = place(self.width() - no_date, no_date + 1, high + 3, self._axis() - 3)
            draw_text(painter, below, tr("no date"), "micro", "text3", elide=Qt.TextElideMode.ElideNone)
        painter.end()


def _bars(months: Mapping[str, int]) -> list[tuple[str, int]]:
    """Every month from the first to the last, with its name; of many the years."""
    if not months:
        return []
    first, last = (_ordinal(month) for month in (min(months), max(months)))
    if last - first < _MONTHS_MOST:
        by_month = {_ordinal(month): n for month, n in months.items()}
        is_one_year = first // 12 == last // 12
        return [
            (
                text.month(at % 12 + 1) if is_one_year else f"{text.month(at % 12 + 1)} {at // 12}",
                by_month.get(at, 0),
            )
            for at in range(first, last + 1)
        ]
    years: dict[int, int] = {}
    for month, n in months.items():
        years[_ordinal(month) // 12] = years.get(_ordinal(month) // 12, 0) + n
    span = range(min(years), max(years) + 1)
    if len(span) <= _MONTHS_MOST:
        return [(str(year), years.get(year, 0)) for year in span]
    held = sorted(years.items())  # of hundreds of years those that hold something
    if len(held) <= _MONTHS_MOST:
        return [(str(year), n) for year, n in held]
    before, newest = held[: -_MONTHS_MOST + 1], held[-_MONTHS_MOST + 1 :]
    # Translators: names a bar of a chart: the number of all items from the years before this one.
    earlier = tr("before {year}", year=str(newest[0][0]))
    return [(earlier, sum(n for _, n in before)), *((str(year), n) for year, n in newest)]


def _ordinal(month: str) -> int:
    return int(month[:4]) * 12 + int(month[5:7]) - 1


class Samples(Rows):
    """Items, with what is special about each."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.hits: list[Hit] = []
        self.notes: list[str] = []
        self.dates: list[str] = []
        self.lines: list[str] = []

    def show(self, preview: Preview, zone: tzinfo) -> None:
        self.beginResetModel()
        self.hits = preview.samples
        ends: dict[str, str] = {}
        if preview.oldest is not None and preview.newest is not None and preview.oldest.id != preview.newest.id:
            ends = {preview.oldest.id: tr("oldest"), preview.newest.id: tr("newest")}
        self.notes = [ends.get(hit.id, "") for hit in self.hits]
        now = datetime.now(zone)
        self.dates = [
            text.when(hit.meta.observed_at, now, zone) if hit.meta.observed_at is not None else text.DASH
            for hit in self.hits
        ]
        self.lines = [text.shown(headline(hit).line) or tr("(empty)") for hit in self.hits]
        self.endResetModel()

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        return self.hits[index.row()] if role == HitRole and index.isValid() else super().data(index, role)

    def size(self) -> int:
        return len(self.hits)

    def spoken(self, row: int) -> str:
        hit = self.hits[row]
        where = str(hit.meta.namespace)
        return text.listed((text.word(hit.kind), self.notes[row], self.lines[row], where, self.dates[row]))

    def hint(self, row: int) -> str:
        return f"{self.lines[row]}\n{self.hits[row].meta.namespace}"


class SampleView(_View):
    """Samples, each of which can be opened."""

    opened = Signal(object)  # a Hit

    def __init__(self) -> None:
        super().__init__(SAMPLES, "valueRow")
        self.setObjectName("sampleView")
        self.samples = Samples(self)
        self.setModel(self.samples)
        self.setItemDelegate(_SampleDelegate(self))
        self.setAccessibleName(tr("Samples of what goes"))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.clicked.connect(self._open)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._open(self.currentIndex())
            return  # the dialog's own buttons are not meant
        super().keyPressEvent(event)

    def _open(self, index: Index) -> None:
        if (hit := index.data(HitRole)) is not None:
            self.opened.emit(hit)


class _SampleDelegate(QStyledItemDelegate):
    def __init__(self, view: SampleView) -> None:
        super().__init__(view)
        self._view = view

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        samples, row = self._view.samples, index.row()
        hit = samples.hits[row]
        rect: QRect = option.rect
        mirrored = self._view.isRightToLeft()
        is_current = self._view.hasFocus() and self._view.currentIndex().row() == row
        if is_current:
            fill_round(painter, rect, 4, "soft")
        painter.fillRect(QRect(rect.left(), rect.bottom(), rect.width(), 1), theme().color("line"))
        line = rect.adjusted(0, 0, 0, -1)
        date = samples.dates[row]
        draw_text(painter, line, date, "body", "text2", Qt.AlignmentFlag.AlignRight, Qt.TextElideMode.ElideNone)
        widest = max(text_width(one) for one in samples.dates)
        room = _before(line, widest + 2 * _GAP, mirrored)
        if note := samples.notes[row]:
            draw_pill(painter, room, note)
            room = _before(room, pill_width(note) + _GAP, mirrored)
        side = 16
        mark = QRect(room.right() + 1 - side if mirrored else room.left(), room.top(), side, room.height())
        draw_icon(painter, mark, KIND_ICONS[hit.kind])
        room = _before(room, side + _GAP, not mirrored)
        draw_text(painter, room, samples.lines[row])


class Numbers(QScrollArea):
    """The numbers of a preview, as they grow."""

    sample_opened = Signal(object)  # a Hit
    list_wanted = Signal()

    def __init__(self, zone: tzinfo) -> None:
        super().__init__()
        self._zone = zone
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.preview_table = CountTable(_NODES_MOST)
        self.preview_table.setObjectName("previewTable")
        self.path_table = CountTable(_NODES_MOST)
        self.path_table.setObjectName("pathTable")
        self.kind_table = CountTable(_OTHERS_MOST, Qt.TextElideMode.ElideRight)
        self.kind_table.setObjectName("kindTable")
        self.source_table = CountTable(_OTHERS_MOST, Qt.TextElideMode.ElideRight)
        self.source_table.setObjectName("sourceTable")
        self.months = MonthBars()
        self.months.setObjectName("monthBars")
        self.sample_view = SampleView()
        self.samples_label = plain_label("small", "text3")
        self.list_button = QPushButton(tr("Open all in the list"))
        self.list_button.setObjectName("openAllButton")
        self.list_button.setProperty("kind", "link")
        self.list_button.setAutoDefault(False)
        self._titles: dict[QWidget, QWidget] = {}

        left, right = QVBoxLayout(), QVBoxLayout()
        for column, parts in (
            (left, ((_title(tr("By node")), self.preview_table), (_title(tr("By path")), self.path_table))),
            (
                right,
                (
                    (_title(tr("By kind")), self.kind_table),
                    (_title(tr("By source")), self.source_table),
                    (_title(tr("By month observed")), self.months),
                ),
            ),
        ):
            column.setContentsMargins(0, 0, 0, 0)
            column.setSpacing(4)
            for at, (title, part) in enumerate(parts):
                title.setContentsMargins(0, 8 if at else 0, 0, 0)
                part.setAccessibleName(title.text())
                self._titles[part] = title
                column.addWidget(title)
                column.addWidget(part)
            column.addStretch(1)
        body = QWidget()
        grid = QGridLayout(body)
        grid.setContentsMargins(margins(24, 0, 24, 12))
        grid.setHorizontalSpacing(32)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(0, 1)
        grid.setColumnStretch(1, 1)
        grid.addLayout(left, 0, 0)
        grid.addLayout(right, 0, 1)
        self._samples_head = QWidget()
        head = QHBoxLayout(self._samples_head)
        head.setContentsMargins(0, 0, 0, 0)
        head.addWidget(_title(tr("Samples")))
        head.addWidget(self.samples_label)
        head.addStretch(1)
        head.addWidget(self.list_button)
        grid.addWidget(self._samples_head, 1, 0, 1, 2)
        grid.addWidget(self.sample_view, 2, 0, 1, 2)
        grid.setRowStretch(3, 1)
        self.setWidget(body)
        self._all = body
        self.sample_view.opened.connect(self.sample_opened)
        self.list_button.clicked.connect(self.list_wanted)

    def clear(self) -> None:
        """Show nothing: the numbers that are there are of another plan."""
        self.setEnabled(True)
        self._all.hide()

    def show_preview(self, plan: Plan, preview: Preview) -> None:
        self._all.show()
        at = plan.target.node
        most = None if preview.is_whole else _SHOWN_MEANWHILE
        self.preview_table.show_rows(preview.nodes.most_common(most), lambda node: node_label(node, at))
        self.kind_table.show_rows(preview.kinds.most_common(), lambda kind: _capital(text.word(kind)))
        self.source_table.show_rows(preview.sources.most_common(most), lambda source: _capital(source_label(source)))
        self.path_table.show_rows(preview.paths.most_common(most), text.shown)
        self.months.show_months(preview.months)
        for part, title in self._titles.items():
            is_there = bool(preview.paths) if part is self.path_table else preview.total > 0
            part.setVisible(is_there)
            title.setVisible(is_there)
        self.sample_view.samples.show(preview, self._zone)
        self.sample_view.fit()
        n = len(self.sample_view.samples.hits)
        self._samples_head.setVisible(n > 0)
        self.samples_label.setText(text.out_of(n, preview.total) if n else "")
        self.list_button.setVisible(plan.target.filter is not None)


def _title(words: str) -> Any:
    return plain_label("smallStrong", "text2", words)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
