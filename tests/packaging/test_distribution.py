"""What is locked, and what a wheel carries."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import explorer

ROOT = Path(__file__).parents[2]
LOCKS = ["requirements.lock", "requirements-dev.lock"]


def read_lock(name: str) -> str:
    return (ROOT / "packaging" / name).read_text("utf-8")


def pins(name: str) -> set[tuple[str, str]]:
    return set(re.findall(r"^([a-z0-9-]+)==([^ ]+)", read_lock(name), re.MULTILINE))


def plain_names(requirements: list[str]) -> set[str]:
    """Names as the lock files spell them (PEP 503)."""
    return {re.sub(r"[-_.]+", "-", re.split(r"[<>=!~; \[]", text)[0]).lower() for text in requirements}


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_package_has_one_version_and_hashes(name):
    entries = re.sub(r" \\\n +", " ", read_lock(name)).splitlines()
    requirements = [line for line in entries if line and not line.lstrip().startswith("#")]
    assert len(requirements) > 20
    for line in requirements:
        assert re.fullmatch(r"[a-z0-9-]+==[^ ]+( ; [^#]+?)?( --hash=sha256:[0-9a-f]{64})+", line), line


@pytest.mark.parametrize("name", LOCKS)
def test_locks_name_no_host_and_no_path(name):
    assert not re.search(
        r"://|--(extra-)?index|--find-links|file:|(?m:^\s*#.*/(home|root|tmp|work|Users)/)", read_lock(name)
    )


def test_locks_agree_with_each_other_and_with_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert pins("requirements.lock") < pins("requirements-dev.lock")
    runtime = {name for name, _ in pins("requirements.lock")}
    assert plain_names(project["project"]["dependencies"]) <= runtime
    develop = {name for name, _ in pins("requirements-dev.lock")}
    assert plain_names(project["dependency-groups"]["dev"] + project["build-system"]["requires"]) <= develop


def test_installed_commands():
    found = importlib.metadata.distribution("tinymemory-explorer")
    assert found.version == explorer.__version__
    assert {(entry.group, entry.name, entry.value) for entry in found.entry_points} == {
        ("gui_scripts", "tinymemory-explorer", "explorer.__main__:main"),
        ("console_scripts", "tinymemory", "explorer.cli:main"),
    }


def test_wheel_carries_the_resources_and_finds_them(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    assert {path.name for path in (tmp_path / "site").iterdir() if path.suffix != ".dist-info"} == {"explorer"}
    code = "import sys; sys.path.insert(0, sys.argv[1]); from explorer.paths import resource; print(resource('icons'))"
    command = [sys.executable, "-c", code, str(tmp_path / "site")]
    printed = subprocess.check_output(command, cwd=tmp_path, text=True).strip()
    assert Path(printed) == tmp_path / "site" / "explorer" / "_resources" / "icons"
    shipped = {path.name for path in (ROOT / "resources" / "icons").iterdir()}
    assert {path.name for path in Path(printed).iterdir()} == shipped
