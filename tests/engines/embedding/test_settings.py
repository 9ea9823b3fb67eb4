"""Which embedder the settings ask for, and that none of them carries a key into a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.contract import ConfigError
from explorer.engines import EngineSettings, StaticCredential
from explorer.engines.connections import ConnectionStore, SavedConnection
from explorer.engines.embedding import default_embedder, embedder_for
from explorer.engines.embedding.endpoint import EndpointEmbedder

KEY = "sk-live-0123456789"


@pytest.mark.parametrize(
    "settings",
    [EngineSettings(), EngineSettings(embedding_endpoint=" ", embedding_model="\t"), EngineSettings(path="a")],
)
def test_model_of_this_computer_is_the_default(settings: EngineSettings) -> None:
    assert embedder_for(settings) is default_embedder() is not None


@pytest.mark.parametrize("endpoint", [None, "https://a.example/v1"])
def test_none_is_keyword_alone(endpoint: str | None) -> None:
    assert embedder_for(EngineSettings(embedding_endpoint=endpoint, embedding_model=" none ")) is None


def test_endpoint_needs_both_of_its_settings() -> None:
    settings = EngineSettings(embedding_endpoint=" https://a.example/v1 ", embedding_model=" m ")
    embedder = embedder_for(settings, StaticCredential(KEY))
    assert isinstance(embedder, EndpointEmbedder)
    assert embedder.name == "endpoint a.example/v1 m"
    with pytest.raises(ConfigError, match="has no model; set embedding_model"):
        embedder_for(EngineSettings(embedding_endpoint="https://a.example/v1"))
    with pytest.raises(ConfigError, match="embedding_endpoint, which is not set; set both or neither"):
        embedder_for(EngineSettings(embedding_model="m"))


def test_bad_endpoints_are_refused() -> None:
    def refusal(endpoint: str, credential: StaticCredential | None = None) -> str:
        with pytest.raises(ConfigError) as caught:
            embedder_for(EngineSettings(embedding_endpoint=endpoint, embedding_model="m"), credential)
        assert KEY not in str(caught.value)
        return caught.value.text

    assert "must be a URL like" in refusal(KEY)
    assert "without a user name or password" in refusal(f"https://me:{KEY}@a.example")
    assert "unencrypted" in refusal("http://a.example", StaticCredential(KEY))


@pytest.mark.parametrize("endpoint", [f"https://me:{KEY}@a.example", f"https://a.example?key={KEY}", f" {KEY} "])
def test_endpoint_with_a_key_is_neither_shown_nor_saved(tmp_path: Path, endpoint: str) -> None:
    settings = EngineSettings(path="a.db", embedding_endpoint=endpoint, embedding_model="m")
    assert KEY not in repr(settings)
    store = ConnectionStore(tmp_path / "connections.json")
    for call in (store.save, store.add):
        with pytest.raises(ConfigError, match="the embedding endpoint must be") as caught:
            call(SavedConnection(name="a", engine="sqlite", settings=settings))
        assert KEY not in str(caught.value)
    assert not store.path.exists()


def test_good_settings_are_saved(tmp_path: Path) -> None:
    settings = EngineSettings(
        path="a.db", profile="balanced", embedding_endpoint=" http://localhost:11434/v1 ", embedding_model="m"
    )
    store = ConnectionStore(tmp_path / "connections.json")
    store.save(SavedConnection(name="a", engine="sqlite", settings=settings))
    saved = store.get("a")
    assert saved is not None
    assert saved.settings == settings
