"""A memory for the commands, and running them in this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from explorer.cli import main
from explorer.contract import dump_item
from explorer.engines import registry

from .made import ITEMS, Ran

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(folder))
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(folder / name.lower()))
    for name in ("TINYMEMORY_DB", "TINYMEMORY_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    yield folder
    registry.rescan_engines()


Run = Callable[..., Ran]


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """`run("list", "--json")`: the command's exit status and what it printed."""

    def call(*args: str | Path) -> Ran:
        capfdbinary.readouterr()
        status = main([str(arg) for arg in args])
        sys.stdout.flush()
        sys.stderr.flush()
        out, err = capfdbinary.readouterr()
        return Ran(status, out.decode("utf-8"), err.decode("utf-8"))

    return call


@pytest.fixture
def command() -> list[str]:
    """The program as a process of its own."""
    return [sys.executable, "-c", "import sys; from explorer.cli import main; sys.exit(main())"]


def _interruptible() -> None:
    """A shell starts what runs in its background with Ctrl-C ignored, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def start(command: list[str]) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start the program; ended at the latest with the test."""
    started: list[subprocess.Popen[bytes]] = []

    def call(*args: str | Path) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [*command, *map(str, args)],
            cwd=ROOT,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            bufsize=0,
            preexec_fn=_interruptible if os.name == "posix" else None,
        )
        started.append(process)
        return process

    yield call
    for process in started:
        process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        process.wait()


@pytest.fixture
def items_file(tmp_path: Path) -> Path:
    path = tmp_path / "items.jsonl"
    path.write_bytes(b"".join(dump_item(item).encode() + b"\n" for item in ITEMS))
    return path


@pytest.fixture
def db(tmp_path: Path, items_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database with ITEMS, named by TINYMEMORY_DB."""
    path = tmp_path / "m.db"
    assert run("import", items_file, "--db", path) == Ran(0, f"{len(ITEMS)} stored, 0 replayed, 0 refused.\n", "")
    monkeypatch.setenv("TINYMEMORY_DB", str(path))
    return path
