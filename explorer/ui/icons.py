"""Icons drawn in the theme's colours."""

from __future__ import annotations

import functools
import math

from PySide6.QtCore import QByteArray, QObject, QRectF, Qt
from PySide6.QtGui import QAction, QColor, QIcon, QPainter, QPaintEvent, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton, QWidget
from shiboken6 import isValid

from explorer.paths import resource
from explorer.ui.theme import theme

SMALL = 12  # chevrons and closing crosses lose their margin at this size, and keep nearly all of their line width
SIZE = 16  # of a QIcon of ours, at the pixel ratio of each screen


@functools.cache
def names() -> list[str]:
    """Every icon there is."""
    return sorted(file.stem for file in resource("icons").glob("*.svg"))


@functools.cache
def svg_text(name: str) -> str:
    """The drawing of an icon; KeyError for an unknown name."""
    file = resource("icons") / f"{name}.svg"
    if not file.is_file():
        raise KeyError(name)
    return file.read_text(encoding="utf-8")


def colored_svg(name: str, color: QColor) -> str:
    """The drawing of an icon in one colour."""
    return svg_text(name).replace("currentColor", color.name())


@functools.cache
def _drawing(name: str, size: int, dpr: float) -> QPixmap:
    """An icon in black: to draw it costs many times what it costs to give it another colour."""
    drawing = colored_svg(name, QColor("black"))
    is_small = size == SMALL and (name.startswith("chevron-") or name == "close")
    if is_small:
        drawing = drawing.replace('stroke-width="1.5"', 'stroke-width="1.25"')
    renderer = QSvgRenderer(QByteArray(drawing.encode()))
    if is_small:
        renderer.setViewBox(QRectF(2, 2, SMALL, SMALL))
    side = math.ceil(size * dpr)
    drawn = QPixmap(side, side)
    drawn.fill(Qt.GlobalColor.transparent)
    painter = QPainter(drawn)
    renderer.render(painter, QRectF(0, 0, side, side))
    painter.end()
    return drawn


@functools.cache
def _render(name: str, color: str, size: int, dpr: float) -> QPixmap:
    drawn = _drawing(name, size, dpr).copy()
    painter = QPainter(drawn)
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceIn)
    painter.fillRect(drawn.rect(), QColor(color))
    painter.end()
    drawn.setDevicePixelRatio(dpr)
    return drawn


def pixmap(name: str, color_token: str = "text2", size: int = 16, dpr: float = 1.0) -> QPixmap:
    """An icon in one colour, `size` logical pixels square. Shared: do not paint on it. KeyError for an unknown name."""
    return _render(name, theme().color(color_token).name(), size, dpr)


def icon(name: str, color_token: str = "text2") -> QIcon:
    """An icon with its disabled, active and chosen variants, in the colours of now; see `keep`."""
    return _icon(name, color_token, theme().color_generation)


@functools.lru_cache(maxsize=128)
def _icon(name: str, color_token: str, color_generation: int) -> QIcon:
    active = "text" if color_token == "text2" else color_token
    variants = (
        (QIcon.Mode.Normal, QIcon.State.Off, color_token),
        (QIcon.Mode.Normal, QIcon.State.On, "softText" if color_token == "text2" else color_token),
        (QIcon.Mode.Active, QIcon.State.Off, active),
        (QIcon.Mode.Active, QIcon.State.On, "softText" if color_token == "text2" else color_token),
        (QIcon.Mode.Selected, QIcon.State.Off, "softText"),
        (QIcon.Mode.Disabled, QIcon.State.Off, "disabled"),
        (QIcon.Mode.Disabled, QIcon.State.On, "disabled"),
    )
    made = QIcon()
    for mode, state, token in variants:
        for dpr in theme().pixel_ratios:
            made.addPixmap(pixmap(name, token, SIZE, dpr), mode, state)
    return made


class _Kept(QObject):
    """Renews one icon; lives and dies with its target."""

    def __init__(self, target: QAbstractButton | QAction) -> None:
        super().__init__(target)
        self.name = ""
        self.color_token = "text2"
        theme().changed.connect(self.renew)

    def renew(self) -> None:
        target = self.parent()
        if isValid(target) and isinstance(target, QAbstractButton | QAction):
            target.setIcon(icon(self.name, self.color_token))


def keep(target: QAbstractButton | QAction, name: str, color_token: str = "text2") -> None:
    """Give `target` an icon and renew it whenever the theme changes; a later call replaces an earlier one."""
    kept = target.findChild(_Kept, options=Qt.FindChildOption.FindDirectChildrenOnly) or _Kept(target)
    kept.name = name
    kept.color_token = color_token
    kept.renew()
    target.setProperty("iconName", name)


class IconLabel(QWidget):
    """An icon beside a text; takes no part in anything but the picture."""

    def __init__(
        self, name: str = "", color_token: str = "text2", size: int = 16, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._size = size
        self.setFixedSize(size, size)
        self.show_icon(name, color_token)

    def show_icon(self, name: str, color_token: str = "text2") -> None:
        """Show another icon; none for an empty name."""
        self._name = name
        self._color_token = color_token
        self.update()

    @property
    def icon_name(self) -> str:
        """The icon that is shown."""
        return self._name

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._name:
            return
        token = self._color_token if self.isEnabled() else "disabled"
        QPainter(self).drawPixmap(0, 0, pixmap(self._name, token, self._size, self.devicePixelRatioF()))
