"""How large the text is, in steps. Free of Qt."""

from __future__ import annotations

ZOOMS = (80, 90, 100, 110, 125, 150, 175, 200, 225, 250, 275)
"""In percent of the system's own size."""


def zoomed(percent: int, step: int) -> int:
    """The next larger (1) or smaller (-1) step from `percent`, the system's own size for 0."""
    if step == 0:
        return 100
    further = [zoom for zoom in ZOOMS if (zoom > percent if step > 0 else zoom < percent)]
    if not further:
        return ZOOMS[-1] if step > 0 else ZOOMS[0]
    return further[0] if step > 0 else further[-1]


def saved_zoom(value: object) -> int:
    """A percentage as it was remembered; 100 for what is none."""
    try:
        percent = int(str(value))
    except ValueError:
        return 100
    return percent if percent in ZOOMS else 100
