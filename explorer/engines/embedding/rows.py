"""What every embedder does with its texts and its rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_PART = 2_000  # bytes; a paragraph or two, so that a part has a sense of its own


def excerpt(text: str, most: int) -> str:
    """`text` in at most `most` bytes of UTF-8: all of it, or parts that are spread evenly from its start to its end.

    Half of a surrogate pair, which has no UTF-8, becomes a question mark.
    """
    data = text.encode("utf-8", "replace")
    if len(data) > most:
        parts = max(1, most // _PART)
        size = most // parts - 1  # and a space
        last = len(data) - size
        starts = [last * part // max(1, parts - 1) for part in range(parts)]
        data = b" ".join(data[start : start + size] for start in starts)
    return data.decode("utf-8", "ignore")  # a part may begin or end within a character


def unit_rows(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Each row scaled to unit length; one that is all zero stays so."""
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    units = np.zeros_like(rows)
    np.divide(rows, lengths, out=units, where=lengths > 0, casting="same_kind")
    return units
