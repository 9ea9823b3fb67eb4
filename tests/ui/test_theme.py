"""The token tables against the design, and the theme as it is applied."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QFontInfo, QGuiApplication, QImage, QPalette
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QStyle, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from explorer.ui import icons
from explorer.ui.sheet import sheet
from explorer.ui.theme import DARK, LIGHT, ON_DANGER, PADDING, Theme, theme

# Design, section 1: foreground, ground, ratio in light, ratio in dark, as printed there (one decimal).
CONTRASTS = [
    ("text", "base", 16.6, 13.0),
    ("text", "window", 14.4, 14.6),
    ("text2", "base", 8.0, 8.4),
    ("text2", "idle", 6.5, 7.0),
    ("text2", "soft", 6.4, 5.6),
    ("text3", "base", 5.5, 6.0),
    ("text3", "window", 4.8, 6.7),
    ("text3", "sunken", 4.6, 6.9),
    ("accent", "base", 6.9, 8.0),
    ("accent", "panel", 6.4, 8.5),
    ("accent", "soft", 5.6, 5.4),
    ("onAccent", "accent", 6.9, 8.5),
    ("softText", "soft", 10.0, 9.2),
    ("bar", "base", 3.5, 4.2),
    ("bar", "panel", 3.3, 4.4),
    ("edge", "base", 3.7, 4.0),
    ("field", "base", 3.1, 3.7),
    ("line", "base", 1.3, 1.3),
    ("danger", "base", 7.0, 7.3),
    ("caution", "cautionGround", 6.3, 8.0),
    ("text", "hit", 13.1, 7.4),
]


def luminance(color: QColor) -> float:
    """Relative luminance, WCAG 2.2."""
    channels = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in (color.redF(), color.greenF(), color.blueF())
    ]
    return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]


def contrast(first: QColor, second: QColor) -> float:
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.fixture
def restored(themed: Theme, qapp: QApplication) -> Iterator[Theme]:
    """The theme, back in light when the test is over."""
    yield themed
    themed.apply(qapp, "light")


@pytest.mark.parametrize(("front", "ground", "light", "dark"), CONTRASTS)
def test_contrast_is_the_design_s(front: str, ground: str, light: float, dark: float) -> None:
    assert contrast(QColor(LIGHT[front]), QColor(LIGHT[ground])) == pytest.approx(light, abs=0.1)
    assert contrast(QColor(DARK[front]), QColor(DARK[ground])) == pytest.approx(dark, abs=0.1)


def test_white_on_the_danger_fill() -> None:
    assert contrast(QColor(ON_DANGER), QColor(LIGHT["dangerFill"])) == pytest.approx(7.0, abs=0.1)
    assert contrast(QColor(ON_DANGER), QColor(DARK["dangerFill"])) == pytest.approx(5.3, abs=0.1)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_derived_fills_keep_their_text_readable(restored: Theme, qapp: QApplication, mode: str) -> None:
    restored.apply(qapp, mode)
    shades = restored.derived()
    for name in ("accentHover", "accentDown"):
        assert contrast(restored.color("onAccent"), shades[name]) >= 4.5
    for name in ("dangerHover", "dangerDown"):
        assert contrast(shades["onDanger"], shades[name]) >= 4.5
    assert contrast(restored.color("text"), restored.color("cautionGround")) >= 4.5


def test_both_tables_name_the_same_tokens() -> None:
    assert list(LIGHT) == list(DARK)
    assert len(LIGHT) == 25


def test_an_unknown_token_is_an_error(themed: Theme) -> None:
    with pytest.raises(KeyError):
        themed.color("tomato")


def test_one_theme_per_application(themed: Theme) -> None:
    assert theme() is themed


def test_switching_changes_palette_and_sheet_and_tells(restored: Theme, qapp: QApplication, qtbot: QtBot) -> None:
    with qtbot.waitSignal(restored.changed):
        restored.apply(qapp, "dark")
    assert restored.is_dark
    assert qapp.palette().color(QPalette.ColorRole.Base).name().upper() == DARK["base"]
    assert DARK["accent"].lower() in qapp.styleSheet()
    with qtbot.waitSignal(restored.changed):
        restored.apply(qapp, "light")
    assert not restored.is_dark
    assert qapp.palette().color(QPalette.ColorRole.Base).name().upper() == LIGHT["base"]
    assert DARK["accent"].lower() not in qapp.styleSheet()


def test_system_mode_follows_the_system(restored: Theme, qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> None:
    scheme = Qt.ColorScheme.Light

    class Hints:
        def colorScheme(self) -> Qt.ColorScheme:
            return scheme

    restored.apply(qapp, "system")
    monkeypatch.setattr(qapp, "styleHints", Hints, raising=False)
    scheme = Qt.ColorScheme.Dark
    QGuiApplication.styleHints().colorSchemeChanged.emit(scheme)
    assert restored.is_dark
    scheme = Qt.ColorScheme.Light
    QGuiApplication.styleHints().colorSchemeChanged.emit(scheme)
    assert not restored.is_dark


def test_a_fixed_mode_ignores_the_system(restored: Theme, qapp: QApplication, qtbot: QtBot) -> None:
    restored.apply(qapp, "light")
    with qtbot.assertNotEmitted(restored.changed):
        QGuiApplication.styleHints().colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert not restored.is_dark


def test_high_contrast_is_the_system_s_two_colours(
    restored: Theme, qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restored, "high_contrast", True)
    restored.apply(qapp, "light")
    assert restored.is_high_contrast
    text, base = restored.color("text"), restored.color("base")
    assert contrast(text, base) >= 7
    assert restored.color("line") == restored.color("edge") == restored.color("text3") == text
    assert contrast(text, restored.color("soft")) >= 7
    assert contrast(restored.color("accent"), base) >= 4.5
    monkeypatch.setattr(restored, "high_contrast", False)
    restored.apply(qapp, "light")
    assert restored.color("line").name().upper() == LIGHT["line"]


def test_fonts_are_relative_to_the_body(themed: Theme) -> None:
    body = QFontInfo(themed.font("body")).pixelSize()
    steps = {"micro": -2, "small": -1, "smallStrong": -1, "title": 2, "dialogTitle": 5, "mono": -1, "medium": 0}
    for role, step in steps.items():
        assert themed.font(role).pixelSize() == max(9, body + step), role
    assert themed.font("medium").weight() == QFont.Weight.Medium
    assert themed.font("strong").weight() == QFont.Weight.DemiBold
    assert all(themed.font(role).featureValue(QFont.Tag("tnum")) == 1 for role in themed.roles())


def test_heights_follow_the_type(restored: Theme, qapp: QApplication) -> None:
    before = QFont(restored.font("body"))
    font = QFont(before)
    font.setPixelSize(13)
    restored.apply(qapp, "light", base_font=font)
    # the design's figures, for a line of 13 px text that is 15 or 16 px high
    wanted = {"toolbar": 44, "chipBar": 36, "tab": 32, "listHead": 40, "row": 28, "rowCompact": 24, "treeRow": 24}
    wanted |= {"button": 28, "chip": 24, "status": 24, "dialogFoot": 52, "timeline": 84}
    assert {kind: restored.row_height(kind) for kind in wanted} == wanted
    font.setPixelSize(20)
    restored.apply(qapp, "light", base_font=font)
    assert all(restored.row_height(kind) % 4 == 0 for kind in PADDING)
    assert restored.row_height("row") >= restored.metrics("body").height() + 12
    restored.apply(qapp, "light", base_font=before)


def test_the_sheet_leaves_views_with_delegates_alone(themed: Theme) -> None:
    made = sheet(themed, lambda name, token: f"{name}-{token}.svg")
    rules = re.sub(r"/\*.*?\*/", "", made, flags=re.DOTALL)
    for view in ("QAbstractItemView", "QTreeView", "QTableView", "QListView"):
        for part in ("item", "branch", "indicator"):
            assert f"{view}::{part}" not in rules
    assert "QMenu" not in rules
    assert "QToolTip" not in rules
    assert "$" not in rules


def test_every_picture_of_the_sheet_is_there(themed: Theme, qapp: QApplication) -> None:
    paths = re.findall(r"url\((.*?)\)", qapp.styleSheet())
    assert len(paths) > 10
    for path in paths:
        assert not QImage(path).isNull(), path


def test_a_hundred_switches_keep_one_set_of_pictures(restored: Theme, qapp: QApplication) -> None:
    restored.apply(qapp, "dark")
    first = set(re.findall(r"url\((.*?)\)", qapp.styleSheet()))
    restored.apply(qapp, "light")
    restored.apply(qapp, "dark")
    assert set(re.findall(r"url\((.*?)\)", qapp.styleSheet())) == first


@pytest.mark.parametrize("kind", ["", "primary", "danger", "dangerText", "flat"])
def test_buttons_keep_their_size_with_the_focus(qtbot: QtBot, themed: Theme, kind: str) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    other, button = QLineEdit(), QPushButton("Erase 3 items")
    button.setProperty("kind", kind)
    column.addWidget(other)
    column.addWidget(button)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    other.setFocus()
    rest = button.sizeHint()
    before = button.grab().toImage()
    button.setFocus(Qt.FocusReason.TabFocusReason)
    button.updateGeometry()
    assert button.sizeHint() == rest
    assert button.height() == themed.row_height("button")
    assert button.grab().toImage() != before  # the ring is seen


def test_tone_beats_the_palette(qtbot: QtBot, themed: Theme) -> None:
    label = QLabel("Stale")
    qtbot.addWidget(label)
    label.setProperty("tone", "caution")
    label.show()
    assert label.palette().color(QPalette.ColorRole.WindowText) == themed.color("caution")


def test_no_motion_where_the_style_or_the_user_asks_for_none(
    themed: Theme, qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    hint = QStyle.StyleHint.SH_Widget_Animation_Duration
    assert themed.animation_ms(120) == (120 if qapp.style().styleHint(hint) else 0)
    monkeypatch.setattr(themed, "reduced_motion", True)
    assert themed.animation_ms(120) == 0


def test_every_icon_renders_in_the_asked_colour(themed: Theme) -> None:
    # fmt: off
    asked = {
        "document", "conversation", "learning", "root", "team", "user", "agent", "project", "workspace", "source",
        "service", "health-full", "health-half", "health-key", "health-empty", "chevron-left", "chevron-right",
        "chevron-down", "chevron-up", "close", "search", "lock", "lock-open", "plus", "refresh", "more", "ask",
        "sort", "columns", "copy", "similar", "inbox", "funnel", "warning", "key", "check-ring", "minus-ring",
        "image-off", "file", "plug", "cloud", "clock", "tree", "calendar", "pin", "external",
    }
    # fmt: on
    assert asked <= set(icons.names())
    danger = themed.color("danger")
    for name in icons.names():
        image = icons.pixmap(name, "danger", 16, 2.0).toImage()
        assert image.width() == 32
        solid = [image.pixelColor(x, y) for x in range(32) for y in range(32) if image.pixelColor(x, y).alpha() > 250]
        assert solid, name
        assert all(abs(one.red() - danger.red()) < 8 for one in solid), name


def test_pixmaps_are_kept_and_unknown_names_refused(themed: Theme) -> None:
    assert icons.pixmap("lock", "text2", 16, 1.0).cacheKey() == icons.pixmap("lock", "text2", 16, 1.0).cacheKey()
    with pytest.raises(KeyError):
        icons.pixmap("no-such-icon")
    with pytest.raises(KeyError):
        icons.pixmap("../../README")


def test_a_kept_icon_follows_the_theme(restored: Theme, qapp: QApplication, qtbot: QtBot) -> None:
    button = QPushButton()
    qtbot.addWidget(button)
    icons.keep(button, "plus")
    light = button.icon().pixmap(16).toImage()
    restored.apply(qapp, "dark")
    assert button.icon().pixmap(16).toImage() != light
    icons.keep(button, "lock")
    restored.apply(qapp, "light")
    assert button.icon().pixmap(16).toImage() == icons.icon("lock").pixmap(16).toImage()
