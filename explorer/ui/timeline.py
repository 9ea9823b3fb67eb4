"""The time line above the list: how many items each day, week, month or year has, and the range that is looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, tzinfo
from enum import Enum
from zoneinfo import ZoneInfo

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, QTimer, QVariantAnimation, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QBrush,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QApplication, QPushButton, QSizePolicy, QStyle, QToolTip, QWidget

from explorer.conditions import conditions
from explorer.contract import (
    Histogram,
    HistogramRequest,
    MemoryEngine,
    MetaFilter,
    Unsupported,
)
from explorer.i18n import mark, tr
from explorer.text import at_least, counted, from_to, isolate, listed, named, number, tip, utc, when_full
from explorer.ui.actions import allow, panel_action, under
from explorer.ui.clock import local_zone, zone_words
from explorer.ui.jobs import Jobs
from explorer.ui.news import brief, may_pass
from explorer.ui.rows import draw_focus_ring, draw_text, fill_round, outline_round, text_width
from explorer.ui.scans import Scan
from explorer.ui.theme import mix, theme
from explorer.ui.time_scale import Scale

SIDE = 16  # from the pane's edges
TOP = 4
UNDER = 4  # below the axis
GAP = 8
BARS_LEAST = 46
MAX_BAR = 40  # a memory of one day is no wall
LEAST_BAR = 2  # little is not nothing
HATCHED_FROM = 10
UNDATED = 20
UNDATED_LABEL = mark("no date")
STOPPED = mark("Not counted over time. Counting was stopped.")
GRIP = QSize(8, 18)
GRAB = 24
RADIUS = 4
LABEL_GAP = 8
MANY_STEPS = 10
SETTLE_MS = 200  # keys go on; what they mean is asked once
BARS_MS = 160


class End(Enum):
    """An end of the range, which has a handle."""

    START = "first"
    STOP = "last"


@dataclass
class Drag:
    """What the pressed button moves: one end of the range, or both, from the bar where it was pressed."""

    pressed_at: QPoint
    bar: int
    end: End | None
    is_on_grip: bool
    fixed: float = 0
    """The other end of the range."""
    range: tuple[float, float] | None = None
    """What it comes to so far; None before the pointer has moved."""


class TimelineView(QWidget):
    """Counts what the filter admits over time, its own range aside, and is the way to choose that range.

    Days begin in the zone in which the window shows times, for grouping and for the condition alike.
    """

    filter_wanted = Signal(object)  # MetaFilter

    def __init__(self, zone: tzinfo | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("timelineView")
        self.setAccessibleName(tr("Time line"))
        zone = zone or local_zone()
        # An engine takes a zone by name only; without one, days are grouped and chosen in UTC, and it is said.
        self._zone: tzinfo = zone if isinstance(zone, ZoneInfo) else UTC
        self._engine: MemoryEngine | None = None
        self._filter = MetaFilter()
        self._is_search = False
        self._histogram: Histogram | None = None
        self._scale: Scale | None = None
        self._answered: MetaFilter | None = None  # what the bars are of
        self._error = ""
        self._is_stale = False
        self._can_retry = False  # what failed or was stopped
        self.scan = Scan()
        self._drag: Drag | None = None
        self._keyed: tuple[float, float] | None = None  # by keys that may go on
        self._end = End.START  # which the keys move
        self._hovered: int | None = None
        self._before: dict[date | None, float] = {}  # heights on their way to new ones
        self._said = ""
        self._plot, self._bar_width = QRect(), 1.0
        self._labels: list[tuple[QRect, str]] = []
        self.jobs = Jobs(self)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

        self.count_all_button = QPushButton(tr("Count further"), self)
        self.count_all_button.setObjectName("timelineCountAllButton")
        self.count_all_button.setProperty("kind", "link")
        self.count_all_button.hide()
        self.earlier_button, self.later_button = QPushButton(self), QPushButton(self)
        self.earlier_button.setObjectName("timelineEarlierButton")
        self.later_button.setObjectName("timelineLaterButton")
        for button in (self.earlier_button, self.later_button):
            button.setProperty("kind", "link")
            button.hide()
        self.count_all_action = panel_action(self, tr("Time line"), tr("Count further"))
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(SETTLE_MS)
        self._bars = QVariantAnimation(self)
        self._bars.setStartValue(0.0)
        self._bars.setEndValue(1.0)
        self._settle.timeout.connect(self._commit_keys)
        self._bars.valueChanged.connect(lambda: self.update(self._on_screen(self._plot)))
        self.count_all_button.clicked.connect(self._on_count_all_button_clicked)
        self.earlier_button.clicked.connect(lambda: self._want(self._beside()[0]))
        self.later_button.clicked.connect(lambda: self._want(self._beside()[1]))
        self.count_all_action.triggered.connect(self._on_count_all_button_clicked)
        self.jobs.failed.connect(self._on_jobs_failed)
        theme().changed.connect(self._on_theme_changed)
        self._measure()
        self._show_state()

    # What the window calls

    def set_engine(self, engine: MemoryEngine | None) -> None:
        """Count on another engine, once told of what."""
        self.jobs.cancel()
        self._engine = engine
        self._histogram = self._scale = None
        self._measure()
        self._filter = MetaFilter()
        self._answered = None
        self._error, self._is_stale, self._can_retry = "", False, False
        self.scan = Scan()
        self._let_go()
        self._read()

    def show_filter(self, filter: MetaFilter) -> None:
        """Count under `filter`; another range alone counts nothing anew."""
        is_other = _without_range(filter) != _without_range(self._filter)
        self._filter = filter
        self._let_go()
        if is_other:
            self.scan.begin()
            self._read()
        else:
            self._show_state()

    def set_search(self, active: bool) -> None:
        """Say whether a search narrows the list further than what is counted here."""
        self._is_search = active
        self._show_state()

    def refresh(self) -> None:
        """Count again; the bars of before stay until then."""
        self._read()

    @property
    def counted_items(self) -> tuple[int, bool]:
        """How many items were counted under this filter, and whether there are more."""
        histogram = self._histogram
        return (histogram.total, histogram.truncated) if histogram is not None and self.has_counted else (0, True)

    @property
    def has_counted(self) -> bool:
        """Whether anything was counted under this filter."""
        return self._answered == _without_range(self._filter)

    def cancel_counting(self) -> None:
        """Stop counting; what was counted so far stays, marked stale where it is of another filter."""
        self.jobs.stop()
        self.scan.begin()
        if not self.has_counted or self._is_stale:
            self._error, self._is_stale, self._can_retry = tr(STOPPED), True, True
        self._show_state(is_counted=True)

    async def aclose(self) -> None:
        """End what is running."""
        self._settle.stop()
        self._bars.stop()
        await self.jobs.aclose()

    # Counting

    def _read(self) -> None:
        engine = self._engine
        if engine is not None:
            zone = self._zone.key if isinstance(self._zone, ZoneInfo) else None
            req = HistogramRequest(filter=_without_range(self._filter), zone=zone, scan_limit=self.scan.limit)

            def on_histogram(histogram: Histogram) -> None:
                if engine is self._engine:
                    self._on_histogram(histogram)

            lane, other = ("everything", "histogram") if self.scan.goes_on else ("histogram", "everything")
            self.jobs.cancel(other)
            self.jobs.start(lane, engine.histogram(req), on_histogram)
            self._can_retry = False
            if self._error == tr(STOPPED):
                self._error = ""
        self._show_state()

    def _on_histogram(self, histogram: Histogram) -> None:
        before = self._heights()
        self._let_go()
        self._answered = _without_range(self._filter)
        self._error, self._is_stale, self._can_retry = "", False, False
        self._histogram, self._scale = histogram, Scale.of(histogram, self._zone)
        self._measure()
        self._bars.stop()
        self._before = before
        duration_ms = theme().animation_ms(BARS_MS)
        after = self._heights()
        moves = before != after and not before.keys().isdisjoint(after)
        if moves and duration_ms and self.isVisible():
            self._bars.setDuration(duration_ms)
            self._bars.start()
        if self.scan.step(histogram.truncated):
            self._read()
        else:
            self._show_state(is_counted=True)

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        self.scan.end_all()
        self._let_go()
        self._is_stale, self._can_retry = True, may_pass(error)
        if isinstance(error, Unsupported):
            self._error = tr("This engine does not count over time")
            self._histogram = self._scale = None
            self._measure()
        else:
            self._error = " ".join((tr("Not counted over time."), brief(error)))
        self._show_state(is_counted=True)

    def _on_count_all_button_clicked(self) -> None:
        if self.scan.goes_on:
            self.cancel_counting()
        elif self._can_retry:
            self._read()
        else:
            self.scan.begin_all(self.counted_items[0])
            self._read()

    # What there is to see

    @property
    def scale(self) -> Scale | None:
        """The bars that are shown; None where there are none."""
        return self._scale

    @property
    def range(self) -> tuple[float, float] | None:
        """From where to where, in bars: the range that is being chosen, else the filter's; None for all of time."""
        if self._drag is not None and self._drag.range is not None:
            return self._drag.range
        return self._keyed or self._range_of_filter()

    def _range_of_filter(self) -> tuple[float, float] | None:
        scale, filter = self._scale, self._filter
        if scale is None or not _has_range(filter):
            return None
        start = 0.0 if filter.observed_after is None else scale.place_of(filter.observed_after)
        stop = float(len(scale)) if filter.observed_before is None else scale.place_of(filter.observed_before)
        return start, max(start, stop)

    @property
    def words(self) -> str:
        """What stands above the bars."""
        if self._error:
            return self._error
        histogram, scale = self._histogram, self._scale
        if histogram is None:
            return ""
        if scale is None:
            return tr("No item has a date") if histogram.undated else tr("No items to show over time")
        said = [_range_words(self._shown_filter(scale), self._zone), scale.words]
        if histogram.truncated:
            said.append(tr("{n} items counted", n=at_least(histogram.total)))
        if self._is_search:
            said.append(tr("not only what was found"))
        return listed(said)

    def _shown_filter(self, scale: Scale) -> MetaFilter:
        """The filter with the range that is shown; with that of all bars where there is none."""
        chosen = self.range
        if chosen is not None and chosen == self._range_of_filter():
            return self._filter
        return self._filter_of(chosen or (0, len(scale)))

    @property
    def undated_tip(self) -> str:
        """What can be said of the bar at the end."""
        undated = self._histogram.undated if self._histogram is not None else 0
        return tr(
            "{items} without a date. A filter has no condition for that, so this bar cannot be chosen; any range "
            "leaves it out.",
            items=self._count_words(undated),
        )

    def bar_tip(self, bar: int) -> str:
        """What can be said of a bar: from when to when, in the window's zone and in UTC, and how many items it has."""
        assert self._scale is not None
        filter = self._filter_of((bar, bar + 1))
        said = self._count_words(self._scale.counts[bar])
        return f"{named(_range_words(filter, self._zone), said)}\n{_times(filter, self._zone)}"

    @property
    def range_tip(self) -> str:
        """What can be said of the range, or of all bars where there is none."""
        if self._scale is None or self._error:
            return self.words
        filter = self._shown_filter(self._scale)
        return f"{self.words}\n{_times(filter, self._zone)}"

    def _count_words(self, count: int) -> str:
        return counted(count, "item", self._histogram is not None and self._histogram.truncated)

    def _show_state(self, is_counted: bool = False) -> None:
        """Bring everything beside the drawing up to date; `is_counted`: no answer is awaited any more."""
        histogram, scale = self._histogram, self._scale
        is_empty = histogram is not None and not histogram.total and self.has_counted
        is_empty = is_empty and _without_range(self._filter).is_empty()
        self.setVisible(self._engine is not None and not (is_empty and not self._error))
        can_choose = scale is not None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if can_choose else Qt.FocusPolicy.NoFocus)
        running = self.scan.goes_on and not is_counted
        truncated = histogram is not None and histogram.truncated
        can_go_on = truncated and (running or self.scan.can_go_on)
        self.count_all_button.setVisible(can_go_on or self._can_retry)
        further_words = tr("Count again") if self._can_retry else tr("Count further")
        self.count_all_button.setText(tr("Stop counting") if running else further_words)
        self.count_all_action.setText(self.count_all_button.text())
        self.count_all_action.setProperty("wholeTitle", under(tr("Time line"), self.count_all_button.text()))
        is_awaited = self.jobs.is_busy and not is_counted
        why_not = self._error or (tr("Counting over time") if is_awaited else tr("Everything is counted"))
        allow(self.count_all_action, why_not if self.count_all_button.isHidden() else "")
        self._show_beside()
        self._place_buttons()
        self._describe()
        self.update()

    def _describe(self) -> None:
        self._said = self.words
        said = [self._said, tr("times in {zone}", zone=zone_words(self._zone))]
        histogram = self._histogram
        if histogram is not None and self._scale is not None:
            said.append(tr("{items} with a date", items=self._count_words(histogram.total - histogram.undated)))
            said += [
                button.accessibleName() for button in (self.earlier_button, self.later_button) if not button.isHidden()
            ]
            if histogram.undated:
                # Translators: without a date, after how many items have one.
                said.append(tr("{items} without", items=self._count_words(histogram.undated)))
        self.setAccessibleDescription(listed(said))

    # Choosing

    def _filter_of(self, chosen: tuple[float, float]) -> MetaFilter:
        """The filter with a range of whole bars."""
        scale = self._scale
        assert scale is not None
        after, before = (scale.moments[round(place)] for place in chosen)
        return self._filter.model_copy(update={"observed_after": after, "observed_before": before})

    def _beside(self) -> tuple[MetaFilter, MetaFilter]:
        """The filter with all time before the bars, and with all after them."""
        assert self._scale is not None
        times = {"observed_after": None, "observed_before": None}
        before = {**times, "observed_before": self._scale.moments[0]}
        after = {**times, "observed_after": self._scale.moments[-1]}
        return self._filter.model_copy(update=before), self._filter.model_copy(update=after)

    def _show_beside(self) -> None:
        """Name the few items that lie far from the bars, before them and after, each as the way to those."""
        histogram = self._histogram
        beside = (histogram.earlier, histogram.later) if histogram is not None and not self._error else (0, 0)
        buttons = (self.earlier_button, self.later_button)
        for place, (button, count) in enumerate(zip(buttons, beside, strict=True)):
            button.setVisible(bool(count))
            if count and histogram is not None:
                filter = self._beside()[place]
                n = at_least(count) if histogram.truncated else number(count)
                # Translators: how many items are before a day, or from a day on: "1 before 3 Jan 2025".
                words = tr("{n} {time}", n=n, time=_range_words(filter, self._zone))
                button.setText(isolate(words))
                button.setAccessibleName(words)
                button.setToolTip(
                    tip(
                        tr("{items} far from all others in time. Press to see them.", items=self._count_words(count))
                        + f"\n{_times(filter, self._zone)}"
                    )
                )

    def _choose(self, chosen: tuple[float, float] | None) -> None:
        """Ask for the filter with another range; None for all of time."""
        self._want(_without_range(self._filter) if chosen is None else self._filter_of(chosen))

    def _want(self, wanted: MetaFilter) -> None:
        self._let_go()
        if wanted != self._filter:
            self.filter_wanted.emit(wanted)
        self._show_state()

    def _let_go(self) -> None:
        """Forget what is being chosen."""
        self._settle.stop()
        self._drag = self._keyed = None

    def _commit_keys(self) -> None:
        if self._keyed is not None:
            self._choose(self._keyed)

    def _move_end(self, to: float) -> None:
        """Put the end that has the keyboard at the edge of a bar, at least one bar from the other."""
        assert self._scale is not None
        start, stop = self.range or (0, len(self._scale))
        self._keyed = self._with_end(self._end, round(to), stop if self._end is End.START else start)
        self._settle.start()
        self._show_state()
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, self.words))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        scale, key, modifiers = self._scale, event.key(), event.modifiers()
        others = (
            Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
        )
        if scale is None or modifiers & others:
            super().keyPressEvent(event)
            return
        start, stop = self.range or (0, len(scale))
        at = start if self._end is End.START else stop
        steps = MANY_STEPS if modifiers & Qt.KeyboardModifier.ShiftModifier else 1
        later = Qt.Key.Key_Left if self.isRightToLeft() else Qt.Key.Key_Right
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            # From inside a bar the first step leads to its edge.
            self._move_end(math.floor(at) + steps if key == later else math.ceil(at) - steps)
        elif key == Qt.Key.Key_Home:
            self._move_end(0)
        elif key == Qt.Key.Key_End:
            self._move_end(len(scale))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._keyed is not None:
            self._commit_keys()
        elif key == Qt.Key.Key_Escape and (self._drag is not None or self._keyed is not None):
            self._let_go()
            self._show_state()
        elif key == Qt.Key.Key_Escape and _has_range(self._filter):
            self._choose(None)
        else:
            super().keyPressEvent(event)
            return
        event.accept()

    def focusNextPrevChild(self, next: bool) -> bool:
        """The Tab key goes from one handle to the other before it leaves."""
        if self.hasFocus() and self._scale is not None and (self._end is End.START) == next:
            self._end = End.STOP if next else End.START
            self._speak_end()
            self.update()
            return True
        return super().focusNextPrevChild(next)

    def focusInEvent(self, event: QFocusEvent) -> None:
        if event.reason() == Qt.FocusReason.TabFocusReason:
            self._end = End.START
        elif event.reason() == Qt.FocusReason.BacktabFocusReason:
            self._end = End.STOP
        super().focusInEvent(event)
        self._speak_end()
        self.update()

    def _speak_end(self) -> None:
        """Say which end of the range the keys move: a widget has one name, and two handles."""
        if self._end is End.START:
            said = tr("first bar of the range, {range}", range=self.words)
        else:
            said = tr("last bar of the range, {range}", range=self.words)
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, said))

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._commit_keys()
        super().focusOutEvent(event)
        self.update()

    # The pointer

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at = self._logical(event.position().toPoint())
        bar = self._bar_at(at)
        if event.button() != Qt.MouseButton.LeftButton or bar is None:
            super().mousePressEvent(event)
            return
        self._commit_keys()
        self._drag = Drag(at, bar, *self._handle_at(at))
        chosen = self.range
        if self._drag.end is not None and chosen is not None:
            self._end = self._drag.end
            self._drag.fixed = chosen[1] if self._drag.end is End.START else chosen[0]
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at, drag = self._logical(event.position().toPoint()), self._drag
        if drag is None or self._scale is None:
            self._hover(at)
            return
        if drag.range is None and abs(at.x() - drag.pressed_at.x()) < QApplication.startDragDistance():
            return
        drag.range = self._dragged_to(drag, at)
        self._show_state()

    def _dragged_to(self, drag: Drag, at: QPoint) -> tuple[float, float]:
        assert self._scale is not None
        size = len(self._scale)
        place = (at.x() - self._plot.left()) / self._bar_width
        if drag.end is None:
            bar = min(max(0, math.floor(place)), size - 1)
            return min(bar, drag.bar), max(bar, drag.bar) + 1
        return self._with_end(drag.end, round(place), drag.fixed)

    def _with_end(self, end: End, edge: int, fixed: float) -> tuple[int, int]:
        """The range with one end at the edge of a bar and the other where it is: inside the bars, and at least one."""
        assert self._scale is not None
        size = len(self._scale)
        if end is End.START:
            stop = max(1, math.ceil(fixed))
            return min(max(0, edge), stop - 1), stop
        start = min(math.floor(fixed), size - 1)
        return start, min(max(start + 1, edge), size)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        drag = self._drag
        if drag is None or event.button() != Qt.MouseButton.LeftButton:
            super().mouseReleaseEvent(event)
            return
        if drag.range is not None:
            self._choose(drag.range)
        elif not drag.is_on_grip:
            self._choose((drag.bar, drag.bar + 1))
        else:
            self._let_go()
            self._show_state()
        event.accept()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self._scale is not None:
            self._choose(None)
            event.accept()

    def leaveEvent(self, event: QEvent) -> None:
        self._hover(None)
        super().leaveEvent(event)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            at = self._logical(event.pos())
            bar = self._bar_at(at)
            if bar is not None and at.y() >= self._plot.top():
                said, place = self.bar_tip(bar), self._on_screen(self._column_of(bar))
            elif self._undated_area().contains(at):
                said, place = self.undated_tip, self._on_screen(self._undated_area())
            else:
                said, place = self.range_tip, self.rect()
            QToolTip.showText(event.globalPos(), tip(said), self, place)
            return True
        return super().event(event)

    def _hover(self, at: QPoint | None) -> None:
        bar = None if at is None else self._bar_at(at)
        on_handle = at is not None and bar is not None and self._handle_at(at)[0] is not None
        self.setCursor(Qt.CursorShape.SizeHorCursor if on_handle else Qt.CursorShape.ArrowCursor)
        if bar != self._hovered:
            self._hovered = bar
            self.update()

    # Places, all as if time ran from left to right

    def _on_screen(self, rect: QRect) -> QRect:
        return QStyle.visualRect(self.layoutDirection(), self.rect(), rect) if self.isRightToLeft() else rect

    def _logical(self, at: QPoint) -> QPoint:
        return QStyle.visualPos(self.layoutDirection(), self.rect(), at)

    def _measure(self) -> None:
        """Find the places of everything anew, once for many drawings: `_plot` is where the bars stand."""
        top = TOP + math.ceil(theme().metrics("small").height()) + 2
        bottom = self.height() - UNDER - math.ceil(theme().metrics("micro").height()) - 2
        right = self._undated_area().left() - 2 * GAP if self._has_undated else self.width() - SIDE
        self._plot = QRect(SIDE, top, max(1, right - SIDE), max(1, bottom - top))
        self._bar_width = min(MAX_BAR, self._plot.width() / max(1, len(self._scale or ())))
        self._labels = []
        for label in self._scale.labels_for(self._label_room) if self._scale is not None else ():
            left, width = self._x(label.at), text_width(label.words, "micro") + 1
            if left + width <= self._plot.right() + GAP:
                box = QRect(left, self._plot.bottom() + 3, width, self.height() - UNDER - self._plot.bottom() - 3)
                self._labels.append((box, label.words))

    def _label_room(self, words: str) -> float:
        return (text_width(words, "micro") + LABEL_GAP) / self._bar_width

    @property
    def _has_undated(self) -> bool:
        return self._histogram is not None and self._histogram.undated > 0

    def _undated_area(self) -> QRect:
        """The column of the bar for items without a date, with its number and its name."""
        if not self._has_undated:
            return QRect()
        assert self._histogram is not None
        words = (tr(UNDATED_LABEL), self._undated_words())
        width = max(UNDATED, *(text_width(each, "micro") for each in words)) + 2
        return QRect(self.width() - SIDE - width, 0, width, self.height())

    def _undated_words(self) -> str:
        assert self._histogram is not None
        undated = self._histogram.undated
        return at_least(undated) if self._histogram.truncated else number(undated)

    def _x(self, place: float) -> int:
        return self._plot.left() + round(place * self._bar_width)

    def _column_of(self, bar: int) -> QRect:
        left = self._x(bar)
        return QRect(left, 0, self._x(bar + 1) - left, self.height())

    def bar_rect(self, bar: int) -> QRect:
        """Where the column of a bar is in the widget."""
        return self._on_screen(self._column_of(bar))

    def undated_rect(self) -> QRect:
        """Where the bar for items without a date is in the widget; empty while there are none."""
        return self._on_screen(self._undated_area())

    def _bar_at(self, at: QPoint) -> int | None:
        """The bar at a place, whatever its height; beside the first and the last, while a grip reaches there, they."""
        scale = self._scale
        if scale is None:
            return None
        place = (at.x() - self._plot.left()) / self._bar_width
        reach = GRAB / 2 / self._bar_width
        if not -reach <= place <= len(scale) + reach:
            return None
        return min(max(0, math.floor(place)), len(scale) - 1)

    def _grip(self, place: float) -> QRect:
        plot = self._plot
        return QRect(self._x(place) - GRIP.width() // 2, plot.center().y() - GRIP.height() // 2, 8, GRIP.height())

    def handle_rect(self, end: End) -> QRect | None:
        """Where the grip of an end of the range is in the widget; None while there is no range."""
        chosen = self.range
        return None if chosen is None else self._on_screen(self._grip(chosen[0 if end is End.START else 1]))

    def _handle_at(self, at: QPoint) -> tuple[End | None, bool]:
        """The end whose handle a press there takes, and whether it is right on its grip."""
        chosen = self.range
        if chosen is None:
            return None, False
        away = {end: abs(at.x() - self._x(place)) for end, place in zip(End, chosen, strict=True)}
        # Of two at one place the one towards which there is room.
        end = End.STOP if away[End.STOP] <= away[End.START] and at.x() >= self._x(chosen[0]) else End.START
        if away[end] > GRAB // 2:
            return None, False
        return end, self._grip(chosen[0 if end is End.START else 1]).contains(at)

    # Drawing

    def sizeHint(self) -> QSize:
        return QSize(240, self._height_wanted())

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self._height_wanted())

    def _height_wanted(self) -> int:
        words = (
            TOP + math.ceil(theme().metrics("small").height()) + math.ceil(theme().metrics("micro").height()) + UNDER
        )
        return max(theme().row_height("timeline"), words + BARS_LEAST)  # larger text must not take it from the bars

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._measure()
        self._place_buttons()

    @property
    def _buttons(self) -> list[QPushButton]:
        """Those that are there, from the right: what stands above the bars ends before them."""
        return [
            button
            for button in (self.count_all_button, self.later_button, self.earlier_button)
            if not button.isHidden()
        ]

    def _place_buttons(self) -> None:
        right = self._right_above()
        for button in self._buttons:
            size = button.sizeHint()
            height = min(size.height(), self._plot.top())
            button.setGeometry(self._on_screen(QRect(right - size.width(), 0, size.width(), height)))
            right -= size.width() + GAP

    def _right_above(self) -> int:
        """Where the room above the bars ends."""
        if self._has_undated and self.count_all_button.isHidden():
            return self._undated_area().left() - GAP
        return self.width() - SIDE

    def _on_theme_changed(self) -> None:
        self.updateGeometry()
        self._measure()
        self._place_buttons()
        self.update()

    def _heights(self) -> dict[date | None, float]:
        """The share of the height that each bar has, by its first day."""
        if self._scale is None:
            return {}
        most = max(self._scale.counts)
        return {day: count / most for day, count in zip(self._scale.days, self._scale.counts, strict=False)}

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme().color("base"))
        if self._scale is not None:
            chosen = self.range
            self._paint_range_ground(painter, chosen)
            self._paint_bars(painter, chosen)
            self._paint_axis(painter)
            self._paint_handles(painter, chosen)
        self._paint_words(painter)
        if self._has_undated:
            self._paint_undated(painter)
        painter.end()

    def _range_top(self, chosen: tuple[float, float]) -> int:
        """Where range and handles begin: at the top, unless the words there would run over an end."""
        has_room = self._x(chosen[0]) + GAP + text_width(self._said, "small") < self._x(chosen[1])
        return TOP if has_room else self._plot.top()

    def _paint_range_ground(self, painter: QPainter, chosen: tuple[float, float] | None) -> None:
        plot = self._plot
        if chosen is not None:
            top, left = self._range_top(chosen), self._x(chosen[0])
            ground = QRect(left, top, self._x(chosen[1]) - left, plot.bottom() + 1 - top)
            painter.fillRect(self._on_screen(ground), mix(theme().color("base"), theme().color("soft"), 0.5))
        if self._hovered is not None and self._scale is not None and self._hovered < len(self._scale):
            column = self._column_of(self._hovered)
            column.setTop(plot.top())
            column.setBottom(plot.bottom())
            painter.fillRect(self._on_screen(column), theme().color("idle"))

    def _paint_bars(self, painter: QPainter, chosen: tuple[float, float] | None) -> None:
        plot = self._plot
        progress = self._bars.currentValue() if self._bars.state() == QVariantAnimation.State.Running else 1.0
        bars = []
        for at, (day, share) in enumerate(self._heights().items()):
            before = self._before.get(day, share)
            height = math.ceil((before + (share - before) * float(progress)) * plot.height())
            if share or height:
                left, right = self._x(at), self._x(at + 1)
                width = max(1, right - left - (1 if right - left > 2 else 0))
                tall = max(LEAST_BAR, height)
                bars.append(self._on_screen(QRect(left, plot.bottom() + 1 - tall, width, tall)))
        inside = None if chosen is None else QRect(self._x(chosen[0]), 0, self._x(chosen[1]) - self._x(chosen[0]), 999)
        if inside is not None or self._is_stale:
            self._fill(painter, bars, "barDim")
        if not self._is_stale:
            painter.save()
            if inside is not None:
                painter.setClipRect(self._on_screen(inside))
            self._fill(painter, bars, "bar")
            painter.restore()

    def _fill(self, painter: QPainter, bars: list[QRect], token: str) -> None:
        painter.save()
        painter.setPen(Qt.PenStyle.NoPen)
        # In narrow ones a pattern would have nothing to show.
        hatched = theme().is_high_contrast and self._bar_width >= HATCHED_FROM
        if hatched:
            painter.setBrush(theme().color("base"))  # the dim ones must not shine through
            painter.drawRects(bars)
        pattern = Qt.BrushStyle.BDiagPattern if hatched else Qt.BrushStyle.SolidPattern
        painter.setBrush(QBrush(theme().color(token), pattern))
        painter.drawRects(bars)
        painter.restore()

    def _paint_axis(self, painter: QPainter) -> None:
        assert self._scale is not None
        plot = self._plot
        base = QRect(plot.left(), plot.bottom() + 1, plot.width(), 1)
        painter.fillRect(self._on_screen(base), theme().color("line"))
        for box, words in self._labels:
            draw_text(painter, self._on_screen(box), words, "micro", "text3")

    def _paint_handles(self, painter: QPainter, chosen: tuple[float, float] | None) -> None:
        assert self._scale is not None
        if chosen is None and not self.hasFocus():
            return
        plot = self._plot
        shown = chosen or (0.0, float(len(self._scale)))
        top = self._range_top(shown)
        for end, place in zip(End, shown, strict=True):
            line = QRect(self._x(place), top, 1, plot.bottom() + 1 - top)
            painter.fillRect(self._on_screen(line), theme().color("accent"))
            grip = self._on_screen(self._grip(place))
            fill_round(painter, grip, RADIUS, "raised")
            outline_round(painter, grip, RADIUS, "accent")
            mark = QRect(grip.left() + 3, grip.center().y() - 3, 2, 7)
            painter.fillRect(mark, theme().color("accent"))
            if self.hasFocus() and end is self._end:
                draw_focus_ring(painter, grip.adjusted(-3, -3, 3, 3), RADIUS + 3)

    def _paint_words(self, painter: QPainter) -> None:
        words, plot = self._said, self._plot
        width = text_width(words, "small") + 1
        right = self._right_above() - sum(button.width() + GAP for button in self._buttons)
        chosen = self.range
        left = plot.left() if chosen is None else self._x(chosen[0]) + GAP
        left = max(plot.left(), min(left, right - width))
        box = QRect(left, TOP, max(0, min(width, right - left)), plot.top() - TOP)
        token = "caution" if self._error else "text2" if chosen is not None else "text3"
        draw_text(painter, self._on_screen(box), words, "small", token)

    def _paint_undated(self, painter: QPainter) -> None:
        assert self._histogram is not None
        plot, area = self._plot, self._undated_area()
        most = max((*(self._scale.counts if self._scale is not None else ()), self._histogram.undated))
        label = math.ceil(theme().metrics("micro").height())
        room = plot.height() - label - 2  # its number stands above it
        tall = max(6, math.ceil(self._histogram.undated / most * room))
        box = QRect(area.center().x() - UNDATED // 2 + 1, plot.bottom() + 1 - tall, UNDATED, tall)
        on_screen = self._on_screen(box)
        painter.fillRect(on_screen, QBrush(theme().color("edge"), Qt.BrushStyle.BDiagPattern))
        outline_round(painter, on_screen, 1, "edge")
        above = QRect(area.left(), box.top() - label - 1, area.width(), label)
        centre = Qt.AlignmentFlag.AlignHCenter
        draw_text(painter, self._on_screen(above), self._undated_words(), "micro", "text2", centre)
        below = QRect(area.left(), plot.bottom() + 3, area.width(), self.height() - UNDER - plot.bottom() - 3)
        draw_text(painter, self._on_screen(below), tr(UNDATED_LABEL), "micro", "text3", centre)


def _has_range(filter: MetaFilter) -> bool:
    return filter.observed_after is not None or filter.observed_before is not None


def _without_range(filter: MetaFilter) -> MetaFilter:
    return filter.model_copy(update={"observed_after": None, "observed_before": None})


def _range_words(filter: MetaFilter, zone: tzinfo) -> str:
    """The range of a filter as its chip says it: `1 Jan 2026 to 30 Jun 2026`, `from 1 Jan 2026`; empty for none."""
    times = MetaFilter(observed_after=filter.observed_after, observed_before=filter.observed_before)
    found = conditions(times, zone)
    if not found:
        return ""
    if times.observed_before is None:
        return tr("from {time}", time=found[0].value)
    if times.observed_after is None:
        return tr("before {time}", time=found[0].value)
    return found[0].value


def _times(filter: MetaFilter, zone: tzinfo) -> str:
    """The ends of a range to the second, in a zone and in UTC."""
    ends = [end for end in (filter.observed_after, filter.observed_before) if end is not None]
    lines = ([when_full(end, zone) for end in ends], [utc(end) for end in ends])
    return "\n".join(from_to(line[0], line[-1]) for line in lines if line)
