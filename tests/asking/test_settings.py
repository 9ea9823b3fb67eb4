"""Whether an endpoint writes: what is saved, what never is, and whom the key is for."""

from __future__ import annotations

import json
import logging
import stat
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from explorer.asking import WriterSettings, WriterStore
from explorer.contract import ConfigError, InvalidRequest
from explorer.engines import KeyPlace, KeyStore, StaticCredential
from tests.engines.keyrings import MemoryKeyring

KEY = "sk-live-0123456789"
HERE = "http://localhost:11434/v1"
ON = WriterSettings(is_on=True, endpoint=HERE, model="tiny-chat")
WITH_KEY = ON.model_copy(update={"key_from": KeyPlace.KEYRING})


@pytest.fixture
def store(tmp_path: Path, kept_keys: MemoryKeyring) -> WriterStore:
    return WriterStore(tmp_path / "new" / "answers.json")


def test_off_unless_it_was_turned_on(store: WriterStore) -> None:
    assert store.load() == WriterSettings()
    assert not store.load().is_on
    assert store.writer() is None


def test_what_is_saved_comes_back(store: WriterStore) -> None:
    store.save(ON)
    assert WriterStore(store.path).load() == ON
    writer = store.writer()
    assert writer is not None
    assert (writer.place, writer.model) == ("localhost:11434/v1", "tiny-chat")
    store.save(ON.model_copy(update={"is_on": False}))
    assert store.writer() is None
    store.save(WriterSettings())
    assert store.load() == WriterSettings()
    if sys.platform != "win32":
        assert stat.S_IMODE(store.path.stat().st_mode) == 0o600


def test_key_is_in_the_keyring_and_nowhere_else(
    store: WriterStore, kept_keys: MemoryKeyring, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        store.save(WITH_KEY, StaticCredential(KEY))
        assert store.writer() is not None
    assert list(kept_keys.kept.items()) == [(("tinymemory-explorer answers", "localhost:11434/v1"), KEY)]
    assert KEY not in "".join(path.read_text() for path in store.path.parent.iterdir() if path.is_file())
    assert KEY not in caplog.text
    assert store.has_key(WITH_KEY)
    assert KeyStore().get("localhost:11434/v1") is None  # a connection of that name has none of it
    assert store.delete_key(WITH_KEY)
    assert not store.delete_key(WITH_KEY)
    with pytest.raises(ConfigError, match="the keyring holds no key"):
        store.writer()


def test_key_of_one_address_goes_to_no_other(store: WriterStore) -> None:
    store.save(WITH_KEY, StaticCredential(KEY))
    for other in ("https://evil.example/v1", "http://localhost:9/v1", "http://localhost:11434/v2"):
        held = json.loads(store.path.read_text())
        held["answers"][0]["endpoint"] = other
        store.path.write_text(json.dumps(held))
        with pytest.raises(ConfigError, match="the keyring holds no key"):
            store.writer()


def test_key_may_come_from_the_environment(store: WriterStore, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ON.model_copy(update={"key_from": KeyPlace.ENVIRONMENT, "key_variable": "ANSWERS_KEY"})
    store.save(settings)
    with pytest.raises(ConfigError, match="ANSWERS_KEY is not set"):
        store.writer()
    monkeypatch.setenv("ANSWERS_KEY", KEY)
    assert store.writer() is not None
    assert KEY not in store.path.read_text()


def test_a_model_is_missing_only_where_it_is_to_answer(store: WriterStore) -> None:
    store.save(WITH_KEY.model_copy(update={"is_on": False, "model": ""}))
    assert store.load().endpoint == HERE
    assert store.writer() is None


def test_settings_that_cannot_answer_are_refused(store: WriterStore) -> None:
    remote = WITH_KEY.model_copy(update={"endpoint": "http://example.com/v1"})
    for settings, says in (
        (ON.model_copy(update={"endpoint": ""}), "must be a URL"),
        (ON.model_copy(update={"endpoint": f"https://me:{KEY}@x/v1"}), "without a user name or password"),
        (ON.model_copy(update={"model": " "}), "no model"),
        (remote, "unencrypted"),
        (remote.model_copy(update={"is_on": False}), "unencrypted"),
    ):
        with pytest.raises(ConfigError, match=says) as caught:
            store.save(settings)
        assert KEY not in caught.value.text
        assert not store.path.exists()
    with pytest.raises(InvalidRequest):
        store.save(ON, StaticCredential(KEY))
    with pytest.raises(ConfigError, match="must be a URL"):
        store.has_key(ON.model_copy(update={"endpoint": "http://[x"}))


@pytest.mark.parametrize("changes", [{"key_from": "ask"}, {"key_from": "environment"}, {"key_variable": "X"}])
def test_settings_are_checked(changes: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        WriterSettings.model_validate(ON.model_dump() | changes)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"version": 2, "answers": [{"is_on": true, "endpoint": "http://localhost/v1", "model": "m"}]}',
        '{"version": 1, "answers": [{"is_on": "yes", "endpoint": "http://localhost/v1", "model": "m"}]}',
        '{"version": 1, "answers": [{"is_on": true, "key_from": "ask"}]}',
        '{"version": 1, "answers": ["on"]}',
        "[" * 100_000,
        "\udcff",
    ],
)
def test_file_that_does_not_fit_is_off(store: WriterStore, text: str, caplog: pytest.LogCaptureFixture) -> None:
    store.path.parent.mkdir()
    store.path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert store.writer() is None
    assert caplog.text
    store.save(ON)
    assert store.load() == ON


def test_file_that_was_changed_by_hand_is_checked_again(store: WriterStore) -> None:
    store.path.parent.mkdir()
    for endpoint, model in (("", "m"), ("http://x", ""), ("gopher://x", "m")):
        entry = {"is_on": True, "endpoint": endpoint, "model": model}
        store.path.write_text(json.dumps({"version": 1, "answers": [entry]}))
        with pytest.raises(ConfigError):
            store.writer()


def test_file_that_may_not_be_read_is_off_and_cannot_be_saved(store: WriterStore) -> None:
    store.path.mkdir(parents=True)
    assert store.writer() is None
    with pytest.raises(ConfigError, match="the settings of answers"):
        store.save(ON)
