"""How many tokens a document may have: a slider over five powers of ten, and a field beside it."""

from __future__ import annotations

import math
import re

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QValidator
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QSlider, QSpinBox, QWidget

from explorer.context.spec import DEFAULT_BUDGET_TOKENS, MOST_BUDGET_TOKENS
from explorer.i18n import tr
from explorer.text import number
from explorer.ui.labels import plain_label
from explorer.ui.rows import text_width
from explorer.ui.theme import theme

LEAST, MOST = 1, MOST_BUDGET_TOKENS
STEP, PAGE = 100, 1_000
_PLACES = 1_000  # of the slider
_BLANKS = re.compile(r"\s")
_SLIDER_PX = 120
_FIELD_AROUND = 42  # its edges, and the arrows in it


def budget_at(place: int) -> int:
    """The tokens at a place of the slider: a number that can be said, of two digits and noughts."""
    tokens: float = MOST ** (place / _PLACES)
    unit = 10 ** max(0, math.floor(math.log10(tokens)) - 1)
    return int(min(MOST, max(LEAST, round(tokens / unit) * unit)))


def place_of(tokens: int) -> int:
    """The place of the slider for so many tokens."""
    return round(_PLACES * math.log(max(LEAST, tokens), MOST))


def stepped(tokens: int, by: int) -> int:
    """The next multiple of `by` up or, where it is negative, down."""
    size = abs(by)
    whole = (tokens // size + 1) * size if by > 0 else (math.ceil(tokens / size) - 1) * size
    return min(MOST, max(LEAST, whole))


class BudgetSlider(QSlider):
    """Its places are logarithms; keys step by tokens all the same."""

    budget_wanted = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setObjectName("budgetSlider")
        self.setAccessibleName(tr("Budget in tokens"))
        self.setRange(0, _PLACES)
        self.setSingleStep(_PLACES // 100)
        self.setPageStep(_PLACES // 20)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._tokens = DEFAULT_BUDGET_TOKENS
        self.show_budget(self._tokens)
        self.valueChanged.connect(lambda place: self.budget_wanted.emit(budget_at(place)))

    def show_budget(self, tokens: int) -> None:
        """Stand at so many tokens, without telling of it."""
        self._tokens = tokens
        self.blockSignals(True)
        self.setValue(place_of(tokens))
        self.blockSignals(False)
        self.setToolTip(tr("{n} tokens", n=number(tokens)))
        self.setAccessibleDescription(self.toolTip())

    def sizeHint(self) -> QSize:
        return QSize(theme().scaled(_SLIDER_PX), super().sizeHint().height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {
            Qt.Key.Key_Left: STEP if self.isRightToLeft() else -STEP,
            Qt.Key.Key_Right: -STEP if self.isRightToLeft() else STEP,
            Qt.Key.Key_Down: -STEP,
            Qt.Key.Key_Up: STEP,
            Qt.Key.Key_PageDown: -PAGE,
            Qt.Key.Key_PageUp: PAGE,
        }
        ends = {Qt.Key.Key_Home: LEAST, Qt.Key.Key_End: MOST}
        key = Qt.Key(event.key())
        if key in steps:
            self.budget_wanted.emit(stepped(self._tokens, steps[key]))
        elif key in ends:
            self.budget_wanted.emit(ends[key])
        else:
            super().keyPressEvent(event)


class BudgetSpin(QSpinBox):
    """Takes whole numbers from 1 on, written with or without spaces between groups."""

    refused = Signal(bool)  # what stands in it now is no budget; False: it is one again

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("budgetSpin")
        self.setAccessibleName(tr("Budget in tokens"))
        self.setToolTip(tr("{least} to {most} tokens", least=number(LEAST), most=number(MOST)))
        self.setRange(LEAST, MOST)
        self.setValue(DEFAULT_BUDGET_TOKENS)
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.setKeyboardTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.lineEdit().textChanged.connect(
            lambda typed: self.refused.emit(_value(typed) not in range(LEAST, MOST + 1))
        )
        self.editingFinished.connect(lambda: self.refused.emit(False))  # what was there before stands in it again

    def textFromValue(self, val: int) -> str:
        return number(val)

    def valueFromText(self, text: str) -> int:
        return _value(text) or LEAST

    def validate(self, input: str, pos: int) -> tuple[QValidator.State, str, int]:
        digits = _BLANKS.sub("", input)
        if not digits:
            return QValidator.State.Intermediate, input, pos
        if not (digits.isascii() and digits.isdigit()) or len(digits) > len(str(MOST)):
            return QValidator.State.Invalid, input, pos
        is_budget = LEAST <= int(digits) <= MOST
        return (QValidator.State.Acceptable if is_budget else QValidator.State.Intermediate), input, pos

    def fixup(self, str: str) -> str:
        """What was there before."""
        return self.textFromValue(self.value())

    def stepBy(self, steps: int) -> None:
        by = PAGE if abs(steps) >= PAGE // STEP else STEP
        self.setValue(stepped(self.value(), by if steps > 0 else -by))
        self.selectAll()

    def sizeHint(self) -> QSize:
        return QSize(text_width(number(MOST)) + _FIELD_AROUND, theme().row_height("field"))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()


def _value(typed: str) -> int | None:
    digits = _BLANKS.sub("", typed)
    return int(digits) if digits.isascii() and digits.isdigit() else None


class BudgetRow(QWidget):
    """Slider and field as one; the slider is told of at each place it is drawn over."""

    changed = Signal(int)  # by the person
    refused = Signal(bool)  # what stands in the field now is no budget

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tokens = DEFAULT_BUDGET_TOKENS
        label: QLabel = plain_label("small", "text2", tr("Budget"))
        self.slider = BudgetSlider()
        self.spin = BudgetSpin()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(label)
        row.addWidget(self.slider, 1)
        row.addWidget(self.spin)
        self.slider.budget_wanted.connect(self._set)
        self.spin.valueChanged.connect(self._set)
        self.spin.refused.connect(self.refused)

    @property
    def tokens(self) -> int:
        return self._tokens

    def show_budget(self, tokens: int) -> None:
        """Stand at so many tokens, without telling of it."""
        self._tokens = tokens
        self.slider.show_budget(tokens)
        if self.spin.value() != tokens:
            self.spin.blockSignals(True)
            self.spin.setValue(tokens)
            self.spin.blockSignals(False)

    def _set(self, tokens: int) -> None:
        if tokens != self._tokens:
            self.show_budget(tokens)
            self.changed.emit(tokens)
