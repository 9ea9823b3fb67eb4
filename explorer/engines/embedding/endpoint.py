"""Vectors from a server that speaks OpenAI's embeddings API: the user's own (Ollama, llama.cpp, vLLM) or a paid one.

Source: OpenAI, "Create embeddings": POST {endpoint}/embeddings with `model`, `input` and `encoding_format`; the
reply's `data` holds an `embedding` for each input, and the `index` of that input.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from explorer.contract import ConfigError, EngineFailure, is_blank
from explorer.contract.model import trimmed
from explorer.engines.config import EngineCredential
from explorer.engines.embedding.rows import excerpt, unit_rows
from explorer.engines.json_endpoint import JsonEndpoint, Limits, Names

_BATCH = 64  # texts in a request
_MAX_BYTES = 8_000  # of one text; no more tokens than that, the limit of OpenAI's models
_MIN_BYTES = 400  # a text that is refused when it is this short was not refused for its length
_LIMITS = Limits(silent_s=60.0, answer_s=120.0, answer_bytes=64 << 20)  # a model on a small computer takes its time
_NAMES = Names(
    endpoint="the embedding endpoint",
    offers="embeddings",
    address="embedding_endpoint",
    model="embedding_model",
    give_key="give it when you connect",
    closed="the memory was closed",
)
_PROBE = "text"

_TOO_LONG = (400, 413, 422)  # what servers answer to a text, or a batch, that is too long for the model

Vectors = npt.NDArray[np.float32]


class EndpointEmbedder:
    """The embedder over one model of one server. Asks nothing before the first `embed`.

    Raises ConfigError for an endpoint that is not a plain http(s) URL, a blank model, and a key that would travel
    unencrypted. The key goes into the header of requests to the endpoint and nowhere else; redirects are not followed.
    """

    def __init__(self, endpoint: str, model: str, credential: EngineCredential = None) -> None:
        self._server = JsonEndpoint(endpoint, "/embeddings", credential, _NAMES, _LIMITS)
        if is_blank(model):
            raise ConfigError("the embedding endpoint has no model; set embedding_model to the name of one it offers")
        self._model = trimmed(model)
        self.name = f"endpoint {self._server.place} {self._model}"
        self._said = self._server.said
        self._lock = threading.Lock()
        self._dims = 0

    def __repr__(self) -> str:
        return f"EndpointEmbedder({self.name!r})"

    @property
    def dims(self) -> int:
        return self._dims

    def embed(self, texts: Sequence[str]) -> Vectors:
        """As `Embedder.embed`; blank texts are not sent.

        Raises Unauthorized for a refused key, Unavailable where no answer comes now, ConfigError for an address or a
        model that is not there, EngineFailure for an answer that is not vectors, or not of the size of those before.
        """
        parts = [excerpt(text, _MAX_BYTES) for text in texts]
        places = [place for place, part in enumerate(parts) if not is_blank(part)]
        if parts and not places and not self._dims:
            self._vectors([_PROBE])  # for the number of dimensions
        found = [
            self._vectors([parts[place] for place in places[start : start + _BATCH]])
            for start in range(0, len(places), _BATCH)
        ]
        rows = np.zeros((len(parts), self._dims), np.float32)
        if found:
            rows[places] = np.concatenate(found)
        return unit_rows(rows)

    def close(self) -> None:
        """End what is under way, which then raises Unavailable, and let go of connections. May be called twice."""
        self._server.close()

    # --- one batch ---

    def _vectors(self, texts: list[str]) -> Vectors:
        """As the server gave them, in the order of `texts`, which are not blank."""
        answer = self._server.post({"model": self._model, "input": texts, "encoding_format": "float"})
        if answer.status in _TOO_LONG:
            if len(texts) > 1:
                half = len(texts) // 2
                return np.concatenate([self._vectors(texts[:half]), self._vectors(texts[half:])])
            size = len(texts[0].encode()) // 2
            if size >= _MIN_BYTES:
                return self._vectors([excerpt(texts[0], size)])
        if not answer.is_good:
            raise self._server.refusal(answer)
        vectors = self._read(answer.body, len(texts))
        with self._lock:
            self._dims = self._dims or vectors.shape[1]
        if vectors.shape[1] != self._dims:
            raise EngineFailure(
                f"{self._said} gave vectors of {vectors.shape[1]:,} numbers after vectors of {self._dims:,}: its model "
                "was changed; open the memory again"
            )
        return vectors

    # --- what came back ---

    def _read(self, body: bytes, count: int) -> Vectors:
        """The vectors of an answer to `count` texts."""
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            raise self._strange("is not JSON") from None
        data = value.get("data") if isinstance(value, dict) else None
        if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
            raise self._strange("holds no list of vectors")
        if len(data) != count:
            raise self._strange(f"holds {len(data):,} vectors for {count:,} texts")
        order = [entry.get("index", place) for place, entry in enumerate(data)]
        if any(type(index) is not int for index in order) or sorted(order) != list(range(count)):
            raise self._strange("does not tell which vector is of which text")
        rows = [entry.get("embedding") for entry in data]
        if not all(isinstance(row, list) and row for row in rows) or len({len(row) for row in rows}) > 1:
            raise self._strange("holds vectors of different sizes, or what is no vector")
        try:
            with np.errstate(over="ignore"):
                vectors = np.asarray(rows, np.float64).astype(np.float32)
        except (ValueError, TypeError, OverflowError):
            raise self._strange("holds vectors with something else than numbers") from None
        if vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise self._strange("holds vectors with something else than finite numbers")
        return vectors[np.argsort(order)]

    def _strange(self, what: str) -> EngineFailure:
        return EngineFailure(
            f"the answer of {self._said} {what}; check that it is the address of an OpenAI-compatible API, "
            "which mostly ends in /v1, and that its model makes embeddings"
        )
