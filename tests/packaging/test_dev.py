"""dev.py on checkouts made for the test, whose interpreter is a script that notes how it was called."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

DEV_PY = Path(__file__).parents[2] / "packaging" / "dev.py"


def load_dev() -> Any:
    spec = importlib.util.spec_from_file_location("tinymemory_dev", DEV_PY)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


dev = load_dev()


def write_script(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # where it is a link, the file behind it must stay as it is
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)


class Checkout:
    """A checkout whose set-up has finished, as far as its stamp tells."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root / "calls"
        (root / "packaging").mkdir(parents=True)
        shutil.copy(DEV_PY, root / "packaging")
        (root / dev.RUNTIME_LOCK).write_text("a==1\n")
        (root / dev.DEV_LOCK).write_text("a==1\nb==2\n")
        (root / "pyproject.toml").write_text("[project]\n")
        self.dev = dev.Checkout(root)
        self.script("exit 0")
        self.finish()

    def script(self, *lines: str) -> None:
        stamp = f'if [ -e "{self.dev.stamp_file}" ]; then echo stamped; else echo unstamped; fi'
        note = f'{{ {stamp}; echo "platform=$QT_QPA_PLATFORM"; printf "%s\\n" "$@"; }} >> "{self.log}"'
        write_script(self.dev.python, note, *lines)

    def finish(self) -> None:
        self.dev.write_stamp(self.dev.wanted())

    def calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def start(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(self.root / "packaging/dev.py"), *args]
        plain = {name: value for name, value in os.environ.items() if name not in DISPLAY_NAMES}
        return subprocess.run(command, env={**plain, **env}, cwd=self.root, capture_output=True, text=True, check=False)


DISPLAY_NAMES = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "checkout")


# --- the stamp --------------------------------------------------------------------------------------------------------


def test_finished_set_up_leaves_nothing_to_do(checkout):
    assert checkout.dev.work() == "nothing"


@pytest.mark.parametrize(
    ("file", "work"),
    [("pyproject.toml", "project"), (dev.RUNTIME_LOCK, "packages"), (dev.DEV_LOCK, "packages")],
)
def test_changed_file_is_noticed(checkout, file, work):
    with (checkout.root / file).open("a") as text:
        text.write("# changed\n")
    assert checkout.dev.work() == work


def test_line_ends_are_no_change(checkout):
    for file in ("pyproject.toml", dev.DEV_LOCK):
        path = checkout.root / file
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert checkout.dev.work() == "nothing"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"base": "x"}', '{"base": "", "packages": "", "project": "", "n": 1}']
)
def test_unreadable_stamp_is_none(checkout, text):
    checkout.dev.stamp_file.write_text(text)
    assert checkout.dev.found() is None
    assert checkout.dev.work() == "everything"


def test_missing_interpreter_needs_everything(checkout):
    checkout.dev.python.unlink()
    assert checkout.dev.work() == "everything"


def test_interpreter_that_went_away_needs_everything(checkout, tmp_path):
    old = tmp_path / "old-python"
    write_script(old)
    checkout.dev.python.unlink()
    checkout.dev.python.symlink_to(old)
    checkout.finish()
    assert checkout.dev.work() == "nothing"
    old.unlink()
    assert checkout.dev.work() == "everything"


def test_moved_checkout_needs_everything(checkout, tmp_path):
    checkout.root.rename(tmp_path / "moved")
    assert dev.Checkout(tmp_path / "moved").work() == "everything"


def test_other_python_version_needs_everything(checkout):
    version = f" {sys.version_info.major}.{sys.version_info.minor} "
    stamp = checkout.dev.wanted()
    assert version in stamp.base
    checkout.dev.write_stamp(replace(stamp, base=stamp.base.replace(version, " 3.10 ")))
    assert checkout.dev.work() == "everything"


# --- set-up -----------------------------------------------------------------------------------------------------------


def test_second_call_starts_nothing_and_says_how_long_it_took(checkout, capsys):
    dev.set_up(checkout.dev, {})
    assert re.fullmatch(r"set-up: \d+\.\d\d s, nothing to do\n", capsys.readouterr().out)
    assert checkout.calls() == []


def test_project_is_installed_without_network_and_unstamped_meanwhile(checkout):
    (checkout.root / "pyproject.toml").write_text("[project]\nversion = 2\n")
    dev.set_up(checkout.dev, {})
    calls = checkout.calls()
    assert calls[0] == "unstamped"
    assert calls[-4:] == ["--no-deps", "--no-build-isolation", "--editable", str(checkout.root)]
    assert "--require-hashes" not in calls
    assert checkout.dev.work() == "nothing"


def test_packages_come_from_the_lock_by_hash(checkout):
    (checkout.root / dev.DEV_LOCK).write_text("a==1\nb==3\n")
    dev.set_up(checkout.dev, {})
    calls = checkout.calls()
    at = calls.index("--require-hashes")
    assert calls[at : at + 4] == ["--require-hashes", "--only-binary=:all:", "-r", str(checkout.root / dev.DEV_LOCK)]
    assert "--editable" in calls[at:]
    assert checkout.dev.work() == "nothing"


def test_failed_pip_is_told_and_tried_again(checkout):
    (checkout.root / dev.DEV_LOCK).write_text("a==1\nb==3\n")
    checkout.script("exit 1")
    with pytest.raises(dev.SetupError, match=r"This failed: .* -m pip .*--require-hashes"):
        dev.set_up(checkout.dev, {})
    assert checkout.dev.work() == "packages"  # and not everything, which would need the network for what is there


def test_killed_set_up_is_not_trusted(checkout):
    (checkout.root / "pyproject.toml").write_text("[project]\nversion = 2\n")
    checkout.script("kill -9 $PPID")
    assert checkout.start("check").returncode == -9
    assert checkout.dev.work() == "everything"


def test_second_call_waits_for_the_first(checkout):
    (checkout.root / "pyproject.toml").write_text("[project]\nversion = 2\n")
    gate = checkout.root / "gate"
    checkout.script(f'while [ ! -e "{gate}" ]; do sleep 0.02; done')
    command = [sys.executable, str(checkout.root / "packaging/dev.py"), "fmt"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as first:
        try:
            wait_for(lambda: checkout.calls() != [])
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as second:
                assert second.stdout is not None
                line = second.stdout.readline()
                gate.touch()
                assert line == "set-up: waiting for another set-up of this checkout to end\n"
                assert "nothing to do" in second.communicate()[0]
            assert "installed project" in first.communicate()[0]
        finally:
            gate.touch()  # whatever failed, both must end
    assert checkout.calls().count("--editable") == 1


def wait_for(condition: Callable[[], bool], timeout_s: float = 10) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def test_unfinished_environment_is_removed(tmp_path, capsys):
    folder = tmp_path / "venv"
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "half").write_text("half a file")
    dev.clear(folder)
    assert not folder.exists()
    assert f"removing {folder}" in capsys.readouterr().out
    dev.clear(folder)
    assert capsys.readouterr().out == ""


def test_link_is_removed_and_what_it_leads_to_is_kept(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept").touch()
    (tmp_path / "venv").symlink_to(tmp_path / "elsewhere")
    dev.clear(tmp_path / "venv")
    assert not (tmp_path / "venv").is_symlink()
    assert (tmp_path / "elsewhere" / "kept").exists()


# --- the system -------------------------------------------------------------------------------------------------------


def test_only_libraries_that_do_not_load_are_missing():
    libraries = {"libc.so.6": "libc6", "libof-no-such-name.so.9": "libof9"}
    assert dev.missing_libraries(libraries) == {"libof-no-such-name.so.9": "libof9"}


@pytest.fixture
def tools(tmp_path, monkeypatch) -> Path:
    """The only folder on PATH."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_fonts_are_found_as_files_without_fontconfig(tools, tmp_path):
    folders = [tmp_path / "absent", tmp_path / "fonts"]
    (tmp_path / "fonts" / "deep").mkdir(parents=True)
    (tmp_path / "fonts" / "deep" / "README.txt").touch()
    assert not dev.has_font(folders)
    (tmp_path / "fonts" / "deep" / "Plain.TTF").touch()
    assert dev.has_font(folders)
    assert not dev.has_font(folders, "zh-cn")
    (tmp_path / "fonts" / "NotoSansCJK-Regular.ttc").touch()
    assert dev.has_font(folders, "zh-cn")


def test_fontconfig_knows_better(tools, tmp_path):
    (tmp_path / "Plain.ttf").touch()
    write_script(tools / "fc-list", 'if [ "$1" = ":lang=zh-cn" ]; then echo some.ttc; fi')
    assert not dev.has_font([tmp_path])
    assert dev.has_font([tmp_path], "zh-cn")


MISSING = {"libEGL.so.1": "libegl1", "libGL.so.1": "libgl1", "libOther.so.1": "libgl1"}


def test_user_is_told_the_one_command(tools, monkeypatch):
    write_script(tools / "apt-get", "exit 9")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(dev.SetupError) as caught:
        dev.install_system(MISSING)
    assert str(caught.value).splitlines()[-1] == "  sudo apt-get install libegl1 libgl1"
    assert "libEGL.so.1" in str(caught.value)


def test_other_systems_are_told_what_is_missing(tools):
    with pytest.raises(dev.SetupError) as caught:
        dev.install_system(MISSING)
    assert "libEGL.so.1, libGL.so.1, libOther.so.1" in str(caught.value)
    assert "sudo" not in str(caught.value)


def test_root_installs(tools, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    write_script(tools / "apt-get", f'echo "$DEBIAN_FRONTEND $*" >> "{tmp_path}/apt"', '[ "$4" = install ]')
    dev.install_system(MISSING)  # though its update fails
    assert (tmp_path / "apt").read_text().splitlines() == [
        "noninteractive -qq -o Dpkg::Use-Pty=0 update",
        "noninteractive -qq -o Dpkg::Use-Pty=0 install --yes --no-install-recommends libegl1 libgl1",
    ]


def test_root_is_told_that_installing_failed(tools, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    write_script(tools / "apt-get", "exit 100")
    with pytest.raises(dev.SetupError, match=r"This failed: apt-get .* libegl1"):
        dev.install_system(MISSING)


def test_what_is_missing_is_asked_for_before_anything_is_made(checkout, tools, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "platform", "linux")
    write_script(tools / "apt-get", "exit 9")
    write_script(tools / "fc-list")
    checkout.dev.stamp_file.unlink()
    with pytest.raises(dev.SetupError) as caught:
        dev.set_up(checkout.dev, {"libof-no-such-name.so.9": "libof9"})
    assert str(caught.value).endswith(f"apt-get install libof9 {dev.FONT_PACKAGE}")
    assert checkout.calls() == []


def test_command_without_qt_needs_no_library(checkout, tools):
    write_script(tools / "fc-list")
    assert dev.check_system(checkout.dev, {}) is False


# --- whether a window can be shown ------------------------------------------------------------------------------------


def x_reply(is_success: bool) -> bytes:
    """A server's answer to a new connection: X Window System Protocol, chapter 8, "Connection Setup"."""
    if is_success:  # no screens, no formats, no vendor: 32 bytes of zero, 8 units of 4
        return b"\x01\0" + (11).to_bytes(2, "little") + b"\0\0" + (8).to_bytes(2, "little") + bytes(32)
    return b"\x00\x04" + (11).to_bytes(2, "little") + b"\0\0" + (1).to_bytes(2, "little") + b"away"


@contextmanager
def x_server(reply: bytes) -> Iterator[str]:
    """The display name of a server on loopback that answers each client's first message with `reply`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                client, _ = listener.accept()
                with client:
                    if not client.recv(4096):
                        return
                    client.sendall(reply)
                    client.recv(4096)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield x_name(listener)
        finally:
            socket.create_connection(listener.getsockname()).close()  # says nothing, which ends the thread
            thread.join()


def x_name(listener: socket.socket) -> str:
    return f"127.0.0.1:{listener.getsockname()[1] - 6000}"  # display 0 listens on 6000


def why_not(**env: str) -> str:
    with pytest.raises(dev.NoWindow) as caught:
        dev.window_libraries(env, "linux")
    return str(caught.value)


def test_no_display_is_said():
    assert why_not() == "There is no display here (WAYLAND_DISPLAY or DISPLAY would name it)."
    assert why_not(DISPLAY="", WAYLAND_DISPLAY="") == why_not()
    assert why_not(QT_QPA_PLATFORM="xcb", WAYLAND_DISPLAY="wayland-0") == (
        "There is no display here (DISPLAY would name it)."
    )


def test_platform_without_windows_is_said():
    assert why_not(QT_QPA_PLATFORM="offscreen", DISPLAY=":0") == "QT_QPA_PLATFORM=offscreen asks for no window."


@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_other_systems_always_have_a_display(platform):
    assert dev.window_libraries({}, platform) == {}


def test_platform_of_its_own_needs_no_display():
    assert dev.window_libraries({"QT_QPA_PLATFORM": "vnc:port=5901"}, "linux") == {}


def test_wayland_is_asked(tmp_path):
    env = {"WAYLAND_DISPLAY": "wl", "XDG_RUNTIME_DIR": str(tmp_path)}
    assert why_not(**env) == "The display does not answer or does not let us in (WAYLAND_DISPLAY=wl)."
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "wl"))
        listener.listen()
        assert dev.window_libraries(env, "linux") == dev.WAYLAND_LIBRARIES


def test_x_server_that_lets_us_in():
    with x_server(x_reply(is_success=True)) as display:
        assert dev.window_libraries({"DISPLAY": display}, "linux") == dev.X11_LIBRARIES


def test_x_server_that_refuses():
    with x_server(x_reply(is_success=False)) as display:
        expected = f"The display does not answer or does not let us in (DISPLAY={display})."
        assert why_not(DISPLAY=display) == expected


def test_x_server_that_is_silent_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert not dev.reaches_x11(x_name(listener), timeout_s=0.1)


def test_x_server_that_is_not_there():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        display = x_name(listener)
    assert why_not(DISPLAY=display) == f"The display does not answer or does not let us in (DISPLAY={display})."


def test_display_name_without_sense():
    assert "(DISPLAY=nonsense)" in why_not(DISPLAY="nonsense")


def test_x_server_stands_in_for_wayland(tmp_path):
    with x_server(x_reply(is_success=True)) as display:
        env = {"WAYLAND_DISPLAY": "wl", "XDG_RUNTIME_DIR": str(tmp_path), "DISPLAY": display}
        assert dev.window_libraries(env, "linux") == dev.X11_LIBRARIES


# --- commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "sample"),
    [
        ([], ["--sample"]),
        (["--size", "900x600", "--theme", "dark", "--scale", "2"], ["--sample"]),
        (["--sample"], []),
        (["--open", "x.db"], []),
        (["--open=x.db"], []),
        (["--connection", "work"], []),
    ],
)
def test_shot_draws_the_sample_unless_told_what(args, sample):
    assert dev.shot_arguments("o.png", args) == ["-m", "explorer", *sample, "--shot", "o.png", *args]


def test_picture_goes_where_it_can_be_written(tmp_path):
    assert dev.free_place(tmp_path) == tmp_path / "tinymemory-explorer.png"
    assert dev.free_place(tmp_path / "absent").parent.is_dir()


def test_run_without_display_draws_instead(checkout):
    checkout.script("exit 3")
    done = checkout.start("run", "--theme", "dark")
    picture = checkout.root / "tinymemory-explorer.png"
    drawn = "There is no display here (WAYLAND_DISPLAY or DISPLAY would name it). So the window is drawn into"
    assert f"{drawn} {picture}\n" in done.stdout
    expected = ["-m", "explorer", "--sample", "--shot", str(picture), "--theme", "dark"]
    assert checkout.calls() == ["stamped", "platform=offscreen", *expected]
    assert done.returncode == 3


def test_run_becomes_the_program(checkout):
    checkout.script("echo $$", "exit 4")
    with subprocess.Popen(
        [sys.executable, str(checkout.root / "packaging/dev.py"), "run", "--open", "a b.db"],
        env={**os.environ, "QT_QPA_PLATFORM": "vnc"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        output = process.communicate()[0].splitlines()
    assert checkout.calls() == ["stamped", "platform=vnc", "-m", "explorer", "--open", "a b.db"]
    assert output[-1] == str(process.pid)
    assert process.returncode == 4
    took = re.fullmatch(r"set-up: (\d+\.\d\d) s, nothing to do", output[0])
    assert took is not None
    assert float(took[1]) < 2


@pytest.mark.parametrize("option", ["--version", "--help", "--shot=o.png"])
def test_run_that_asks_for_no_window_needs_no_display(checkout, option):
    assert checkout.start("run", option).returncode == 0
    assert checkout.calls() == ["stamped", "platform=", "-m", "explorer", option]


def test_shot_is_drawn_offscreen(checkout):
    done = checkout.start("shot", "o.png", "--scale", "2", DISPLAY=":0")
    assert done.returncode == 0
    expected = ["-m", "explorer", "--sample", "--shot", "o.png", "--scale", "2"]
    assert checkout.calls() == ["stamped", "platform=offscreen", *expected]


@pytest.mark.parametrize("args", [[], ["--open", "x.db"]])
def test_shot_needs_a_name(checkout, args):
    done = checkout.start("shot", *args)
    assert done.returncode == 1
    assert done.stderr.startswith("dev.py: shot needs the name of the PNG file")
    assert checkout.calls() == []


@pytest.mark.parametrize("command", ["check", "fmt"])
def test_unknown_arguments_are_refused(checkout, command):
    done = checkout.start(command, "--fast")
    assert (done.returncode, done.stderr) == (1, f"dev.py: {command} takes no arguments: --fast\n")
    assert checkout.calls() == []


def test_test_runs_every_check_then_pytest(checkout):
    done = checkout.start("test", "-k", "one two")
    modules = [call for call in checkout.calls() if call in ("ruff", "mypy", "pytest")]
    assert modules == ["ruff", "ruff", "mypy", "pytest"]
    assert checkout.calls()[-3:] == ["pytest", "-k", "one two"]
    assert set(checkout.calls()) >= {"platform=offscreen", "format", "--check", "check"}
    assert "platform=" not in checkout.calls()
    assert done.returncode == 0


@pytest.mark.parametrize(("broken", "name"), [("mypy", "types"), ("pytest", "tests")])
def test_one_failure_fails_and_the_rest_still_runs(checkout, broken, name):
    checkout.script(f'[ "$2" != {broken} ]')
    done = checkout.start("test")
    assert done.returncode == 1
    assert done.stdout.endswith(f"Failed: {name}\n")
    assert "pytest" in checkout.calls()


def test_lock_files_are_made_for_every_system(checkout):
    runtime, develop = dev.lock_commands(["--upgrade"])
    for command in (runtime, develop):
        assert {"--universal", "--generate-hashes", "--upgrade"} <= set(command)
        assert command[command.index("--python-version") + 1] == "3.11"
    assert runtime[-2:] == ["--output-file", dev.RUNTIME_LOCK]
    assert develop[-6:] == ["--group", "dev", "--constraint", dev.RUNTIME_LOCK, "--output-file", dev.DEV_LOCK]


@pytest.mark.parametrize(("args", "code"), [([], 2), (["paint"], 2), (["--help"], 0), (["-h"], 0)])
def test_usage(checkout, args, code):
    done = checkout.start(*args)
    assert done.returncode == code
    text = done.stdout if code == 0 else done.stderr
    assert all(re.search(rf"^  {command} ", text, re.MULTILINE) for command in dev.COMMANDS)


def test_stamp_file_holds_what_it_was_made_from(checkout):
    assert set(json.loads(checkout.dev.stamp_file.read_text())) == {"base", "packages", "project"}
