"""Which engines there are, and what opening one refuses."""

from __future__ import annotations

import asyncio
import importlib
import re
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.contract import ConfigError, EngineDescriptor, EngineFailure, FetchMode
from explorer.contract.reference import ReferenceEngine
from explorer.engines import (
    ENTRY_POINT_GROUP,
    DynamicCredential,
    EngineCredential,
    EngineEntry,
    EngineSettings,
    StaticCredential,
    broken_engines,
    build_engine,
    list_engines,
    registry,
)

KEY = "sk-live-0123456789"
BUILT_IN = ["sqlite", "cortexdb", "tinyhumans", "reference"]
ROOT = Path(__file__).parents[2]


class Session:
    async def bearer(self) -> str:
        return KEY


def entry(
    id: str = "acme", *, build: Callable[[EngineSettings, EngineCredential], object] | None = None, **wants: object
) -> EngineEntry:
    descriptor = EngineDescriptor.model_validate(
        {
            "id": id,
            "label": id,
            "description": "",
            "hosted": False,
            "needs_endpoint": False,
            "needs_key": False,
            "fetch_modes": [FetchMode.KEYWORD],
            **wants,
        }
    )
    return EngineEntry(descriptor, build or (lambda settings, credential: ReferenceEngine()))  # type: ignore[arg-type]


Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_registry: None) -> Install:
    """Install a package: a real dist-info folder with entry points, and the module that they name."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))

    def add(name: str, source: str, *points: str) -> None:
        (site / f"{name}.py").write_text(source)
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("\n".join([f"[{ENTRY_POINT_GROUP}]", *points, ""]))
        importlib.invalidate_caches()
        monkeypatch.delitem(sys.modules, name, raising=False)
        registry.rescan_engines()

    return add


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[[EngineEntry], None]:
    """Put one engine into the registry, as if a package had added it."""

    def put(added: EngineEntry) -> None:
        monkeypatch.setattr(registry, "_found", ({added.descriptor.id: added}, []))

    return put


ACME = """
from explorer.contract import EngineDescriptor
from explorer.contract.reference import ReferenceEngine
from explorer.engines import EngineEntry

def entry(id):
    descriptor = EngineDescriptor(id=id, label="Acme", description="", hosted=False, needs_endpoint=False,
                                  needs_key=False, fetch_modes=[])
    return EngineEntry(descriptor, lambda settings, credential: ReferenceEngine())

ENTRY = entry("acme")
ZEBRA = entry("zebra")
BLANK = entry(" ")
SQLITE = entry("sqlite")
"""


# What is listed.


def test_built_in_engines_come_first() -> None:
    assert [engine.id for engine in list_engines()] == BUILT_IN
    assert broken_engines() == []


def test_list_is_a_copy() -> None:
    list_engines().clear()
    assert list_engines()


def test_importing_the_package_loads_no_engine() -> None:
    """In a fresh interpreter: neither an engine's libraries, nor the keyring's, nor Qt."""
    code = (
        "import sys, explorer.engines, explorer.transfer, explorer.cli\n"
        "loaded = {'numpy', 'keyring', 'sqlite3', 'PySide6', 'httpx', 'explorer.engines.sqlite',"
        " 'explorer.contract.reference'}\n"
        "print(sorted(loaded & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_listing_engines_loads_nothing_that_speaks_http() -> None:
    code = (
        "import sys\n"
        "from explorer.engines import list_engines\n"
        "assert [engine.id for engine in list_engines()][1:3] == ['cortexdb', 'tinyhumans']\n"
        "loaded = {'httpx', 'explorer.engines.cortex.engine', 'explorer.engines.cortex.transport'}\n"
        "print(sorted(loaded & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_installed_packages_add_engines_by_id(install: Install) -> None:
    install("acme_memory", ACME, "second = acme_memory:ZEBRA", "first = acme_memory:ENTRY")
    assert [engine.id for engine in list_engines()] == [*BUILT_IN, "acme", "zebra"]
    assert isinstance(build_engine("zebra", EngineSettings(), None), ReferenceEngine)
    assert broken_engines() == []


@pytest.mark.parametrize(
    ("source", "point", "says"),
    [
        ("import not_there_at_all", "x = broken:ENTRY", "ModuleNotFoundError"),
        ("import sys; sys.exit(3)", "x = broken:ENTRY", "SystemExit"),
        ("1 / 0", "x = broken:ENTRY", "ZeroDivisionError"),
        ("class Panic(BaseException): pass\nraise Panic('of a compiled module')", "x = broken:ENTRY", "Panic: of a"),
        ("class Mute(Exception):\n def __str__(self): 1 / 0\nraise Mute", "x = broken:ENTRY", "(Mute)"),
        ("raise ImportError('first\\nsecond' + 'x' * 9000)", "x = broken:ENTRY", "first second"),
        ("", "x = broken:ENTRY", "AttributeError"),
        ("ENTRY = dict", "x = broken:ENTRY", "not an EngineEntry but a type"),
        ("from explorer.engines import EngineEntry\nENTRY = EngineEntry(None, None)", "x = broken:ENTRY", "descriptor"),
        (ACME, "x = broken:BLANK", "its id is blank"),
        (ACME, "sqlite = broken:SQLITE", "`sqlite` is the id of a built-in engine"),
    ],
)
def test_broken_package_costs_its_engine_only(
    install: Install, caplog: pytest.LogCaptureFixture, source: str, point: str, says: str
) -> None:
    install("broken", source, point)
    install("acme_memory", ACME, "acme = acme_memory:ENTRY")
    assert [engine.id for engine in list_engines()] == [*BUILT_IN, "acme"]
    (left_out,) = broken_engines()
    assert says in left_out.reason
    assert len(left_out.reason) < 400
    assert "\n" not in left_out.reason
    assert left_out.reason in caplog.text
    assert left_out.name in caplog.text


def test_second_package_of_one_id_is_left_out(install: Install) -> None:
    install("acme_memory", ACME, "a = acme_memory:ENTRY", "b = acme_memory:ENTRY")
    assert [engine.id for engine in list_engines()] == [*BUILT_IN, "acme"]
    assert [left_out.name for left_out in broken_engines()] == ["b"]


def test_built_in_engine_is_not_replaced(install: Install) -> None:
    install("broken", ACME, "sqlite = broken:SQLITE")
    with pytest.raises(ConfigError, match="needs a path"):
        build_engine("sqlite", EngineSettings(), None)


def test_broken_engine_says_why_when_it_is_opened(install: Install) -> None:
    install("broken", "import not_there_at_all", "acme = broken:ENTRY")
    with pytest.raises(ConfigError, match=r"`acme` cannot be used: it could not be loaded .*; install its package"):
        build_engine("acme", EngineSettings(), None)


# What opening one refuses, in order.


def refusal(id: str, settings: EngineSettings | None = None, credential: EngineCredential = None) -> str:
    with pytest.raises(ConfigError) as caught:
        build_engine(id, settings or EngineSettings(), credential)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    return caught.value.text


def test_unknown_id_names_those_that_are_known() -> None:
    assert refusal("nope").startswith(
        "unknown memory engine `nope`; choose one of `sqlite`, `cortexdb`, `tinyhumans`, `reference`"
    )


def test_missing_endpoint_comes_first(only: Callable[[EngineEntry], None]) -> None:
    only(entry(needs_endpoint=True, needs_key=True, needs_path=True))
    assert refusal("acme", EngineSettings(endpoint=" ")).startswith("memory engine `acme` needs an endpoint; set ")


@pytest.mark.parametrize("credential", [None, StaticCredential(""), StaticCredential(" \n")])
def test_missing_key_comes_second(only: Callable[[EngineEntry], None], credential: EngineCredential) -> None:
    only(entry(needs_endpoint=True, needs_key=True, needs_path=True))
    text = refusal("acme", EngineSettings(endpoint="nonsense"), credential)
    assert text.startswith("memory engine `acme` needs a credential; give ")


BAD_ENDPOINTS = [
    "nonsense",
    "memory.example.com",
    "ftp://memory.example.com",
    "http://",
    "https:///path",
    "https://:443",
    "https://a.example:port",
    "https://a.example:99999",
    "http://[::1",
    "https://a.example\\@b.example",
    "https://a.exam\nple",
    "https://a b.example",
    "file:///etc/passwd",
    f"https://user:{KEY}@a.example",
    f"https://{KEY}@a.example",
    f"https://a.example/?key={KEY}",
    f"https://a.example/#{KEY}",
]


@pytest.mark.parametrize("endpoint", BAD_ENDPOINTS)
def test_endpoint_must_be_a_plain_url(only: Callable[[EngineEntry], None], endpoint: str) -> None:
    only(entry(needs_endpoint=True, needs_path=True))
    text = refusal("acme", EngineSettings(endpoint=endpoint))
    assert text.startswith("the endpoint of memory engine `acme` must be ")


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://memory.example.com",
        "http://192.168.1.5:8080",
        "http://localhost.example.com",
        "http://127.0.0.1.example.com",
        "http://0.0.0.0",
        "http://[2001:db8::1]",
        "HTTP://memory.example.com",
    ],
)
def test_key_does_not_leave_the_computer_in_the_clear(only: Callable[[EngineEntry], None], endpoint: str) -> None:
    only(entry(needs_endpoint=True, needs_path=True))
    for credential in (StaticCredential(KEY), DynamicCredential(Session())):
        assert "unencrypted; use an https:// endpoint" in refusal("acme", EngineSettings(endpoint=endpoint), credential)
    # Without a key there is nothing to protect, and the next refusal is reached.
    assert "needs a path" in refusal("acme", EngineSettings(endpoint=endpoint))


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://memory.example.com",
        "https://memory.example.com:8443/base/",
        "http://localhost:3000",
        "http://LOCALHOST",
        "http://127.0.0.1",
        "http://127.8.9.1:1",
        "http://[::1]:8080",
        "http://[::ffff:127.0.0.1]",
        " https://memory.example.com ",
    ],
)
def test_endpoint_that_keeps_the_key_safe_is_taken(only: Callable[[EngineEntry], None], endpoint: str) -> None:
    only(entry(needs_endpoint=True, needs_key=True))
    for credential in (StaticCredential(KEY), DynamicCredential(Session())):
        assert isinstance(build_engine("acme", EngineSettings(endpoint=endpoint), credential), ReferenceEngine)


def test_default_endpoint_counts(only: Callable[[EngineEntry], None]) -> None:
    only(entry(needs_endpoint=True, default_endpoint="http://a.example"))
    assert isinstance(build_engine("acme"), ReferenceEngine)
    assert "unencrypted" in refusal("acme", None, StaticCredential(KEY))


@pytest.mark.parametrize("path", [None, "", " "])
def test_missing_path_comes_last(path: str | None) -> None:
    assert re.fullmatch(r"memory engine `sqlite` needs a path; choose .*", refusal("sqlite", EngineSettings(path=path)))


def test_bare_text_is_no_credential(only: Callable[[EngineEntry], None]) -> None:
    only(entry(needs_key=True))
    assert "takes a StaticCredential" in refusal("acme", None, KEY)  # type: ignore[arg-type]


def test_engine_gets_settings_and_credential_as_given(only: Callable[[EngineEntry], None]) -> None:
    got: list[object] = []

    def build(settings: EngineSettings, credential: EngineCredential) -> ReferenceEngine:
        got.extend((settings, credential))
        return ReferenceEngine()

    only(entry(build=build))
    settings, credential = EngineSettings(scope_root="org:1"), StaticCredential(KEY)
    build_engine("acme", settings, credential)
    assert got == [settings, credential]


def test_failure_of_an_added_engine_is_told_without_the_key(only: Callable[[EngineEntry], None]) -> None:
    def build(settings: EngineSettings, credential: EngineCredential) -> ReferenceEngine:
        raise RuntimeError(f"connecting with {KEY} failed")

    only(entry(build=build))
    with pytest.raises(EngineFailure, match=r"`acme` did not start: RuntimeError: connecting with \(key\) f") as caught:
        build_engine("acme", None, StaticCredential(KEY))
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None


class Panic(BaseException):
    """As compiled modules raise."""


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("error", [Panic("gone"), Mute(), SystemExit(3)], ids=["panic", "mute", "exit"])
def test_engine_that_breaks_does_not_take_the_program_along(
    only: Callable[[EngineEntry], None], error: BaseException
) -> None:
    def build(settings: EngineSettings, credential: EngineCredential) -> ReferenceEngine:
        raise error

    only(entry(build=build))
    with pytest.raises(EngineFailure, match=f"`acme` did not start: {type(error).__name__}"):
        build_engine("acme")


def test_refusal_that_quotes_the_key_is_told_without_it(only: Callable[[EngineEntry], None]) -> None:
    def build(settings: EngineSettings, credential: EngineCredential) -> ReferenceEngine:
        raise ConfigError(f"the key {KEY} is too old")

    only(entry(build=build))
    with pytest.raises(EngineFailure, match=r"ConfigError: .*the key \(key\) is too old") as caught:
        build_engine("acme", None, StaticCredential(KEY))
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_refusal_by_the_engine_itself_passes(only: Callable[[EngineEntry], None]) -> None:
    def build(settings: EngineSettings, credential: EngineCredential) -> ReferenceEngine:
        raise ConfigError("no such tenant")

    only(entry(build=build))
    assert refusal("acme") == "no such tenant"


def test_what_is_no_engine_is_not_handed_out(only: Callable[[EngineEntry], None]) -> None:
    only(entry(build=lambda settings, credential: object()))
    with pytest.raises(EngineFailure, match="built no MemoryEngine"):
        build_engine("acme")


async def test_embedded_engine_opens_a_file(tmp_path: Path) -> None:
    engine = build_engine("sqlite", EngineSettings(path=str(tmp_path / "m.db")), None)
    try:
        assert engine.descriptor().id == "sqlite"
        assert (await engine.health()).is_serving
    finally:
        await engine.aclose()
    assert await asyncio.to_thread((tmp_path / "m.db").is_file)
