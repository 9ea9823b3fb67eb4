"""Which files lie at the top, and which module may import which."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOP = {
    *("pyproject.toml", "README.md", "LICENSE", ".gitignore"),
    *(".ci", "explorer", "packaging", "resources", "tests"),
}
QT = {"PySide6", "qasync", "shiboken6"}

# A module imports from its own layer and those below. What is not named here is a service.
LAYERS = {"paths": 0, "contract": 0, "engines": 1, "cli": 3, "ui": 3, "__main__": 4}
SERVICE = 2

IMPORT_ALL = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
    found = {"PySide6", "qasync", "shiboken6"} & {module.partition(".")[0] for module in sys.modules}
    if found:
        sys.exit(f"{name} imports {', '.join(sorted(found))}")
"""


def module_name(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(file): file for file in sorted((ROOT / "explorer").rglob("*.py"))}


def part(module: str) -> str:
    """The part of the program that a module belongs to: "ui" for "explorer.ui.app", "" for the package itself."""
    return module.split(".")[1] if "." in module else ""


def imports(module: str) -> Iterator[str]:
    """Full names of what a module imports anywhere, also in functions and for type checking only."""
    file = MODULES[module]
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield full if full in MODULES else base


def test_top_level_is_complete_and_holds_nothing_else():
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    files = subprocess.check_output(command, cwd=ROOT, text=True).splitlines()
    assert {file.partition("/")[0] for file in files} == TOP


def test_imports_are_read_in_every_form():
    assert {"explorer", "explorer.ui.app", "explorer.options"} & set(imports("explorer.__main__"))
    assert "pathlib" in set(imports("explorer.paths"))
    assert {part(module) for module in MODULES} >= {"", "contract", "engines", "ui", "cli", "paths", "__main__"}


def test_nothing_outside_ui_brings_qt_along():
    names = [name for name in MODULES if part(name) != "ui"]
    command = [sys.executable, "-c", IMPORT_ALL, *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_qt_is_seen_where_it_is_imported():
    names = [name for name in MODULES if part(name) == "ui"]
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, *names], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "PySide6" in done.stderr


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module):
    layer = LAYERS.get(part(module), SERVICE)
    for name in imports(module):
        if name.partition(".")[0] == "explorer" and part(name):
            above = LAYERS.get(part(name), SERVICE) > layer
            aside = {part(module), part(name)} == {"ui", "cli"}
            assert not above, f"{module} imports {name}, which is above it"
            assert not aside, f"{module} imports {name}: the window and the command line know nothing of each other"
        elif part(module) != "ui":
            assert name.partition(".")[0] not in QT, f"{module} imports {name}"


@pytest.mark.parametrize("module", [name for name in MODULES if part(name) == "contract"])
def test_contract_is_pure(module):
    for name in imports(module):
        top = name.partition(".")[0]
        is_own = top == "explorer" and part(name) in ("", "contract")
        assert is_own or top in {"pydantic", "pydantic_core"} | sys.stdlib_module_names, f"{module} imports {name}"


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith("explorer.ui.models")])
def test_models_hold_contract_types_and_no_engine(module):
    assert not [name for name in imports(module) if name.startswith("explorer.engines")]
