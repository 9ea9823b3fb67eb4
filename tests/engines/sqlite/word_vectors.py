"""An embedder for tests: texts are near that share words. Quick, the same in every process, and it can be held up."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from functools import cache
from zlib import crc32

import numpy as np
import numpy.typing as npt

from explorer.contract import TinyMemoryError, Unavailable


class WordVectors:
    """A text's vector is the sum of those of its words; numbers and signs mean nothing, and "feline" means a cat."""

    def __init__(self, dims: int = 70) -> None:
        self.name = f"words {dims}"
        self.dims = dims
        self.texts: list[str] = []
        """All that were asked for."""
        self.error: TinyMemoryError | None = None
        """What `embed` raises, while it is set."""
        self.entered = threading.Event()
        self.gate = threading.Event()
        """`embed` waits for it, and does not answer once it is closed meanwhile."""
        self.gate.set()
        self.is_closed = False

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.texts += texts
        self.entered.set()
        self.gate.wait()
        if self.is_closed:
            raise Unavailable("closed")
        if self.error is not None:
            raise self.error
        rows = np.zeros((len(texts), self.dims), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"[a-z]+\d*", text.lower().replace("feline", "cat")):
                row += _vector(word, self.dims)
            if row.any():
                row /= np.linalg.norm(row)
        return rows

    def close(self) -> None:
        self.is_closed = True
        self.gate.set()


@cache
def _vector(word: str, dims: int) -> npt.NDArray[np.float32]:
    return np.random.default_rng(crc32(word.encode())).standard_normal(dims, np.float32)
