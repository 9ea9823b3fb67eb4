"""Saved connections on a real file, and keys in a real keyring of the library's own kind."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import stat
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import chainer, fail, null
from keyring.errors import KeyringLocked
from pydantic import ValidationError

from explorer.contract import ConfigError, Conflict, InvalidRequest, Timestamp
from explorer.engines import (
    ConnectionStore,
    EngineSettings,
    FoundCredential,
    KeyPlace,
    KeyStore,
    SavedConnection,
    StaticCredential,
    find_credential,
)
from tests.engines.keyrings import MemoryKeyring

KEY = "sk-live-0123456789"


class LockedKeyring(MemoryKeyring):
    """A keyring that the user does not unlock, and that blurts out what it was given."""

    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked(f"cannot unlock {KEY}")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise KeyringLocked(f"cannot keep {password}")


class PlaintextKeyring(MemoryKeyring):
    """Named as the one of keyrings.alt that writes keys to a file as they are."""


class ChildOfPlaintext(PlaintextKeyring):
    pass


UseKeyring = Callable[[KeyringBackend], None]


@pytest.fixture
def use_keyring() -> Iterator[UseKeyring]:
    before = keyring.get_keyring()
    yield keyring.set_keyring
    keyring.set_keyring(before)


@pytest.fixture
def kept(use_keyring: UseKeyring) -> dict[tuple[str, str], str]:
    """What the system's keyring holds."""
    backend = MemoryKeyring()
    use_keyring(backend)
    return backend.kept


@pytest.fixture
def store(tmp_path: Path) -> ConnectionStore:
    return ConnectionStore(tmp_path / "connections.json")


def sqlite(name: str, **fields: Any) -> SavedConnection:
    return SavedConnection(name=name, engine="sqlite", settings=EngineSettings(path=f"/data/{name}.db"), **fields)


def names(store: ConnectionStore) -> list[str]:
    return [connection.name for connection in store.load()]


# The file.


def test_nothing_saved_is_no_file(store: ConnectionStore) -> None:
    assert store.load() == []
    assert store.notices == []
    assert not store.path.exists()


def test_default_place_is_the_users_config_folder(home: Path) -> None:
    store = ConnectionStore()
    assert store.path.name == "connections.json"
    assert store.path.parent.name == "tinymemory-explorer"
    assert home.resolve() in store.path.parents
    store.save(sqlite("a"))
    assert names(ConnectionStore()) == ["a"]


def test_what_is_saved_is_loaded(store: ConnectionStore) -> None:
    saved = SavedConnection(
        name="Büro ✓",
        engine="cortexdb",
        settings=EngineSettings(endpoint="https://c.example", headers={"X-Team": "a"}, read_only=True),
        last_opened=Timestamp.parse("2026-10-04T09:30:00.123456789Z"),
        key_from=KeyPlace.ENVIRONMENT,
        key_variable="CORTEX_KEY",
    )
    store.save(saved)
    assert store.load() == [saved]
    assert store.get("Büro ✓") == saved
    assert store.get("other") is None


def test_file_is_readable_and_for_the_user_alone(store: ConnectionStore) -> None:
    store.save(sqlite("Büro"))
    text = store.path.read_text("utf-8")
    assert text == (
        '{\n  "version": 1,\n  "connections": [\n    {\n      "name": "Büro",\n      "engine": "sqlite",\n'
        '      "settings": {\n        "path": "/data/Büro.db"\n      },\n      "key_from": "none"\n    }\n  ]\n}\n'
    )
    if sys.platform != "win32":
        assert stat.S_IMODE(store.path.stat().st_mode) == 0o600


def test_order_is_kept(store: ConnectionStore) -> None:
    for name in "cab":
        store.add(sqlite(name))
    store.save(sqlite("a", key_from=KeyPlace.ASK))
    assert names(store) == ["c", "a", "b"]
    assert store.load()[1].key_from is KeyPlace.ASK
    assert store.remove("c")
    assert not store.remove("c")
    assert names(store) == ["a", "b"]


def test_names_are_unique(store: ConnectionStore) -> None:
    store.add(sqlite("a"))
    store.add(sqlite("b"))
    with pytest.raises(Conflict, match="a connection named a already; choose another"):
        store.add(sqlite("a"))
    with pytest.raises(Conflict, match="named b already"):
        store.save(sqlite("b"), replacing="a")
    store.save(sqlite("c"), replacing="a")
    assert names(store) == ["c", "b"]


def test_rename_of_one_that_is_gone_appends(store: ConnectionStore) -> None:
    store.save(sqlite("new"), replacing="old")
    assert names(store) == ["new"]


def test_touch_notes_when_it_was_opened(store: ConnectionStore) -> None:
    store.save(sqlite("a"))
    before = Timestamp.now_utc()
    assert store.touch("a")
    opened = store.load()[0].last_opened
    assert opened is not None
    assert before <= opened <= Timestamp.now_utc()
    assert not store.touch("b")


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\x1b[31m", "a\u202eb"])
def test_name_is_one_readable_line(name: str) -> None:
    with pytest.raises(ValidationError):
        sqlite(name)


@pytest.mark.parametrize(
    ("place", "variable"),
    [
        (KeyPlace.ENVIRONMENT, None),
        (KeyPlace.KEYRING, "A"),
        (KeyPlace.ENVIRONMENT, "A-B"),
        (KeyPlace.ENVIRONMENT, "1A"),
        (KeyPlace.ENVIRONMENT, ""),
    ],
)
def test_variable_goes_with_its_place(place: KeyPlace, variable: str | None) -> None:
    with pytest.raises(ValidationError):
        sqlite("a", key_from=place, key_variable=variable)


def test_failed_write_leaves_the_old_file(store: ConnectionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.save(sqlite("a"))
    before = store.path.read_bytes()

    def no_space(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(ConfigError, match=r"cannot write the saved connections to .*: no space left"):
        store.save(sqlite("b"))
    assert store.path.read_bytes() == before
    assert {path.name for path in store.path.parent.iterdir() if not path.is_dir()} == {
        "connections.json",
        ".connections.json.lock",
    }


def test_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "mine.json"
    real.parent.mkdir()
    link = tmp_path / "connections.json"
    link.symlink_to(real)
    ConnectionStore(link).save(sqlite("a"))
    assert link.is_symlink()
    assert names(ConnectionStore(real)) == ["a"]


# What this version does not know.


def test_unknown_is_kept_as_it_is(store: ConnectionStore) -> None:
    strange = {"name": "later", "engine": "quantum", "settings": {"qubits": 3, "path": "p"}, "colour": "red"}
    broken = {"engine": 3}
    mine = {"name": "a", "engine": "sqlite", "settings": {"path": "old", "cache": 9}, "pinned": True}
    store.path.write_text(json.dumps({"version": 1, "connections": [strange, broken, "?", mine]}))
    assert names(store) == ["later", "a"]
    store.save(sqlite("a"))
    store.touch("later")
    entries = json.loads(store.path.read_text())["connections"]
    assert entries[0].pop("last_opened").endswith("Z")
    assert entries == [
        strange,
        broken,
        "?",
        {
            "name": "a",
            "engine": "sqlite",
            "settings": {"path": "/data/a.db", "cache": 9},
            "key_from": "none",
            "pinned": True,
        },
    ]


def test_entry_that_does_not_fit_is_told_once(store: ConnectionStore) -> None:
    store.path.write_text(
        json.dumps({"version": 1, "connections": [{"name": "a", "engine": "x"}, {"name": "a", "engine": "y"}, {}]})
    )
    store.load()
    assert [connection.engine for connection in store.load()] == ["x"]
    assert len(store.notices) == 2
    assert "connection 2" in store.notices[0]
    assert "its name is there twice" in store.notices[0]
    assert "connection 3" in store.notices[1]


# A file that cannot be read.

UNREADABLE = [
    b"",
    b"{",
    b"\xff\xfe{}",
    b"[]",
    b"null",
    b'{"connections": []}',
    b'{"version": true, "connections": []}',
    b'{"version": 0, "connections": []}',
    b'{"version": 1, "connections": {}}',
    b'{"version": 2, "connections": []}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("content", UNREADABLE, ids=lambda content: repr(content[:24]))
@pytest.mark.parametrize("by", ["load", "save"])
def test_unreadable_file_is_moved_aside(
    store: ConnectionStore, caplog: pytest.LogCaptureFixture, content: bytes, by: str
) -> None:
    store.path.write_bytes(content)
    if by == "load":
        assert store.load() == []
        assert not store.path.exists()
    else:
        store.save(sqlite("a"))
        assert names(store) == ["a"]
    aside = store.path.with_name("connections.unreadable-1.json")
    assert aside.read_bytes() == content
    (notice,) = store.notices
    assert str(aside) in notice
    assert notice in caplog.text


def test_moving_aside_overwrites_nothing(store: ConnectionStore) -> None:
    for content in (b"first", b"second", b"third"):
        store.path.write_bytes(content)
        store.load()
    asides = sorted(store.path.parent.glob("connections.unreadable-*.json"))
    assert [path.read_bytes() for path in asides] == [b"first", b"second", b"third"]
    assert len(store.notices) == 3


def test_newer_version_is_named(store: ConnectionStore) -> None:
    store.path.write_text('{"version": 7, "connections": [{"name": "a", "engine": "sqlite"}]}')
    store.load()
    assert "version 7, which a newer release of this program wrote" in store.notices[0]


def test_byte_order_mark_of_an_editor_is_read(store: ConnectionStore) -> None:
    store.path.write_text('{"version": 1, "connections": [{"name": "a", "engine": "sqlite"}]}', "utf-8-sig")
    assert names(store) == ["a"]


def test_folder_in_its_place_is_an_error_and_stays(store: ConnectionStore) -> None:
    store.path.mkdir()
    for call in (store.load, lambda: store.save(sqlite("a"))):
        with pytest.raises(ConfigError, match="cannot read the saved connections at "):
            call()
    assert store.path.is_dir()


# Several at once.


def test_threads_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "connections.json"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: ConnectionStore(path).save(sqlite(f"n{number}")), range(40)))
    assert sorted(names(ConnectionStore(path))) == sorted(f"n{number}" for number in range(40))


def save_many(path: Path, prefix: str) -> None:
    for number in range(15):
        ConnectionStore(path).save(sqlite(f"{prefix}{number}"))


def test_processes_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "connections.json"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=save_many, args=(path, prefix)) for prefix in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    assert sorted(names(ConnectionStore(path))) == sorted(
        f"{prefix}{number}" for prefix in "abc" for number in range(15)
    )


def test_unreadable_file_met_by_many_is_moved_once(tmp_path: Path) -> None:
    path = tmp_path / "connections.json"
    path.write_bytes(b"{")
    barrier = threading.Barrier(8)

    def save(number: int) -> None:
        barrier.wait()
        ConnectionStore(path).save(sqlite(f"n{number}"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(save, range(8)))
    assert len(names(ConnectionStore(path))) == 8
    assert len(list(tmp_path.glob("*unreadable*"))) == 1


# Keys.


def everything_under(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_key_goes_to_the_keyring_and_nowhere_else(
    tmp_path: Path, store: ConnectionStore, kept: dict[tuple[str, str], str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    keys = KeyStore()
    connection = sqlite("a", key_from=KeyPlace.KEYRING)
    assert keys.is_available
    keys.set("a", StaticCredential(f" {KEY}\n"))
    store.save(connection)
    assert kept == {("tinymemory-explorer", "a"): KEY}
    found = find_credential(connection, keys)
    assert found.credential == StaticCredential(KEY)
    assert found.ask_because is None
    assert KEY.encode() not in everything_under(tmp_path)
    for shown in (repr(connection), repr(keys), repr(store.load()), repr(found), caplog.text):
        assert KEY not in shown


def test_key_is_replaced_renamed_and_deleted(kept: dict[tuple[str, str], str]) -> None:
    keys = KeyStore()
    assert keys.get("a") is None
    keys.set("a", StaticCredential("one"))
    keys.set("a", StaticCredential("two"))
    keys.rename("a", "b")
    keys.rename("none", "c")
    assert list(kept.values()) == ["two"]
    assert keys.get("b") == StaticCredential("two")
    assert keys.delete("b")
    assert not keys.delete("b")
    assert kept == {}


def test_blank_key_is_not_kept(kept: dict[tuple[str, str], str]) -> None:
    with pytest.raises(InvalidRequest, match="the key is blank"):
        KeyStore().set("a", StaticCredential(" "))
    assert kept == {}


@pytest.mark.parametrize("kind", [fail.Keyring, null.Keyring, PlaintextKeyring, ChildOfPlaintext])
def test_keyring_that_keeps_no_secret_is_not_used(use_keyring: UseKeyring, kind: type[KeyringBackend]) -> None:
    use_keyring(kind())
    keys = KeyStore()
    assert not keys.is_available
    for call in (lambda: keys.get("a"), lambda: keys.set("a", StaticCredential(KEY))):
        with pytest.raises(ConfigError, match="no keyring to keep keys in; put the key in an environment variable"):
            call()
    assert not keys.delete("a")


def test_of_a_chain_the_one_that_keeps_secrets_is_used(
    use_keyring: UseKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, safe = PlaintextKeyring(), MemoryKeyring()
    monkeypatch.setattr(chainer.ChainerBackend, "backends", [plain, safe])
    use_keyring(chainer.ChainerBackend())
    KeyStore().set("a", StaticCredential(KEY))
    assert plain.kept == {}
    assert list(safe.kept.values()) == [KEY]


def test_keyring_that_fails_is_told_without_the_key(use_keyring: UseKeyring, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    use_keyring(LockedKeyring())
    keys = KeyStore()
    for call, what in ((lambda: keys.set("a", StaticCredential(KEY)), "keep"), (lambda: keys.get("a"), "give")):
        with pytest.raises(ConfigError, match=rf"did not {what} the key \(KeyringLocked\); unlock it") as caught:
            call()
        assert KEY not in "".join(traceback.format_exception(caught.value))
        assert caught.value.__context__ is None
    assert KEY not in caplog.text


# Where a key is found.


def test_no_key_is_needed() -> None:
    assert find_credential(sqlite("a"), KeyStore()) == FoundCredential()


def test_key_of_an_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = sqlite("a", key_from=KeyPlace.ENVIRONMENT, key_variable="A_KEY")
    monkeypatch.setenv("A_KEY", KEY)
    assert find_credential(connection, KeyStore()).credential == StaticCredential(KEY)
    for blank in ("", " "):
        monkeypatch.setenv("A_KEY", blank)
        found = find_credential(connection, KeyStore())
        assert found == FoundCredential(ask_because="the environment variable A_KEY is not set; enter the key")


@pytest.mark.parametrize(
    ("backend", "says"),
    [(MemoryKeyring, "holds no key for a"), (LockedKeyring, "KeyringLocked"), (fail.Keyring, "no keyring")],
)
def test_user_is_asked_where_the_keyring_has_none(
    use_keyring: UseKeyring, backend: type[KeyringBackend], says: str
) -> None:
    use_keyring(backend())
    found = find_credential(sqlite("a", key_from=KeyPlace.KEYRING), KeyStore())
    assert found.credential is None
    assert found.ask_because is not None
    assert says in found.ask_because


def test_user_is_asked_when_that_was_chosen() -> None:
    assert find_credential(sqlite("a", key_from=KeyPlace.ASK), KeyStore()).ask_because is not None


# Settings that would carry a key into the file.


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "proxy-authorization",
        " COOKIE ",
        "X-Api-Key",
        "X-Auth-Token",
        "X-Goog-Api-Key",
        "client-secret",
    ],
)
def test_header_with_a_key_is_not_saved(store: ConnectionStore, name: str) -> None:
    connection = SavedConnection(name="a", engine="cortexdb", settings=EngineSettings(headers={name: KEY}))
    with pytest.raises(InvalidRequest, match="may hold a key, which is not saved") as caught:
        store.save(connection)
    assert KEY not in str(caught.value)
    assert KEY not in repr(connection)
    assert not store.path.exists()


@pytest.mark.parametrize("endpoint", [f"https://{KEY}@a.example", f"https://a.example?key={KEY}", KEY])
def test_endpoint_with_a_key_is_not_saved(store: ConnectionStore, endpoint: str) -> None:
    connection = SavedConnection(name="a", engine="cortexdb", settings=EngineSettings(endpoint=endpoint))
    for call in (store.save, store.add):
        with pytest.raises(ConfigError, match="the endpoint of memory engine `cortexdb` must be") as caught:
            call(connection)
        assert KEY not in str(caught.value)
    assert not store.path.exists()


def test_of_an_endpoint_the_settings_to_open_with_say_whose_memory_it_is() -> None:
    assert SavedConnection(name="Work", engine="cortexdb").engine_settings.account == "Work"
    renamed = SavedConnection(name="Old work", engine="cortexdb", settings=EngineSettings(account="Work"))
    assert renamed.engine_settings == renamed.settings
    a_file = SavedConnection(name="Notes", engine="sqlite", settings=EngineSettings(path="/notes.db"))
    assert a_file.engine_settings == a_file.settings
