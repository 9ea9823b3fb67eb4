"""Standard streams that are full or closed: told in a sentence where one is left, and never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT

READING = ["list", "facets", "namespaces", "list --json", "export -"]


def shell(command: list[str], args: str, db: Path, redirection: str) -> subprocess.CompletedProcess[str]:
    """Run through a shell, which closes a stream before the program begins."""
    words = ["sh", "-c", f'"$@" {redirection}', "sh", *command, *args.split(), "--db", str(db)]
    env = {**os.environ, "PYTHONUNBUFFERED": ""}  # as most people have it: what a stream refuses stays in its buffer
    return subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True)


@pytest.mark.parametrize("args", READING)
def test_full_output_is_told(db: Path, command: list[str], args: str) -> None:
    done = shell(command, args, db, ">/dev/full")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "no space left on device" in done.stderr


@pytest.mark.parametrize("args", READING)
def test_closed_output_is_told(db: Path, command: list[str], args: str) -> None:
    done = shell(command, args, db, ">&-")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "there is no standard output" in done.stderr


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
def test_notes_that_nobody_can_read_change_nothing(tmp_path: Path, command: list[str], redirection: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text("{\n")
    done = shell(command, f"import {path} --json --progress", tmp_path / "m.db", redirection)
    assert done.returncode == 1
    assert json.loads(done.stdout)["refused"] == 1
    assert shell(command, "list", tmp_path / "none.db", redirection).returncode == 1


def test_interrupt_while_the_program_loads_is_quiet() -> None:
    program = """
import sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "explorer.transfer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
from explorer.cli import main
sys.exit(main(["list"]))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
