"""The one style sheet, made of the theme's tokens and measures.

Dynamic properties, set before a widget is shown:
- `kind` on buttons: primary, danger (filled), dangerText, link, flat, small, segment; on tool buttons also button; on
  combo boxes: flat; on line edits: search, small, mono, bare; on text edits: field.
- `tone` on labels: text2, text3, caution, danger, accent, strong, title; `textRole` on anything: a role of the theme's.
- `surface` on frames and views: window, panel, base, sunken, card, popup, caution, agent, head and panelHead (hairline
  below),
  foot and dialogFoot (hairline above), rule and vrule (the hairline itself).

Once a rule touches a border or a background Fusion's own drawing of that control is gone whole, so each control here
states all of its states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from string import Template
from typing import TYPE_CHECKING

from PySide6.QtGui import QFont

if TYPE_CHECKING:
    from explorer.ui.theme import Theme

_STATUS_EDGES_PX = 5  # what Qt leaves free above and below all that stands in a status line

FRAMES = """
QMainWindow, QStatusBar, QToolBar { background: $window; }
QMainWindow::separator { width: 4px; height: 4px; background: $gutter; }
QMainWindow::separator:hover { background: $barDim; }
QSplitter::handle { background: $window; }
QSplitter::handle:horizontal { width: 4px; }
QSplitter::handle:vertical { height: 4px; }
QSplitter::handle:hover { background: $barDim; }
QToolBar { border: none; spacing: 4px; padding: 0 8px; icon-size: 16px; }
QToolBar::separator { background: $line; width: 1px; margin: 6px 4px; }
QStatusBar { border: none; color: $text2; font-size: ${small_px}px; min-height: ${status_h}px; }
QStatusBar::item { border: none; }
QStatusBar QLabel { color: $text2; font-size: ${small_px}px; }
QDialog { background: $base; }
QDockWidget { color: $text; }

*[surface="window"] { background: $window; border: none; }
*[surface="panel"] { background: $panel; border: none; }
*[surface="base"] { background: $base; border: none; }
*[surface="sunken"] { background: $sunken; border: none; border-radius: 6px; }
*[surface="card"] { background: $raised; border: 1px solid $line; border-radius: 8px; }
*[surface="popup"] { background: $base; border: 1px solid $barDim; }
*[surface="agent"] { background: $soft; border: none; border-bottom: 1px solid $line; }
*[surface="caution"] { background: $cautionGround; border: 1px solid $cautionEdge; border-radius: 6px; }
*[surface="head"] { background: $base; border: none; border-bottom: 1px solid $line; }
*[surface="panelHead"] { background: $panel; border: none; border-bottom: 1px solid $line; }
*[surface="foot"] { background: $base; border: none; border-top: 1px solid $line; }
*[surface="dialogFoot"] { background: $window; border: none; border-top: 1px solid $line; }
*[surface="searchBox"] { background: $raised; border: 1px solid $line; border-radius: 6px; }
*[surface="searchBox"]:hover { border-color: $edge; }
*[surface="searchBox"][active="true"] { border: 2px solid $accent; }
*[surface="vrule"] { background: $line; border: none; max-width: 1px; min-width: 1px; }
*[surface="rule"] { background: $line; border: none; max-height: 1px; min-height: 1px; }

QScrollArea { background: transparent; border: none; }
QScrollArea > QWidget > QWidget { background: transparent; }
QAbstractScrollArea::corner { background: transparent; border: none; }
QGroupBox { border: none; margin-top: ${row_h}px; font-weight: 600; }
QGroupBox::title { subcontrol-origin: margin; subcontrol-position: top left; padding: 4px 0; color: $text; }
"""

LABELS = """
QLabel { background: transparent; border: none; }
QLabel[tone="text2"] { color: $text2; }
QLabel[tone="text3"] { color: $text3; }
QLabel[tone="caution"] { color: $caution; }
QLabel[tone="danger"] { color: $danger; }
QLabel[tone="accent"] { color: $accent; }
QLabel[tone="strong"] { color: $text; font-weight: 600; }
QLabel[tone="title"] { color: $text; font-weight: 600; font-size: ${title_px}px; }
QLabel:disabled { color: $disabled; }
"""

BUTTONS = """
QPushButton, QToolButton[kind="button"] {
    background: $raised; color: $text; border: 1px solid $line; border-radius: 6px;
    padding: 0 11px; min-height: ${button_in}px; font-weight: 500;
}
QPushButton:hover, QToolButton[kind="button"]:hover { background: $idle; }
QPushButton:default { border: 1px solid $edge; }
QPushButton:pressed, QPushButton:checked, QToolButton[kind="button"]:pressed {
    background: $soft; color: $softText;
}
QPushButton:focus, QToolButton[kind="button"]:focus {
    border: 2px solid $accent; padding: 0 10px; min-height: ${button_in_focus}px;
}
QPushButton:disabled, QToolButton[kind="button"]:disabled {
    background: $idle; color: $disabled; border: 1px solid $idle;
}
QPushButton::menu-indicator { image: url($chevron_down); width: 12px; height: 12px; right: 6px;
    subcontrol-origin: padding; subcontrol-position: center right; }

QPushButton[kind="primary"] { background: $accent; color: $onAccent; border: 1px solid $accent; font-weight: 600; }
QPushButton[kind="primary"]:hover { background: $accentHover; border-color: $accentHover; }
QPushButton[kind="primary"]:pressed { background: $accentDown; border-color: $accentDown; }
QPushButton[kind="primary"]:focus { border: 1px solid $accent; padding: 0 11px; min-height: ${button_in}px; }
QPushButton[kind="primary"]:disabled { background: $idle; color: $disabled; border: 1px solid $idle; }

QPushButton[kind="danger"] {
    background: $dangerFill; color: $onDanger; border: 1px solid $dangerFill; font-weight: 600;
}
QPushButton[kind="danger"]:hover { background: $dangerHover; border-color: $dangerHover; }
QPushButton[kind="danger"]:pressed { background: $dangerDown; border-color: $dangerDown; }
QPushButton[kind="danger"]:focus { border: 1px solid $dangerFill; padding: 0 11px; min-height: ${button_in}px; }
QPushButton[kind="danger"]:disabled { background: $idle; color: $disabled; border: 1px solid $idle; }

QPushButton[kind="dangerText"] { color: $danger; }
QPushButton[kind="dangerText"]:hover { background: $idle; }
QPushButton[kind="dangerText"]:focus { border: 2px solid $danger; }
QPushButton[kind="dangerText"]:disabled { color: $disabled; }

QPushButton[kind="link"], QToolButton[kind="link"] {
    background: transparent; color: $accent; border: 1px solid transparent; padding: 0 5px; font-weight: 500;
    min-height: ${small_in}px;
}
QPushButton[kind="link"]:hover, QToolButton[kind="link"]:hover { background: $idle; color: $accent; }
QPushButton[kind="link"]:pressed, QToolButton[kind="link"]:pressed { background: $soft; color: $softText; }
QPushButton[kind="link"]:focus, QToolButton[kind="link"]:focus {
    border: 2px solid $accent; padding: 0 4px; min-height: ${small_in_focus}px;
}
QPushButton[kind="link"]:disabled, QToolButton[kind="link"]:disabled {
    background: transparent; color: $disabled; border: 1px solid transparent;
}

QToolButton, QPushButton[kind="flat"] {
    background: transparent; color: $text; border: 1px solid transparent; border-radius: 6px;
    padding: 0 5px; min-height: ${button_in}px; min-width: 16px; font-weight: 500;
}
QToolButton:hover, QPushButton[kind="flat"]:hover { background: $idle; border: 1px solid transparent; }
QToolButton:pressed, QToolButton:checked, QPushButton[kind="flat"]:pressed, QPushButton[kind="flat"]:checked {
    background: $soft; color: $softText; border: 1px solid transparent;
}
QToolButton:focus, QPushButton[kind="flat"]:focus {
    border: 2px solid $accent; padding: 0 4px; min-height: ${button_in_focus}px;
}
QToolButton:disabled, QPushButton[kind="flat"]:disabled {
    background: transparent; color: $disabled; border: 1px solid transparent;
}
QPushButton, QToolButton { icon-size: 16px; }
QToolButton::menu-indicator { image: none; width: 0; }
QToolButton[popupMode="1"] { padding-right: 18px; }
QToolButton::menu-button { border: none; width: 16px; }
QToolButton::menu-arrow { image: url($chevron_down); width: 12px; height: 12px; }

QStatusBar QPushButton[kind="link"] { min-height: ${status_in}px; }
QStatusBar QPushButton[kind="link"]:focus { min-height: ${status_in_focus}px; }
QToolButton[kind="small"], QPushButton[kind="small"] { min-height: ${small_in}px; padding: 0 3px; }
QToolButton[kind="small"]:focus, QPushButton[kind="small"]:focus { min-height: ${small_in_focus}px; padding: 0 2px; }
QPushButton[kind="small"], QPushButton[kind="flat"] { padding: 0 9px; }
QPushButton[kind="small"]:focus, QPushButton[kind="flat"]:focus { padding: 0 8px; }

QToolButton[kind="segment"], QPushButton[kind="segment"] {
    background: transparent; color: $text2; border: 1px solid transparent; border-radius: 5px;
    padding: 0 9px; min-height: ${segment_in}px; font-size: ${small_px}px; font-weight: 500;
}
QToolButton[kind="segment"]:hover, QPushButton[kind="segment"]:hover { background: $idle; color: $text; }
QToolButton[kind="segment"]:checked, QPushButton[kind="segment"]:checked {
    background: $raised; color: $text; border: 1px solid $line; font-weight: 600;
}
QToolButton[kind="segment"]:focus, QPushButton[kind="segment"]:focus {
    border: 2px solid $accent; padding: 0 8px; min-height: ${segment_in_focus}px;
}
QToolButton[kind="segment"]:disabled, QPushButton[kind="segment"]:disabled {
    background: transparent; color: $disabled; border: 1px solid transparent;
}

QCheckBox, QRadioButton {
    background: transparent; color: $text; spacing: 8px; border: 2px solid transparent; border-radius: 6px;
    padding: 1px 3px;
}
QCheckBox:focus, QRadioButton:focus { border: 2px solid $accent; }
QCheckBox:disabled, QRadioButton:disabled { color: $disabled; }
QCheckBox::indicator, QRadioButton::indicator {
    width: ${tick}px; height: ${tick}px; border: 1px solid $edge; background: $raised; border-radius: 4px;
}
QRadioButton::indicator { border-radius: ${tick_round}px; }
QCheckBox::indicator:hover, QRadioButton::indicator:hover { border: 1px solid $accent; background: $hover; }
QCheckBox::indicator:checked { border: 1px solid $accent; background: $accent; image: url($check_onAccent); }
QCheckBox::indicator:indeterminate { border: 1px solid $accent; background: $accent; image: url($minus_onAccent); }
QRadioButton::indicator:checked { border: 1px solid $accent; background: $raised; image: url($dot_accent); }
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled { border: 1px solid $line; background: $idle; }
QCheckBox::indicator:checked:disabled { image: url($check_disabled); }
QCheckBox::indicator:indeterminate:disabled { image: url($minus_disabled); }
QRadioButton::indicator:checked:disabled { image: url($dot_disabled); }
"""

FIELDS = """
QLineEdit, QAbstractSpinBox, QComboBox, QTextEdit[kind="field"], QPlainTextEdit[kind="field"] {
    background: $raised; color: $text; border: 1px solid $field; border-radius: 6px; padding: 0 9px;
    selection-background-color: $soft; selection-color: $softText;
}
QLineEdit, QAbstractSpinBox, QComboBox { min-height: ${field_in}px; }
QAbstractSpinBox { max-height: ${field_in}px; }
QAbstractSpinBox:focus { max-height: ${field_in_focus}px; }
QLineEdit:hover, QAbstractSpinBox:hover, QComboBox:hover,
QTextEdit[kind="field"]:hover, QPlainTextEdit[kind="field"]:hover { border: 1px solid $edgeHover; }
QLineEdit:focus, QAbstractSpinBox:focus, QComboBox:focus, QComboBox:on,
QTextEdit[kind="field"]:focus, QPlainTextEdit[kind="field"]:focus { border: 2px solid $accent; padding: 0 8px; }
QLineEdit:focus, QAbstractSpinBox:focus, QComboBox:focus, QComboBox:on { min-height: ${field_in_focus}px; }
QLineEdit:disabled, QAbstractSpinBox:disabled, QComboBox:disabled,
QTextEdit[kind="field"]:disabled, QPlainTextEdit[kind="field"]:disabled {
    background: $sunken; color: $disabled; border: 1px solid $line;
}
QLineEdit[readOnly="true"] { background: $sunken; border: 1px solid $line; }
QLineEdit[readOnly="true"]:focus { border: 2px solid $accent; }
QLineEdit[kind="search"], QLineEdit[kind="small"] { border: 1px solid $line; }
QLineEdit[kind="search"]:hover, QLineEdit[kind="small"]:hover { border: 1px solid $edge; }
QLineEdit[kind="search"]:focus, QLineEdit[kind="small"]:focus { border: 2px solid $accent; }
QLineEdit[kind="small"] { min-height: ${small_in}px; font-size: ${small_px}px; }
QLineEdit[kind="small"]:focus { min-height: ${small_in_focus}px; }
QLineEdit[kind="bare"], QLineEdit[kind="bare"]:hover, QLineEdit[kind="bare"]:focus, QLineEdit[kind="bare"]:disabled {
    background: transparent; border: none; padding: 0; min-height: ${small_in}px;
}
QLineEdit[kind="mono"] { font-family: "$mono_family"; font-size: ${mono_px}px; }
QTextEdit[kind="field"], QPlainTextEdit[kind="field"] { padding: 4px 5px; }
QTextEdit[kind="field"]:focus, QPlainTextEdit[kind="field"]:focus { padding: 3px 4px; }
QTextEdit, QPlainTextEdit {
    background: transparent; color: $text; border: none;
    selection-background-color: $soft; selection-color: $softText;
}

QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {
    background: transparent; border: none; width: 16px; subcontrol-origin: border; margin: 2px 3px 0 0;
}
QAbstractSpinBox::up-button { subcontrol-position: top right; }
QAbstractSpinBox::down-button { subcontrol-position: bottom right; margin: 0 3px 2px 0; }
QAbstractSpinBox::up-button:hover, QAbstractSpinBox::down-button:hover { background: $idle; border-radius: 3px; }
QAbstractSpinBox::up-arrow { image: url($chevron_up); width: 10px; height: 10px; }
QAbstractSpinBox::down-arrow { image: url($chevron_down); width: 10px; height: 10px; }
QAbstractSpinBox::up-arrow:disabled, QAbstractSpinBox::up-arrow:off { image: url($chevron_up_disabled); }
QAbstractSpinBox::down-arrow:disabled, QAbstractSpinBox::down-arrow:off { image: url($chevron_down_disabled); }

QDateTimeEdit::drop-down { border: none; width: 20px; subcontrol-origin: padding; subcontrol-position: center right; }
QDateTimeEdit::drop-down:hover { background: $idle; border-radius: 4px; }

#qt_calendar_prevmonth { qproperty-icon: url($chevron_left); }
#qt_calendar_nextmonth { qproperty-icon: url($chevron_right); }

QComboBox { padding: 0 8px; }
QComboBox:focus, QComboBox:on { padding: 0 7px; }
QComboBox::drop-down { border: none; width: 20px; subcontrol-origin: padding; subcontrol-position: center right; }
QComboBox::down-arrow { image: url($chevron_down); width: 12px; height: 12px; }
QComboBox::down-arrow:disabled { image: url($chevron_down_disabled); }
QComboBox[kind="flat"] {
    background: transparent; border: 1px solid transparent; font-weight: 500; padding: 0 6px;
    min-height: ${small_in}px;
}
QComboBox[kind="flat"]:hover { background: $idle; border: 1px solid transparent; }
QComboBox[kind="flat"]:focus, QComboBox[kind="flat"]:on {
    border: 2px solid $accent; padding: 0 5px; min-height: ${small_in_focus}px;
}
QComboBox[kind="flat"]:disabled { background: transparent; border: 1px solid transparent; }
QComboBox QAbstractItemView {
    background: $raised; color: $text; border: 1px solid $line; outline: none; padding: 4px;
    selection-background-color: $soft; selection-color: $softText;
}
"""

BARS = """
QScrollBar { background: transparent; border: none; margin: 0; }
QScrollBar:vertical { width: 10px; }
QScrollBar:horizontal { height: 10px; }
QScrollBar::handle { background: $barDim; border-radius: 3px; }
QScrollBar::handle:vertical { min-height: 28px; margin: 2px; }
QScrollBar::handle:horizontal { min-width: 28px; margin: 2px; }
QScrollBar::handle:hover, QScrollBar::handle:pressed { background: $edge; }
QScrollBar::handle:disabled { background: transparent; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; border: none; background: transparent; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }

QSlider { border: 2px solid transparent; border-radius: 6px; padding: 0 2px; }
QSlider::groove:horizontal { height: 4px; border: none; border-radius: 2px; background: $barDim; }
QSlider::sub-page:horizontal { height: 4px; border: none; border-radius: 2px; background: $accent; }
QSlider::add-page:horizontal { height: 4px; border: none; border-radius: 2px; background: $barDim; }
QSlider::handle:horizontal {
    width: 14px; height: 14px; margin: -6px 0; border: 1px solid $edge; border-radius: 8px; background: $raised;
}
QSlider::handle:horizontal:hover { border: 1px solid $accent; }
QSlider::handle:horizontal:focus { width: 12px; height: 12px; border: 2px solid $accent; }
QSlider::handle:horizontal:disabled { border: 1px solid $line; background: $idle; }
QSlider::sub-page:horizontal:disabled { background: $barDim; }

QProgressBar {
    background: $barDim; border: none; border-radius: 2px; min-height: 4px; max-height: 4px; color: transparent;
}
QProgressBar::chunk { background: $accent; border-radius: 2px; }
QProgressBar:disabled { background: $idle; }
QProgressBar::chunk:disabled { background: $barDim; }
"""

VIEWS = """
QAbstractItemView { background: $base; color: $text; border: none; outline: none; }
QAbstractItemView[surface="panel"] { background: $panel; }
QAbstractItemView[surface="window"] { background: $window; }
QAbstractItemView[surface="card"] { background: $raised; border: 1px solid $line; border-radius: 8px; }
QHeaderView { background: transparent; border: none; }
QHeaderView::section {
    background: $base; color: $text2; border: none; border-bottom: 1px solid $line; padding: 0 8px;
    font-size: ${small_px}px; font-weight: 500; min-height: ${head_in}px;
}
QHeaderView::section:hover { background: $hover; }
QHeaderView::section:pressed { background: $idle; }
QHeaderView::section:disabled { color: $text3; }
QHeaderView::up-arrow { image: url($arrow_up); width: 12px; height: 12px; }
QHeaderView::down-arrow { image: url($arrow_down); width: 12px; height: 12px; }
QTableCornerButton::section { background: $base; border: none; border-bottom: 1px solid $line; }

QTabWidget::pane { border: none; border-top: 1px solid $line; background: $base; }
QTabBar { background: transparent; border: none; font-weight: 500; }
QTabBar::tab {
    background: transparent; color: $text2; border: none; border-bottom: 2px solid transparent;
    padding: 0 12px; min-height: ${tab_in}px; font-size: ${small_px}px; font-weight: 500;
}
QTabBar::tab:hover { background: $hover; color: $text; }
QTabBar::tab:selected { color: $text; border-bottom: 2px solid $accent; }
QTabBar::tab:selected:focus { background: $soft; color: $softText; }
QTabBar::tab:disabled { color: $disabled; }
QTabBar::close-button { image: url($close); width: 12px; height: 12px; }
QTabBar QToolButton { background: $base; border: none; border-radius: 0; }
"""


def sheet(theme: Theme, image: Callable[[str, str], str]) -> str:
    """The style sheet of `theme`; `image(name, token)` is the path of an icon in a colour."""
    parts = [FRAMES, LABELS, *_text_roles(theme), BUTTONS, FIELDS, BARS, VIEWS]
    return Template("\n".join(parts)).substitute(_values(theme, image))


def _text_roles(theme: Theme) -> Iterator[str]:
    """Fonts of labels, buttons and text edits by the property `textRole`."""
    for role in theme.roles():
        font = theme.font(role)
        family = f'font-family: "{font.family()}"; ' if role.startswith("mono") else ""
        yield (
            f'*[textRole="{role}"] {{ {family}font-size: {font.pixelSize()}px; '
            f"font-weight: {QFont.Weight(font.weight()).value}; }}"
        )


def _values(theme: Theme, image: Callable[[str, str], str]) -> dict[str, str | int]:
    values: dict[str, str | int] = {name: theme.color(name).name() for name in theme.tokens()}
    values |= {name: color.name() for name, color in theme.derived().items()}
    button, small, field = theme.row_height("button"), theme.row_height("chip"), theme.row_height("field")
    tick = theme.size_px("body") + 1
    tick += tick % 2  # an odd box cannot have its mark in the middle
    border, focus = 2, 4  # both edges of a 1 px and of a 2 px border
    # Of two colours only, what separates panels must be a line.
    values["gutter"] = values["line" if theme.is_high_contrast else "window"]
    values |= {
        "small_px": theme.size_px("small"),
        "title_px": theme.size_px("title"),
        "mono_px": theme.size_px("mono"),
        "mono_family": theme.font("mono").family(),
        "row_h": theme.row_height("row"),
        "status_h": theme.row_height("status"),
        "status_in": theme.row_height("status") - _STATUS_EDGES_PX - border,
        "status_in_focus": theme.row_height("status") - _STATUS_EDGES_PX - focus,
        "button_in": button - border,
        "button_in_focus": button - focus,
        "small_in": small - border,
        "small_in_focus": small - focus,
        "segment_in": small - 4 - border,  # inside a pill with 2 px to spare all round
        "segment_in_focus": small - 4 - focus,
        "field_in": field - border,
        "field_in_focus": field - focus,
        "head_in": theme.row_height("columnHead") - 1,
        "tab_in": theme.row_height("tab") - 2,
        "tick": tick - 2,
        "tick_round": tick // 2,
        "chevron_down": image("chevron-down", "text2"),
        "chevron_down_disabled": image("chevron-down", "disabled"),
        "chevron_left": image("chevron-left", "softText"),
        "chevron_right": image("chevron-right", "softText"),
        "chevron_up": image("chevron-up", "text2"),
        "chevron_up_disabled": image("chevron-up", "disabled"),
        "arrow_up": image("arrow-up", "text2"),
        "arrow_down": image("arrow-down", "text2"),
        "check_onAccent": image("check", "onAccent"),
        "check_disabled": image("check", "disabled"),
        "minus_onAccent": image("minus", "onAccent"),
        "minus_disabled": image("minus", "disabled"),
        "dot_accent": image("dot", "accent"),
        "dot_disabled": image("dot", "disabled"),
        "close": image("close", "text2"),
    }
    return values
