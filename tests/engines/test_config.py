"""Settings and config files, and credentials that nothing shows."""

from __future__ import annotations

import copy
import logging
import pickle
import traceback
from pathlib import Path

import pytest
from pydantic import ValidationError

from explorer.contract import ConfigError, Unauthorized
from explorer.engines import DynamicCredential, EngineSettings, MemoryConfig, StaticCredential, file_settings

KEY = "sk-live-0123456789"


class Session:
    """A signed-in session that hands out one key after the other."""

    def __init__(self, *keys: object) -> None:
        self.keys = list(keys)

    async def bearer(self) -> str:
        key = self.keys.pop(0)
        if isinstance(key, Exception):
            raise key
        return key  # type: ignore[return-value]


# What a file holds.


def test_toml_of_the_specification() -> None:
    config = MemoryConfig.from_toml(
        'engine = "cortexdb"\n\n[engines.cortexdb]\nendpoint = "https://cortex.example.com"\n'
        'scope_root = "org:42"\nscope_owner = "user:42"\n'
    )
    assert config.engine == "cortexdb"
    assert config.settings == EngineSettings(
        endpoint="https://cortex.example.com", scope_root="org:42", scope_owner="user:42"
    )


def test_json_of_the_specification() -> None:
    config = MemoryConfig.from_json('{ "engine": "tinyhumans", "engines": { "tinyhumans": { "tenant_root": true } } }')
    assert (config.engine, config.settings.tenant_root) == ("tinyhumans", True)


def test_default_engine_is_offline() -> None:
    assert MemoryConfig().engine == "sqlite"
    assert MemoryConfig().settings == EngineSettings()


def test_engine_without_an_entry_has_default_settings() -> None:
    assert MemoryConfig.from_toml('engine = "sqlite"').settings == EngineSettings()


def test_unknown_keys_are_ignored_and_unset_ones_left_out() -> None:
    config = MemoryConfig.from_json(
        '{"engine":"sqlite","engines":{"sqlite":{"path":"m.db","future":[1]}},"api_key":"x"}'
    )
    assert config.settings.model_dump_json() == '{"path":"m.db"}'
    assert config.model_dump_json() == '{"engine":"sqlite","engines":{"sqlite":{"path":"m.db"}}}'
    assert EngineSettings().model_dump_json() == "{}"


def test_path_may_be_a_path_object(tmp_path: Path) -> None:
    assert EngineSettings(path=tmp_path / "m.db").path == str(tmp_path / "m.db")  # type: ignore[arg-type]


def test_a_file_is_opened_by_a_name_that_is_text() -> None:
    assert file_settings(Path("/a/b.db"), read_only=True) == EngineSettings(path=str(Path("/a/b.db")), read_only=True)
    assert file_settings(None) == EngineSettings()
    with pytest.raises(ConfigError, match="not Unicode text; rename the file"):
        file_settings("/a/m\udcfe.db")


@pytest.mark.parametrize("endpoint", [None, "", "  \t"])
def test_blank_endpoint_is_the_default(endpoint: str | None) -> None:
    assert EngineSettings(endpoint=endpoint).endpoint_or(" https://a.example ") == "https://a.example"
    assert EngineSettings(endpoint=endpoint).endpoint_or(None) is None


def test_endpoint_is_trimmed() -> None:
    assert EngineSettings(endpoint=" https://b.example ").endpoint_or("https://a.example") == "https://b.example"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("engine = ", "not TOML"),
        ("[engines.sqlite]", "names no engine"),
        ("engine = 3", "engine: input should be a valid string"),
        ('engine = "a"\nengines = 3', "engines: input should be a valid dictionary"),
        ('engine = "a"\n[engines.a]\ntenant_root = "yes"', "engines.a.tenant_root: input should be a valid boolean"),
    ],
)
def test_bad_toml_is_refused_with_the_place(text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        MemoryConfig.from_toml(text)


@pytest.mark.parametrize(
    ("text", "says"), [("{", "not JSON"), ("[]", "must be a table"), ('{"engine":"a","engine":"b"}', "there twice")]
)
def test_bad_json_is_refused(text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        MemoryConfig.from_json(text)


def test_load_reads_both_forms_and_names_the_file(tmp_path: Path) -> None:
    toml, json, bad = tmp_path / "m.toml", tmp_path / "m.JSON", tmp_path / "bad.toml"
    toml.write_bytes(b'\xef\xbb\xbfengine = "sqlite"\r\n')
    json.write_text('{"engine":"reference"}')
    bad.write_bytes(b"\xff")
    assert MemoryConfig.load(toml).engine == "sqlite"
    assert MemoryConfig.load(str(json)).engine == "reference"
    with pytest.raises(ConfigError, match=r"bad\.toml is not UTF-8"):
        MemoryConfig.load(bad)
    with pytest.raises(ConfigError, match=r"cannot read .*none\.toml: no such file"):
        MemoryConfig.load(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match=r"cannot read .*NUL"):
        MemoryConfig.load(tmp_path / "a\0.toml")


def test_error_does_not_quote_a_key_in_the_wrong_place() -> None:
    with pytest.raises(ConfigError) as caught:
        MemoryConfig.from_json(f'{{"engine":"a","engines":{{"a":{{"tenant_root":"{KEY}"}}}}}}')
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_settings_do_not_print_header_values() -> None:
    assert KEY not in repr(EngineSettings(headers={"X-Proxy": KEY}))
    assert KEY not in repr(EngineSettings(endpoint=f"https://me:{KEY}@memory.example.com"))
    assert KEY not in repr(EngineSettings(embedding_endpoint=f"https://me:{KEY}@memory.example.com"))


def test_config_builds_the_engine_it_names(tmp_path: Path) -> None:
    assert MemoryConfig(engine="reference").build(None).descriptor().id == "reference"
    with pytest.raises(ConfigError, match="unknown memory engine `nope`"):
        MemoryConfig(engine="nope").build()


def test_settings_are_immutable() -> None:
    with pytest.raises(ValidationError):
        EngineSettings().path = "x"  # type: ignore[misc]


# Credentials.


@pytest.mark.parametrize("show", [repr, str, "{}".format, "{:>40}".format, "{!r}".format, ascii])
def test_no_form_of_a_credential_shows_the_key(show: object) -> None:
    for credential in (StaticCredential(KEY), DynamicCredential(Session(KEY))):
        text = show(credential)  # type: ignore[operator]
        assert "hidden" in text
        assert KEY not in text
        assert KEY not in str([credential]) + f"{ {'a': credential} }" + f"{credential}"


def test_credential_is_not_written_down() -> None:
    for credential in (StaticCredential(KEY), DynamicCredential(Session(KEY))):
        with pytest.raises(TypeError, match="not written down"):
            pickle.dumps(credential)
        with pytest.raises(TypeError, match="not written down"):
            credential.__getstate__()
        assert not hasattr(credential, "__dict__")
        assert copy.copy(credential) is credential
        assert copy.deepcopy([credential])[0] is credential


def test_traceback_with_locals_does_not_show_the_key() -> None:
    def fails(credential: StaticCredential) -> None:
        raise ValueError("no")

    try:
        fails(StaticCredential(KEY))
    except ValueError as error:
        # Only the frames below this one: this one's own constants hold the key.
        frames = traceback.TracebackException.from_exception(error, capture_locals=True).stack[1:]
        assert "StaticCredential(hidden)" in str([frame.locals for frame in frames])
        assert KEY not in str([frame.locals for frame in frames])


def test_log_record_does_not_show_the_key(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("test").warning("opening with %s and %r", StaticCredential(KEY), StaticCredential(KEY))
    assert "hidden" in caplog.text
    assert KEY not in caplog.text


def test_static_credential_is_compared_by_its_key() -> None:
    assert StaticCredential("a") == StaticCredential("a")
    assert StaticCredential("a") != StaticCredential("b")
    assert len({StaticCredential("a"), StaticCredential("a")}) == 1


async def test_bearer_is_trimmed() -> None:
    assert await StaticCredential(f" {KEY}\n").bearer() == KEY
    assert await DynamicCredential(Session(f" {KEY}\n")).bearer() == KEY


async def test_dynamic_credential_asks_each_time() -> None:
    credential = DynamicCredential(Session("first", "second"))
    assert [await credential.bearer(), await credential.bearer()] == ["first", "second"]


@pytest.mark.parametrize("key", ["", " \t", None, 7])
async def test_source_without_a_key_is_unauthorized(key: object) -> None:
    with pytest.raises(Unauthorized, match="gave no key; sign in again"):
        await DynamicCredential(Session(key)).bearer()


async def test_failure_of_a_source_is_told_without_its_text() -> None:
    with pytest.raises(Unauthorized, match=r"failed \(RuntimeError\)") as caught:
        await DynamicCredential(Session(RuntimeError(f"401 for {KEY}"))).bearer()
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    assert KEY not in "".join(traceback.format_exception(error))
