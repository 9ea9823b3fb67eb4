"""What turns texts into vectors for search by meaning: a model on this computer, or a server that the user names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from explorer.contract import ConfigError
from explorer.contract.model import trimmed
from explorer.engines.embedding.endpoint import EndpointEmbedder
from explorer.engines.embedding.wordllama import installed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from explorer.engines.config import EngineCredential, EngineSettings

NO_MODEL = "none"
"""The `embedding_model` of those who want search by keyword alone."""


class Embedder(Protocol):
    """Makes vectors whose cosine says how near two texts are in meaning. Every call may come from any thread."""

    @property
    def name(self) -> str:
        """Which model this is, of which version and place: vectors of two names cannot be compared. Holds no secret."""

    @property
    def dims(self) -> int:
        """Numbers in a vector; 0 while an endpoint has not been asked yet."""

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """One row for each text, (n, dims): of unit length, or all zero for a blank text.

        Takes any text; of a very long one, parts that are spread evenly over it. Blocks, for seconds where a model is
        loaded or a server asked: for a worker thread. Raises TinyMemoryError where there is no answer.
        """

    def close(self) -> None:
        """End what is under way, which then raises Unavailable, and let go of connections. May be called twice."""


def default_embedder() -> Embedder | None:
    """The model on this computer; None where its packages are not installed. Loads nothing heavy, and no network."""
    return installed()


def embedder_for(settings: EngineSettings, credential: EngineCredential = None) -> Embedder | None:
    """The embedder that `settings` ask for; None for search by keyword alone, by choice or for want of a model.

    The credential is the endpoint's, and goes nowhere else. Raises ConfigError for an endpoint that is not a plain
    http(s) URL, that has no model, or that would get the key unencrypted; and for a model without an endpoint.
    """
    model = trimmed(settings.embedding_model or "")
    endpoint = trimmed(settings.embedding_endpoint or "")
    if model == NO_MODEL:
        return None
    if endpoint:
        return EndpointEmbedder(endpoint, model, credential)
    if model:
        raise ConfigError(
            "embedding_model is the model of an embedding_endpoint, which is not set; set both or neither, "
            f'or embedding_model = "{NO_MODEL}" for search by keyword alone'
        )
    return default_embedder()
