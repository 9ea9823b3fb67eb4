"""Colours, type and sizes by name, and the one palette and style sheet made of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from PySide6.QtCore import QObject, Qt, QTemporaryDir, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QFontMetricsF, QGuiApplication, QPalette, QScreen
from PySide6.QtWidgets import QApplication, QStyle, QStyleFactory, QToolTip, QWidget

from explorer.ui.ring import move_ring
from explorer.ui.sheet import sheet

Mode = Literal["system", "light", "dark"]

LIGHT: Mapping[str, str] = MappingProxyType(
    {
        "window": "#EEF0EC",
        "panel": "#F6F7F4",
        "base": "#FFFFFF",
        "raised": "#FFFFFF",
        "sunken": "#E9ECE7",
        "hover": "#EFF2ED",
        "idle": "#E6E9E4",
        "text": "#1A201D",
        "text2": "#4A534E",
        "text3": "#626B66",
        "accent": "#0A6560",
        "onAccent": "#FFFFFF",
        "soft": "#D7EBE7",
        "softText": "#0B3B38",
        "bar": "#4F958D",
        "barDim": "#C6CEC8",
        "edge": "#7F8882",
        "field": "#8C958F",
        "line": "#DCE0DA",
        "danger": "#A8281D",
        "dangerFill": "#A8281D",
        "caution": "#755200",
        "cautionGround": "#FAF1DA",
        "hit": "#F7E4AE",
        "disabled": "#9AA29C",
    }
)
DARK: Mapping[str, str] = MappingProxyType(
    {
        "window": "#151818",
        "panel": "#1A1E1E",
        "base": "#1E2323",
        "raised": "#282E2E",
        "sunken": "#121515",
        "hover": "#242A2A",
        "idle": "#2A3131",
        "text": "#E4E9E7",
        "text2": "#B4BEBA",
        "text3": "#96A19D",
        "accent": "#62C9BD",
        "onAccent": "#06211E",
        "soft": "#1D4441",
        "softText": "#D9F3EF",
        "bar": "#3E8F87",
        "barDim": "#3A4343",
        "edge": "#77827E",
        "field": "#717C78",
        "line": "#2E3535",
        "danger": "#FF9082",
        "dangerFill": "#C23B2B",
        "caution": "#E4BA63",
        "cautionGround": "#2E2818",
        "hit": "#55471C",
        "disabled": "#5F6A66",
    }
)
ON_DANGER = "#FFFFFF"  # the same on both fills

# Size against the body's, weight, fixed pitch.
ROLES: Mapping[str, tuple[int, QFont.Weight, bool]] = MappingProxyType(
    {
        "body": (0, QFont.Weight.Normal, False),
        "medium": (0, QFont.Weight.Medium, False),
        "strong": (0, QFont.Weight.DemiBold, False),
        "micro": (-2, QFont.Weight.Normal, False),
        "small": (-1, QFont.Weight.Normal, False),
        "smallMedium": (-1, QFont.Weight.Medium, False),
        "smallStrong": (-1, QFont.Weight.DemiBold, False),
        "title": (2, QFont.Weight.DemiBold, False),
        "dialogTitle": (5, QFont.Weight.DemiBold, False),
        "mono": (-1, QFont.Weight.Normal, True),
        "monoSmall": (-2, QFont.Weight.Normal, True),
    }
)
DESIGN_PX = 13  # the body's size in the design, to which its widths belong
SMALLEST_PX = 9  # below this nothing can be read, whatever the system's size is

# What a row of each kind adds to one line of body text; the sum is rounded up to the 4 px grid.
PADDING: Mapping[str, int] = MappingProxyType(
    {
        "toolbar": 28,
        "chipBar": 20,
        "dockTitle": 20,
        "tab": 16,
        "listHead": 24,
        "timeline": 68,
        "columnHead": 12,
        "row": 12,
        "rowCompact": 8,
        "rowRelaxed": 20,
        "facetHead": 12,
        "treeRow": 8,
        "valueRow": 8,
        "button": 12,
        "field": 12,
        "smallField": 8,
        "chip": 8,
        "listFoot": 24,
        "status": 8,
        "dialogFoot": 36,
    }
)


def mix(first: QColor, second: QColor, share: float) -> QColor:
    """`first` with `share` (0 to 1) of `second` in it."""
    rest = 1.0 - share
    return QColor(
        round(first.red() * rest + second.red() * share),
        round(first.green() * rest + second.green() * share),
        round(first.blue() * rest + second.blue() * share),
    )


def high_contrast_table(system: QPalette) -> dict[str, str]:
    """Tokens of two colours, the system's text and ground, and its link colour: lines are as strong as text."""
    role = QPalette.ColorRole
    base, text, link = system.color(role.Base), system.color(role.Text), system.color(role.Link)
    dark = base.lightness() < text.lightness()
    fallback = DARK if dark else LIGHT
    table = dict.fromkeys(LIGHT, text.name())
    table |= dict.fromkeys(("window", "panel", "base", "raised", "sunken", "onAccent", "cautionGround"), base.name())
    table |= dict.fromkeys(("hover", "idle", "soft", "hit"), mix(base, text, 0.2).name())
    table["accent"] = link.name()
    table["barDim"] = mix(base, text, 0.5).name()
    table["disabled"] = system.color(QPalette.ColorGroup.Disabled, role.Text).name()
    table |= {name: fallback[name] for name in ("danger", "dangerFill")}
    return table


class Tokens:
    """One table of colours, by name."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._colors = {name: QColor(value) for name, value in table.items()}

    def __getitem__(self, name: str) -> QColor:
        return self._colors[name]

    def names(self) -> list[str]:
        """Every token, in the order of the design."""
        return list(self._colors)


class Theme(QObject):
    """The colours, fonts and heights in use. What it hands out is shared: never change it in place."""

    changed = Signal()  # colours are new; the palette and the sheet are already in place

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tables = {False: Tokens(LIGHT), True: Tokens(DARK)}
        self._tokens = self._tables[False]
        self._is_dark = False
        self._is_high_contrast = False
        self._mode: Mode = "system"
        self._zoom = 100
        self._base_font: QFont | None = None
        self._body_px = 0  # not known yet
        self._fonts: dict[str, QFont] = {}
        self._metrics: dict[str, QFontMetricsF] = {}
        self._app: QApplication | None = None
        self._images: QTemporaryDir | None = None
        self.type_generation = 0  # another number when fonts are new: for those who keep laid out text
        self.pixel_ratios = _ratios()
        """How many pixels of a screen are one of ours, of each screen that there is."""
        self.color_generation = 0  # another number when colours are new: for those who keep what they drew
        self.reduced_motion = False  # the user's own settings, beside what the system asks for
        self.high_contrast = False

    # Colours

    @property
    def is_dark(self) -> bool:
        """Whether the dark table is in use."""
        return self._is_dark

    @property
    def is_high_contrast(self) -> bool:
        """Whether the colours are the system's: then bars are hatched, and lines as strong as text."""
        return self._is_high_contrast

    @property
    def mode(self) -> Mode:
        """What `apply` was asked for."""
        return self._mode

    def color(self, name: str) -> QColor:
        """The colour of a token; KeyError for a name that is none."""
        return self._tokens[name]

    def tokens(self) -> list[str]:
        """Every name `color` takes."""
        return self._tokens.names()

    def derived(self) -> dict[str, QColor]:
        """Shades that only the sheet uses, made of two tokens each."""
        text, accent, fill = self.color("text"), self.color("accent"), self.color("dangerFill")
        return {
            "accentHover": mix(accent, text, 0.18),
            "accentDown": mix(accent, text, 0.36),
            "dangerHover": mix(fill, QColor("black"), 0.15),
            "dangerDown": mix(fill, QColor("black"), 0.3),
            "onDanger": QColor(ON_DANGER),
            "edgeHover": mix(self.color("field"), text, 0.35),
            "cautionEdge": mix(self.color("cautionGround"), self.color("caution"), 0.3),
        }

    # Type

    def roles(self) -> list[str]:
        """Every name `font` takes."""
        return list(ROLES)

    def font(self, role: str) -> QFont:
        """The font of a role, relative to the application's at the start."""
        if role not in self._fonts:
            self._fonts[role] = self._make_font(role)
        return self._fonts[role]

    def metrics(self, role: str) -> QFontMetricsF:
        """Measures of a role's font."""
        if role not in self._metrics:
            self._metrics[role] = QFontMetricsF(self.font(role))
        return self._metrics[role]

    def size_px(self, role: str) -> int:
        """The font size of a role in pixels."""
        if self._body_px == 0:
            self._body_px = round(QFontInfo(self._base()).pixelSize() * self._zoom / 100)
        return max(SMALLEST_PX, self._body_px + ROLES[role][0])

    @property
    def zoom(self) -> int:
        """How large the text is, in percent of the system's own size."""
        return self._zoom

    def _base(self) -> QFont:
        if self._base_font is None:
            self._base_font = QFont(QGuiApplication.font())
        return self._base_font

    def _make_font(self, role: str) -> QFont:
        _, weight, is_fixed = ROLES[role]
        if is_fixed:
            font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
            font.setStyleHint(QFont.StyleHint.Monospace)
        else:
            font = QFont(self._base())
        font.setPixelSize(self.size_px(role))
        font.setWeight(weight)
        if hasattr(QFont, "Tag"):  # Qt 6.7
            font.setFeature(QFont.Tag("tnum"), 1)
        return font

    # Sizes

    def row_height(self, kind: str = "row") -> int:
        """The height in pixels of one of `PADDING`'s kinds: 28 for a row at 13 px text, more for larger text."""
        return math.ceil((self.metrics("body").height() + PADDING[kind]) / 4) * 4

    def scaled(self, design_px: int) -> int:
        """A width of the design at the text's size of now; never less than the design's."""
        return round(design_px * max(1.0, self.size_px("body") / DESIGN_PX))

    def animation_ms(self, duration_ms: int) -> int:
        """`duration_ms`, or 0 where the style or the user asks for no motion."""
        still = QApplication.style().styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration) <= 0
        return 0 if still or self.reduced_motion else duration_ms

    # Applying

    def apply(
        self, app: QApplication, mode: Mode = "system", base_font: QFont | None = None, *, has_sheet: bool = True
    ) -> None:
        """Dress `app` in light or dark, or in what the system asks for, now and whenever it changes.

        `base_font` replaces the application's own font of the start as the measure of all type. `has_sheet`: False
        before the first window is made, which is to be followed by `dress`: each of its parts would be styled anew
        wherever it is put, which takes as long as all the rest.
        """
        first = self._app is None
        self._app = app
        self._mode = mode
        if base_font is not None:
            self._base_font = QFont(base_font)
        self._base()  # read before the application's font is set below
        self._forget_type()
        hints = app.styleHints()
        if first:
            app.setStyle(QStyleFactory.create("Fusion"))
            hints.colorSchemeChanged.connect(self._on_hints_color_scheme_changed)
            app.focusChanged.connect(self._on_app_focus_changed)
            app.screenAdded.connect(self._on_app_screen_added)
            for screen in app.screens():
                screen.geometryChanged.connect(self._on_screen_changed)
            if hasattr(hints, "accessibility"):  # Qt 6.10
                hints.accessibility().contrastPreferenceChanged.connect(self._dress)
        schemes = {"light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark, "system": Qt.ColorScheme.Unknown}
        hints.setColorScheme(schemes[mode])  # title bars and native dialogs follow
        self._dress(has_sheet=has_sheet)

    def dress(self) -> None:
        """Set the style sheet that `apply` was told to leave out."""
        if self._app is not None:
            self._app.setStyleSheet(sheet(self, self._image))

    def set_zoom(self, percent: int) -> None:
        """Make all text, and what is as high as text, larger or smaller than the system's own size."""
        self._zoom = percent
        self._forget_type()
        self._dress()

    def set_high_contrast(self, is_wanted: bool) -> None:
        """Use the system's colours, whatever the system asks for; False leaves it to the system."""
        self.high_contrast = is_wanted
        self._dress()

    def _forget_type(self) -> None:
        self._fonts.clear()
        self._metrics.clear()
        self._body_px = 0
        self.type_generation += 1

    def _on_hints_color_scheme_changed(self) -> None:
        if self._mode == "system":
            self._dress()

    def _on_app_screen_added(self, screen: QScreen) -> None:
        screen.geometryChanged.connect(self._on_screen_changed)
        self._on_screen_changed()

    def _on_screen_changed(self) -> None:
        if self.pixel_ratios != _ratios():  # icons are held for those that there are
            self._dress()

    def _on_app_focus_changed(self, old: QWidget | None, new: QWidget | None) -> None:
        move_ring(old, new, self)

    def _dress(self, *, has_sheet: bool = True) -> None:
        app = self._app
        if app is None:
            return
        scheme = app.styleHints().colorScheme()
        self._is_dark = self._mode == "dark" or (self._mode == "system" and scheme == Qt.ColorScheme.Dark)
        self._is_high_contrast = self.high_contrast or _asks_for_contrast(app)
        self._tokens = self._tables[self._is_dark]
        if self._is_high_contrast:
            app.setPalette(QPalette())  # ours would be read back otherwise
            self._tokens = Tokens(high_contrast_table(app.palette()))
        self.pixel_ratios = _ratios()
        self.color_generation += 1
        app.setFont(self.font("body"))
        palette = self.palette()
        app.setPalette(palette)
        QToolTip.setPalette(palette)
        QToolTip.setFont(self.font("small"))
        if has_sheet:
            self.dress()
        self.changed.emit()

    def _image(self, name: str, token: str) -> str:
        """The path of an icon in a colour: a style sheet takes pictures from files only."""
        from explorer.ui import icons  # at use: icons are drawn with this module's colours

        if self._images is None:
            self._images = QTemporaryDir()
        color = self.color(token)
        file = (
            Path(self._images.path()) / f"{name}-{color.name()[1:]}.svg"
        )  # a new name per colour: Qt keeps what it read
        if self._images.isValid() and not file.exists():
            file.write_text(icons.colored_svg(name, color), encoding="utf-8")
        return file.as_posix()

    def palette(self) -> QPalette:
        """The palette of the table in use."""
        role = QPalette.ColorRole
        names = {
            role.Window: "window",
            role.WindowText: "text",
            role.Base: "base",
            role.AlternateBase: "panel",
            role.Text: "text",
            role.Button: "raised",
            role.ButtonText: "text",
            role.BrightText: "onAccent",
            role.Highlight: "soft",
            role.HighlightedText: "softText",
            role.Link: "accent",
            role.LinkVisited: "accent",
            role.ToolTipBase: "raised",
            role.ToolTipText: "text",
            role.PlaceholderText: "text3",
            role.Light: "raised",
            role.Midlight: "hover",
            role.Mid: "barDim",
            role.Dark: "edge",
            role.Shadow: "edge",
            role.Accent: "accent",
        }
        palette = QPalette()
        for one, name in names.items():
            palette.setColor(one, self.color(name))
        for one in (role.WindowText, role.Text, role.ButtonText, role.HighlightedText, role.PlaceholderText):
            palette.setColor(QPalette.ColorGroup.Disabled, one, self.color("disabled"))
        palette.setColor(QPalette.ColorGroup.Disabled, role.Highlight, self.color("idle"))
        palette.setColor(QPalette.ColorGroup.Inactive, role.Highlight, self.color("idle"))
        palette.setColor(QPalette.ColorGroup.Inactive, role.HighlightedText, self.color("text"))
        return palette


def _ratios() -> tuple[float, ...]:
    return tuple(sorted({screen.devicePixelRatio() for screen in QGuiApplication.screens()})) or (1.0,)


def _asks_for_contrast(app: QApplication) -> bool:
    hints = app.styleHints()
    if not hasattr(hints, "accessibility"):  # Qt 6.10
        return False
    return hints.accessibility().contrastPreference() == Qt.ContrastPreference.HighContrast


_theme: Theme | None = None


def theme() -> Theme:
    """The application's theme."""
    global _theme
    if _theme is None:
        _theme = Theme()
    return _theme
