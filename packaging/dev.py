#!/usr/bin/env python3
"""Work with a checkout: python3 packaging/dev.py COMMAND [arguments]

  run [arguments]      open the explorer; arguments go to it (no display: draw it into a PNG instead)
  shot OUT.png [...]   draw the window into a PNG, with the sample data or with what --open PATH names;
                       --size WxH, --theme light|dark, --scale N and other arguments go to the explorer
  test [arguments]     formatting, lint, types, then all tests; arguments go to pytest
  check                formatting, lint and types only
  fmt                  format the code and mend what the linter can mend
  locale               note the words to translate, and compile the translations, after either changed
  lock [--upgrade]     write the lock files anew, after pyproject.toml changed

Each command first makes sure that .venv holds what the lock file names, which takes a moment when it does already.
Needs Python 3.11 or newer, and nothing but its standard library.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[1]
RUNTIME_LOCK = "packaging/requirements.lock"
DEV_LOCK = "packaging/requirements-dev.lock"
LOCALE = "resources/locale"
TRANSLATING = ("tr", "tr_n:1,2", "tr_in:1c,2", "mark", "mark_n:1,2")  # what stands in explorer/i18n.py
UV = "uv==0.13.9"  # only `lock` uses it, in a folder of its own

# What PySide6's files load from the system, and Debian's package for each. Whether they are there is found by loading,
# not by asking dpkg, so that it is known on other systems too.
QT_LIBRARIES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libbrotlidec.so.1": "libbrotli1",
}
X11_LIBRARIES = {
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}
WAYLAND_LIBRARIES = {"libwayland-cursor.so.0": "libwayland-cursor0"}
FONT_PACKAGE = "fonts-dejavu-core"
FONT_SUFFIXES = {".ttf", ".otf", ".ttc", ".pfb"}


class SetupError(Exception):
    """Set-up cannot go on; the text says what to do about it."""


class NoWindow(Exception):
    """No window can be shown; the text says why, in a sentence."""


def say(text: str) -> None:
    print(text, flush=True)  # before the output of the program that is started next


# --- the state of .venv -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stamp:
    """What a finished set-up was made from."""

    base: str  # the checkout (scripts and the editable install hold its path), Python's version, and where it is
    packages: str  # the lock files
    project: str  # pyproject.toml


@dataclass(frozen=True)
class Checkout:
    root: Path

    @property
    def venv(self) -> Path:
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        return self.venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    @property
    def stamp_file(self) -> Path:
        return self.venv / "set-up.json"

    def wanted(self) -> Stamp:
        return Stamp(
            base=f"{self.root} {sys.version_info.major}.{sys.version_info.minor} {self.python.resolve()}",
            packages=digest([self.root / RUNTIME_LOCK, self.root / DEV_LOCK]),
            project=digest([self.root / "pyproject.toml"]),
        )

    def found(self) -> Stamp | None:
        """The stamp of the last set-up that finished; None where there is none or it cannot be read."""
        try:
            return Stamp(**json.loads(self.stamp_file.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def work(self) -> str:
        """What set-up has to do: "nothing", "project", "packages" (and project), or "everything" from an empty folder.

        A set-up takes the stamp away first and writes it last: one that was killed leaves none, and nothing it left
        behind is used, since pip cannot mend every package that it had half written.
        """
        found = self.found()
        if found is None or not self.python.exists():
            return "everything"
        wanted = self.wanted()
        if found.base != wanted.base:
            return "everything"
        if found.packages != wanted.packages:
            return "packages"
        return "nothing" if found.project == wanted.project else "project"

    def write_stamp(self, stamp: Stamp) -> None:
        part = self.stamp_file.with_suffix(".part")
        part.write_text(json.dumps(asdict(stamp), indent=1), "utf-8")
        part.replace(self.stamp_file)


def digest(files: Iterable[Path]) -> str:
    # Line ends left out of it: git may check the files out with either.
    return hashlib.sha256(b"\0".join(file.read_bytes().replace(b"\r\n", b"\n") for file in files)).hexdigest()


def set_up(checkout: Checkout, libraries: Mapping[str, str]) -> None:
    """Make .venv hold what the lock file names and the project (editable), and the system hold `libraries`."""
    started = time.perf_counter()
    installed = ["system packages"] if check_system(checkout, libraries) else []
    work = checkout.work()
    if work != "nothing":
        with only_one():
            work = checkout.work()  # another call may have done it meanwhile
            if work != "nothing":
                install(checkout, work)
                installed.append(work)
    done = f"installed {' and '.join(installed)}" if installed else "nothing to do"
    say(f"set-up: {time.perf_counter() - started:.2f} s, {done}")


def install(checkout: Checkout, work: str) -> None:
    before = checkout.found()
    checkout.stamp_file.unlink(missing_ok=True)
    if work == "everything":
        make_venv(checkout.venv)
    try:
        if work != "project":
            say("set-up: installing the locked packages (the first time some 160 MB are downloaded)")
            pip(checkout, "install", "--require-hashes", "--only-binary=:all:", "-r", str(checkout.root / DEV_LOCK))
        say("set-up: installing the project itself")
        # Without build isolation the build backend is the locked one, and nothing is downloaded.
        pip(checkout, "install", "--no-deps", "--no-build-isolation", "--editable", str(checkout.root))
    except SetupError:
        if before and work != "everything":
            checkout.write_stamp(before)  # pip gave up by itself (no network, say) and left all as it was
        raise
    checkout.write_stamp(checkout.wanted())


def clear(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        say(f"set-up: removing {folder}, which is unfinished, or of another place or Python")
        shutil.rmtree(folder)


def make_venv(folder: Path) -> None:
    clear(folder)
    python = base_python()
    if not has_ensurepip():
        raise SetupError(f"{python} lacks the module ensurepip, also with Debian's package for it.")
    say(f"set-up: making {folder} with {python} ({sys.version.split()[0]})")
    call([python, "-m", "venv", str(folder)])


def base_python() -> str:
    """The interpreter itself, also where this one runs from a virtual environment (perhaps the one to be replaced)."""
    return str(getattr(sys, "_base_executable", None) or sys.executable)


def has_ensurepip() -> bool:
    # In a new process, which sees what was installed since this one began.
    return subprocess.run([base_python(), "-c", "import ensurepip"], capture_output=True, check=False).returncode == 0


def pip(checkout: Checkout, *args: str) -> None:
    # Settings of the machine (index, certificates) hold, but `user = true` cannot work inside a virtual environment.
    quiet = [] if sys.stdout.isatty() else ["-qq"]
    command = [str(checkout.python), "-m", "pip", *quiet, "--disable-pip-version-check", "--no-input", *args]
    call(command, env={**os.environ, "PIP_USER": "0"})


def call(command: Sequence[str], env: Mapping[str, str] | None = None, cwd: Path | None = None) -> None:
    if subprocess.run(command, env=env, cwd=cwd, check=False).returncode != 0:
        raise SetupError(f"This failed: {shlex.join(command)}")


@contextmanager
def only_one() -> Iterator[None]:
    """Keeps a second call from working on .venv at the same time; the lock goes with the process that holds it."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    with open(__file__, "rb") as this_file:
        try:
            fcntl.flock(this_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("set-up: waiting for another set-up of this checkout to end")
            fcntl.flock(this_file, fcntl.LOCK_EX)
        yield


# --- what the system must have ----------------------------------------------------------------------------------------


def missing_libraries(libraries: Mapping[str, str]) -> dict[str, str]:
    """Those of `libraries` (file name to Debian package) that the loader does not find."""
    return {name: package for name, package in libraries.items() if not can_load(name)}


def can_load(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def font_folders(env: Mapping[str, str]) -> list[Path]:
    home = Path(env.get("HOME", "/"))
    data = Path(env.get("XDG_DATA_HOME") or home / ".local/share")
    return [Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), home / ".fonts", data / "fonts"]


def font_files(folders: Iterable[Path]) -> Iterator[Path]:
    return (file for folder in folders for file in folder.rglob("*") if file.suffix.lower() in FONT_SUFFIXES)


def has_font(folders: Iterable[Path], language: str | None = None) -> bool:
    """Whether any font, or one for `language`, is there; without fontconfig's tool, files named CJK stand for it."""
    if shutil.which("fc-list"):
        command = ["fc-list", f":lang={language}" if language else ":"]
        return bool(subprocess.run(command, capture_output=True, check=False).stdout.strip())
    return any(language is None or "cjk" in file.name.lower() for file in font_files(folders))


def check_system(checkout: Checkout, libraries: Mapping[str, str]) -> bool:
    """Install what the system lacks, or raise with the one command that installs all of it; False: it lacked nothing.

    It needs `libraries` and a font, which Qt needs (none for a command without Qt), and what makes a missing .venv.
    """
    missing = {}
    if libraries and sys.platform.startswith("linux"):
        missing = missing_libraries(libraries)
        if not has_font(font_folders(os.environ)):
            missing["any font"] = FONT_PACKAGE
    if checkout.work() == "everything" and not has_ensurepip():
        missing["ensurepip"] = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    if missing:
        install_system(missing)
    return bool(missing)


def install_system(missing: Mapping[str, str]) -> None:
    """Install Debian's packages for `missing` (thing to package) where this may be done, else raise."""
    things, packages = ", ".join(missing), " ".join(dict.fromkeys(missing.values()))
    if not shutil.which("apt-get"):
        raise SetupError(f"Not found on this system: {things}. Debian's packages for them: {packages}")
    if os.geteuid() != 0:
        raise SetupError(f"Not found on this system: {things}. This installs them:\n  sudo apt-get install {packages}")
    say(f"set-up: not found on this system: {things}; installing {packages}")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    apt = ["apt-get", "-qq", "-o", "Dpkg::Use-Pty=0"]
    subprocess.run([*apt, "update"], env=env, check=False)  # where one source of several fails, install may work yet
    call([*apt, "install", "--yes", "--no-install-recommends", *packages.split()], env=env)


# --- whether a window can be shown ------------------------------------------------------------------------------------


def window_libraries(env: Mapping[str, str], platform: str = sys.platform) -> Mapping[str, str]:
    """The libraries that a window needs over and above those that Qt always needs.

    Raises NoWindow where none can be shown. Asked before Qt is started, since Qt aborts where it reaches no display.
    """
    if platform in ("win32", "darwin"):
        return {}
    plugin = env.get("QT_QPA_PLATFORM") or "wayland;xcb"
    if plugin.startswith(("offscreen", "minimal")):
        raise NoWindow(f"QT_QPA_PLATFORM={plugin} asks for no window.")
    names = [name for name, kind in (("WAYLAND_DISPLAY", "wayland"), ("DISPLAY", "xcb")) if kind in plugin]
    if not names:
        return {}  # vnc, eglfs and others need neither Wayland nor X11
    displays = {name: env[name] for name in names if env.get(name)}
    wayland, x11 = displays.get("WAYLAND_DISPLAY"), displays.get("DISPLAY")
    if wayland and reaches_wayland(Path(env.get("XDG_RUNTIME_DIR", "/")) / wayland):
        return WAYLAND_LIBRARIES
    if x11 and reaches_x11(x11):
        return X11_LIBRARIES
    if not displays:
        raise NoWindow(f"There is no display here ({' or '.join(names)} would name it).")
    named = ", ".join(f"{name}={value}" for name, value in displays.items())
    raise NoWindow(f"The display does not answer or does not let us in ({named}).")


def reaches_wayland(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(2)
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


def reaches_x11(display: str, timeout_s: float = 5) -> bool:
    """Whether an X server answers and lets us in, asked by the very library that Qt asks."""
    if not can_load("libxcb.so.1"):
        return True  # not known yet: it comes with Qt's libraries, which are asked for before Qt is started
    answers: list[bool] = []

    def ask() -> None:
        xcb = ctypes.CDLL("libxcb.so.1")
        xcb.xcb_connect.restype = ctypes.c_void_p
        connection = ctypes.c_void_p(xcb.xcb_connect(display.encode(), None))
        answers.append(xcb.xcb_connection_has_error(connection) == 0)
        xcb.xcb_disconnect(connection)

    asking = threading.Thread(target=ask, daemon=True)  # a host that drops packets would hold us for minutes
    asking.start()
    asking.join(timeout_s)
    return answers == [True]


# --- commands ---------------------------------------------------------------------------------------------------------


def has_option(args: Iterable[str], *names: str) -> bool:
    return any(arg.partition("=")[0] in names for arg in args)


def shot_arguments(out: str, args: Sequence[str]) -> list[str]:
    """Arguments of Python that draw the window into `out`, on the sample unless `args` say what to open."""
    sample = [] if has_option(args, "--open", "--sample", "--connection") else ["--sample"]
    return ["-m", "explorer", *sample, "--shot", out, *args]


def offscreen(env: Mapping[str, str]) -> dict[str, str]:
    return {**env, "QT_QPA_PLATFORM": "offscreen"}


def free_place(folder: Path) -> Path:
    """Where `run` leaves its picture: in `folder`, else where temporary files go."""
    return (folder if os.access(folder, os.W_OK) else Path(tempfile.gettempdir())) / "tinymemory-explorer.png"


def run(checkout: Checkout, args: Sequence[str]) -> int:
    program = [str(checkout.python), "-m", "explorer", *args]
    if has_option(args, "--shot", "--help", "-h", "--version"):  # no window is asked for
        set_up(checkout, QT_LIBRARIES)
        become(program, os.environ)
    try:
        set_up(checkout, {**QT_LIBRARIES, **window_libraries(os.environ)})
        window_libraries(os.environ)  # again: the library that asks the display may have come with the others
        reason = None
    except NoWindow as error:
        set_up(checkout, QT_LIBRARIES)
        reason = error
    if sys.platform.startswith("linux") and not has_font(font_folders(os.environ), "zh-cn"):
        say("No font for Chinese, Japanese and Korean was found: sudo apt-get install fonts-noto-cjk brings one.")
    if reason is None:
        become(program, os.environ)
    out = free_place(Path.cwd())
    say(f"{reason} So the window is drawn into {out}")
    return draw(checkout, str(out), args)


def draw(checkout: Checkout, out: str, args: Sequence[str]) -> int:
    command = [str(checkout.python), *shot_arguments(out, args)]
    return subprocess.run(command, env=offscreen(os.environ), check=False).returncode


def become(command: Sequence[str], env: Mapping[str, str]) -> NoReturn:
    """Go on as `command`, so that signals reach it alone and its exit status is ours."""
    if os.name == "nt":  # there exec returns to the shell at once
        sys.exit(subprocess.run(command, env=env, check=False).returncode)
    os.execve(command[0], list(command), dict(env))


def shot(checkout: Checkout, args: Sequence[str]) -> int:
    if not args or args[0].startswith("-"):
        raise SetupError("shot needs the name of the PNG file first: shot OUT.png [--open PATH] [--size WxH] ...")
    set_up(checkout, QT_LIBRARIES)
    return draw(checkout, args[0], args[1:])


def checks() -> list[tuple[str, list[str]]]:
    return [
        ("format", ["-m", "ruff", "format", "--check"]),
        ("lint", ["-m", "ruff", "check"]),
        ("types", ["-m", "mypy"]),
    ]


def run_all(checkout: Checkout, steps: Iterable[tuple[str, Sequence[str]]]) -> int:
    """Run every step, also after one has failed; 0 only if all passed."""
    failed = []
    for name, args in steps:
        say(f"== {name}: python {shlex.join(args)}")
        command = [str(checkout.python), *args]
        if subprocess.run(command, cwd=checkout.root, env=offscreen(os.environ), check=False).returncode != 0:
            failed.append(name)
    if failed:
        say(f"Failed: {', '.join(failed)}")
    return 1 if failed else 0


def check(checkout: Checkout, args: Sequence[str]) -> int:
    no_arguments("check", args)
    set_up(checkout, {})
    return run_all(checkout, checks())


def test(checkout: Checkout, args: Sequence[str]) -> int:
    set_up(checkout, QT_LIBRARIES)
    return run_all(checkout, [*checks(), ("tests", ["-m", "pytest", *args])])


def fmt(checkout: Checkout, args: Sequence[str]) -> int:
    no_arguments("fmt", args)
    set_up(checkout, {})
    return run_all(checkout, [("mend", ["-m", "ruff", "check", "--fix"]), ("format", ["-m", "ruff", "format"])])


def locale(checkout: Checkout, args: Sequence[str]) -> int:
    no_arguments("locale", args)
    set_up(checkout, {})
    with tempfile.TemporaryDirectory() as folder:
        template = str(Path(folder) / "explorer.pot")
        for command in locale_commands(template):
            call([str(checkout.python), "-m", "babel.messages.frontend", "--quiet", *command], cwd=checkout.root)
    return 0


def locale_commands(template: str) -> list[list[str]]:
    """Arguments of Babel: find the messages, put them into each language's file, and compile these."""
    words = ["--no-default-keywords", *(f"--keyword={words}" for words in TRANSLATING)]
    find = [
        "--msgid-bugs-address",
        "TinyMemory Explorer contributors",
        "--no-location",
        "--sort-output",
        "--add-comments",
        "Translators:",
    ]
    fit = ["--no-fuzzy-matching", "--ignore-obsolete", "--ignore-pot-creation-date"]  # a change of date is no change
    where = ["--domain", "explorer"]
    return [
        ["extract", *words, *find, "--output-file", template, "explorer"],
        ["update", *where, *fit, "--input-file", template, "--output-dir", LOCALE],
        ["compile", *where, "--directory", LOCALE],
    ]


def lock(checkout: Checkout, args: Sequence[str]) -> int:
    if any(arg != "--upgrade" for arg in args):
        raise SetupError("lock takes no argument but --upgrade")
    with tempfile.TemporaryDirectory() as folder:
        tools = Checkout(Path(folder))
        check_system(tools, {})
        make_venv(tools.venv)
        pip(tools, "install", UV)
        for command in lock_commands(args):
            say(f"lock: uv {shlex.join(command)}")
            call([str(tools.python), "-m", "uv", *command], cwd=checkout.root)
    return 0


def lock_commands(args: Sequence[str]) -> list[list[str]]:
    """Arguments of uv for the two files, the second held to the versions of the first; one file fits every system."""
    common = ["pip", "compile", "pyproject.toml", "--universal", "--python-version", "3.11", "--generate-hashes"]
    common += ["--quiet", "--custom-compile-command", "python3 packaging/dev.py lock", *args]
    return [
        [*common, "--output-file", RUNTIME_LOCK],
        [*common, "--group", "dev", "--constraint", RUNTIME_LOCK, "--output-file", DEV_LOCK],
    ]


def no_arguments(command: str, args: Sequence[str]) -> None:
    if args:
        raise SetupError(f"{command} takes no arguments: {shlex.join(args)}")


COMMANDS: dict[str, Callable[[Checkout, Sequence[str]], int]] = {
    "run": run,
    "shot": shot,
    "test": test,
    "check": check,
    "fmt": fmt,
    "locale": locale,
    "lock": lock,
}


def main(argv: Sequence[str]) -> int:
    if sys.version_info < (3, 11):  # noqa: UP036 - started by whatever python3 is there
        print("Python 3.11 or newer is needed; this is", sys.version.split()[0], file=sys.stderr)
        return 2
    if not argv or argv[0] not in COMMANDS:
        asked = bool(argv) and argv[0] in ("-h", "--help", "help")
        print(__doc__, file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    try:
        return COMMANDS[argv[0]](Checkout(ROOT), argv[1:])
    except SetupError as error:
        print(f"dev.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
