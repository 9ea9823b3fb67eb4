"""Asking an embedder, which may be anybody's, so that only vectors or an error of the contract come back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from explorer.contract import EngineFailure, TinyMemoryError

if TYPE_CHECKING:
    from explorer.engines.embedding import Embedder


def ask(embedder: Embedder, texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """What `embedder.embed` answers: (texts, dims), every number finite. Blocks, as it does.

    Raises its TinyMemoryError, and EngineFailure for any other error and for what are no such vectors.
    """
    try:
        rows = np.asarray(embedder.embed(texts), np.float32)
    except TinyMemoryError:
        raise
    except Exception as error:  # somebody else's code, which may raise what it likes
        # Not its text, which may hold a key or a part of what was to be embedded.
        raise EngineFailure(f"the embedder {embedder.name} failed with an unexpected {type(error).__name__}") from error
    if rows.ndim != 2 or len(rows) != len(texts) or not rows.shape[1] or embedder.dims not in (0, rows.shape[1]):
        raise EngineFailure(
            f"the embedder {embedder.name} answered {len(texts)} texts with numbers of the shape {rows.shape}; "
            "it must give one vector for each text, all of the same size"
        )
    if not np.isfinite(rows).all():
        raise EngineFailure(f"the embedder {embedder.name} answered with something that is not a finite number")
    return rows
