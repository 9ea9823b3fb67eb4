"""The model on this computer: a vector for each of 32,000 word parts, from the files of the package `wordllama`.

Source: wordllama 0.4.0, `WordLlamaInference.embed` with `norm=True`, whose vectors these are. The package itself is
not imported: it looks for its tokenizer where its wheel does not have it and then downloads one, it sets up the
logging of the whole program, and since it pads every text to the longest it takes three times as long.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from explorer.contract import EngineFailure, is_blank
from explorer.engines.embedding.rows import excerpt, unit_rows

if TYPE_CHECKING:
    from tokenizers import Tokenizer

log = logging.getLogger(__name__)

_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TENSOR = "embedding.weight"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"

_MAX_BYTES = 64_000  # of one text: some 50 ms, where 8 MB would take 12 s and a gigabyte
_BLOCK = 4_096  # word parts whose vectors are in memory at the same time, 4 MB of them


@dataclass(frozen=True, slots=True)
class _Model:
    tokenizer: Tokenizer
    weights: npt.NDArray[np.float32]  # a row for each word part


class WordLlama:
    """The embedder over the package's folder. What `embed` loads at its first call, some 65 MB, it keeps."""

    name: Final = "wordllama-256"
    dims: Final = 256

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._model: _Model | None = None

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """As `Embedder.embed`. Raises EngineFailure where the files are damaged or their libraries do not load."""
        rows = np.zeros((len(texts), self.dims), np.float32)
        model = self._loaded()
        for row, text in zip(rows, texts, strict=True):
            part = excerpt(text, _MAX_BYTES)
            if is_blank(part):
                continue
            # The batch form gives other threads their turn meanwhile.
            (encoded,) = model.tokenizer.encode_batch_fast([part], add_special_tokens=False)
            ids = encoded.ids
            for start in range(0, len(ids), _BLOCK):
                row += model.weights.take(ids[start : start + _BLOCK], axis=0).sum(axis=0)
        return unit_rows(rows)

    def close(self) -> None:
        """Does nothing: calls are short, and the model stays for the next engine of this program."""

    def _loaded(self) -> _Model:
        with self._lock:
            if self._model is None:
                try:
                    self._model = _load(self._folder, self.dims)
                except Exception as error:  # the libraries raise what they like, plain Exception too
                    raise EngineFailure(
                        f"the model for search by meaning cannot be loaded ({type(error).__name__}: {error}); install "
                        'the package wordllama again, or set embedding_model = "none" to search by keyword alone'
                    ) from error
            return self._model


def installed() -> WordLlama | None:
    """The model, the same one at each call; None where its files, or the libraries that read them, are missing."""
    folder = _folder("wordllama")
    if folder is None or _folder("safetensors") is None or _folder("tokenizers") is None:
        return None
    if not all((folder / file).is_file() for file in (_WEIGHTS, _TOKENIZER)):
        return None
    return _shared(folder)


@cache
def _shared(folder: Path) -> WordLlama:
    return WordLlama(folder)


@cache
def tokenizer() -> Tokenizer | None:
    """What cuts text into the model's word parts, without the model; special ones in a text are text as any other.

    None where it is missing or damaged. Loads some 2 MB at the first call.
    """
    folder = _folder("wordllama")
    if folder is None or _folder("tokenizers") is None or not (folder / _TOKENIZER).is_file():
        return None
    try:
        made = _load_tokenizer(folder)
    except Exception as error:  # the library raises plain Exception
        log.warning("the tokenizer of wordllama cannot be loaded (%s: %s)", type(error).__name__, error)
        return None
    made.encode_special_tokens = True
    return made


def _folder(package: str) -> Path | None:
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):  # a half-removed package, or one that something hides from import
        return None
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) if places else None


def _load_tokenizer(folder: Path) -> Tokenizer:
    # One thread: the window needs the other cores, and the library's own threads do not outlive a fork.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _load(folder: Path, dims: int) -> _Model:
    tokenizer = _load_tokenizer(folder)
    from safetensors import safe_open

    with safe_open(folder / _WEIGHTS, framework="numpy") as file:
        weights = file.get_tensor(_TENSOR).astype(np.float32)  # half the size as it is, but twice as slow to add up
    parts = tokenizer.get_vocab_size()
    if weights.shape != (parts, dims):
        raise ValueError(f"{parts} word parts do not go with a table of {weights.shape}")
    return _Model(tokenizer, weights)
