"""What the two wires are opened with: defaults, and each refusal in the order in which they come."""

from __future__ import annotations

import traceback

import pytest

from explorer.contract import ConfigError, Consolidation, EngineDescriptor
from explorer.engines import DynamicCredential, EngineCredential, EngineSettings, StaticCredential, build_engine
from explorer.engines.cortex import DIRECT, HOSTED
from explorer.engines.cortex.settings import CortexSettings

KEY = "sk-live-0123456789"
GOOD = StaticCredential(KEY)
WIRES = pytest.mark.parametrize("id", ["cortexdb", "tinyhumans"])


class Session:
    async def bearer(self) -> str:
        return KEY


def refusal(id: str, credential: EngineCredential = GOOD, **settings: object) -> str:
    with pytest.raises(ConfigError) as caught:
        build_engine(id, EngineSettings.model_validate(settings), credential)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    return caught.value.text


async def built(id: str, credential: EngineCredential = GOOD, **settings: object) -> EngineDescriptor:
    engine = build_engine(id, EngineSettings.model_validate(settings), credential)
    try:
        return engine.descriptor()
    finally:
        await engine.aclose()


def direct(**settings: object) -> CortexSettings:
    return CortexSettings.of(EngineSettings.model_validate(settings), hosted=False)


def hosted(**settings: object) -> CortexSettings:
    return CortexSettings.of(EngineSettings.model_validate(settings), hosted=True)


# What they are without any setting.


async def test_descriptors_are_those_of_the_sheet() -> None:
    for shown, label, is_hosted, endpoint in (
        (await built("cortexdb"), "CortexDB", False, "https://api-v1.cortexdb.ai"),
        (await built("tinyhumans"), "TinyHumans", True, "https://api.tinyhumans.ai"),
    ):
        assert (shown.label, shown.hosted, shown.default_endpoint) == (label, is_hosted, endpoint)
        assert (shown.needs_endpoint, shown.needs_key, shown.needs_path) == (False, True, False)
        assert shown.fetch_modes == ["hybrid"]
        assert not shown.keeps_paths
        assert set(shown.settings) <= set(EngineSettings.model_fields)


def test_nothing_set_is_the_old_layout_at_the_default_endpoint() -> None:
    for settings in (direct(), hosted(), direct(endpoint=" "), hosted(endpoint="")):
        assert settings.endpoint in (DIRECT.default_endpoint, HOSTED.default_endpoint)
        assert settings.layout.root is None
        assert (settings.retired, settings.owner, settings.observes_actor, settings.headers) == (None, None, False, {})
    assert not direct().layout.hosted
    assert hosted().layout.hosted


def test_all_settings_arrive() -> None:
    settings = direct(
        endpoint=" https://memory.example.com/base ",
        headers={"X-Team": "blue"},
        scope_root=" /org:42/ ",
        scope_owner=" user:42 ",
        retired_scope_root="user:42",
        observed_actor=True,
        consolidation="automatic",
    )
    assert settings.endpoint == "https://memory.example.com/base"
    assert settings.headers == {"X-Team": "blue"}
    assert (settings.layout.root, settings.owner) == ("org:42", "user:42")
    assert settings.retired is not None
    assert settings.retired.root == "user:42"
    assert settings.observes_actor
    assert settings.consolidation is Consolidation.AUTOMATIC


def test_tenant_root_is_an_empty_one() -> None:
    settings = hosted(tenant_root=True, retired_scope_root="user:7")
    assert settings.layout.root == ""
    assert settings.retired is not None
    assert settings.retired.root == "user:7"
    assert settings.retired.hosted
    assert hosted(tenant_root=False).layout.root is None


def test_owner_registers_nothing_hosted_or_without_a_root() -> None:
    assert hosted(scope_root="org:42", scope_owner="user:42").owner is None
    assert direct(scope_owner="user:42").owner is None
    assert direct(scope_owner=" ").owner is None
    assert not hosted(observed_actor=True).observes_actor


@pytest.mark.parametrize(
    ("endpoint", "wanted", "has"),
    [
        (None, None, "automatic"),
        ("https://api-v1.cortexdb.ai", None, "automatic"),
        (" https://API-V1.cortexdb.ai/ ", None, "automatic"),
        ("https://cortex.example.com", None, "on_demand"),
        ("https://api-v1.cortexdb.ai.example.com", None, "on_demand"),
        ("http://localhost:3141", None, "on_demand"),
        (None, "on_demand", "on_demand"),
        ("https://cortex.example.com", "automatic", "automatic"),
    ],
)
async def test_consolidation_follows_the_endpoint(endpoint: str | None, wanted: str | None, has: str) -> None:
    assert (await built("cortexdb", endpoint=endpoint, consolidation=wanted)).consolidation == has


async def test_hosted_consolidation_is_scheduled() -> None:
    for wanted in (None, "scheduled"):
        assert (await built("tinyhumans", consolidation=wanted)).consolidation is Consolidation.SCHEDULED


def test_prints_show_no_header_value() -> None:
    assert "hush" not in repr(direct(headers={"X-Proxy": "hush"}))


# What is refused, in order.


@WIRES
@pytest.mark.parametrize("credential", [None, StaticCredential(""), StaticCredential(" \n")])
def test_key_is_needed_before_anything_else_is_looked_at(id: str, credential: EngineCredential) -> None:
    text = refusal(id, credential, endpoint="nonsense", headers={"Cookie": KEY}, scope_root="?")
    assert text.startswith(f"memory engine `{id}` needs a credential")


@WIRES
@pytest.mark.parametrize(
    ("endpoint", "says"),
    [
        ("nonsense", "must be a URL"),
        ("ftp://memory.example.com", "must be a URL"),
        ("https://", "must be a URL"),
        (f"https://user:{KEY}@memory.example.com", "without a user name"),
        ("http://memory.example.com", "unencrypted"),
        ("http://192.168.1.5:3141", "unencrypted"),
        ("http://localhost.example.com", "unencrypted"),
    ],
)
def test_endpoint_comes_before_the_other_settings(id: str, endpoint: str, says: str) -> None:
    for credential in (GOOD, DynamicCredential(Session())):
        assert says in refusal(id, credential, endpoint=endpoint, headers={"Cookie": KEY}, scope_root="?")


@pytest.mark.parametrize("endpoint", ["nonsense", "http://memory.example.com"])
def test_endpoint_is_checked_without_the_registry_too(endpoint: str) -> None:
    with pytest.raises(ConfigError):
        direct(endpoint=endpoint)


@WIRES
@pytest.mark.parametrize("endpoint", ["http://LOCALHOST:3141", "http://127.0.0.1", "http://[::1]:8080"])
async def test_cleartext_on_this_computer_is_taken(id: str, endpoint: str) -> None:
    await built(id, endpoint=endpoint)


OWN_HEADERS = [
    "Authorization",
    "PROXY-Authorization",
    "cookie",
    "Host",
    "Content-Length",
    "Idempotency-Key",
    "X-Cortex-Actor",
]


@WIRES
@pytest.mark.parametrize("name", OWN_HEADERS)
def test_headers_of_the_engine_are_not_settings(id: str, name: str) -> None:
    text = refusal(id, headers={"X-Fine": "1", name: KEY}, scope_root="?")
    assert f"`{name}`" in text


@WIRES
@pytest.mark.parametrize(
    ("name", "value"),
    [("", "1"), ("a b", "1"), ("a:b", "1"), ("ä", "1"), ("X-A", f"{KEY}\r\nX-B: 1"), ("X-A", f"{KEY}\0"), ("X-A", "ä")],
)
def test_header_that_no_request_holds_is_refused(id: str, name: str, value: str) -> None:
    text = refusal(id, headers={name: value}, scope_root="?")
    assert f"`{name}`" in text
    assert value not in text.replace(f"`{name}`", "")


@WIRES
@pytest.mark.parametrize("root", ["", " ", "org", "org:4.2", "region:eu", "org:1/app:tinymemory"])
def test_bad_root_comes_after_the_headers(id: str, root: str) -> None:
    text = refusal(id, scope_root=root, scope_owner=" ", tenant_root=True, retired_scope_root="?", consolidation="?")
    assert "root" in text
    assert "tenant" not in text
    assert "retired" not in text


@WIRES
def test_blank_owner_comes_next(id: str) -> None:
    text = refusal(
        id, scope_root="org:42", scope_owner=" ", tenant_root=True, retired_scope_root="?", consolidation="?"
    )
    assert "owner is blank" in text


def test_tenant_root_is_hosted_only() -> None:
    text = refusal("cortexdb", tenant_root=True, retired_scope_root="?", consolidation="?")
    assert "only the TinyHumans wire has a tenant root" in text


def test_two_roots_at_once_are_refused() -> None:
    text = refusal("tinyhumans", tenant_root=True, scope_root="org:42", retired_scope_root="?", consolidation="?")
    assert "two places" in text


@WIRES
@pytest.mark.parametrize(
    ("root", "retired", "says"),
    [
        (None, "user:42", "goes with a new one"),
        ("org:42", " /org:42/ ", "`org:42` is the scope root itself"),
        ("org:42", "nonsense", "nonsense"),
        ("org:42", "", "root"),
    ],
)
def test_retired_root_must_be_another_one(id: str, root: str | None, retired: str, says: str) -> None:
    assert says in refusal(id, scope_root=root, retired_scope_root=retired, consolidation="?")


@pytest.mark.parametrize(
    ("id", "wanted"),
    [
        ("cortexdb", "scheduled"),
        ("cortexdb", "none"),
        ("cortexdb", "Automatic"),
        ("cortexdb", ""),
        ("tinyhumans", "automatic"),
        ("tinyhumans", "on_demand"),
    ],
)
def test_consolidation_that_is_not_served_comes_last(id: str, wanted: str) -> None:
    text = refusal(id, consolidation=wanted)
    assert f"`{wanted}`" in text
    assert ("scheduled" if id == "tinyhumans" else "`automatic` or `on_demand`") in text
