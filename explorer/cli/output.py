"""What the commands print: text that cannot drive the terminal, tables, JSON, progress."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TextIO

from explorer.contract.wire import to_unicode
from explorer.engines.os_errors import why
from explorer.transfer.errors import FileError
from explorer.transfer.lines import write_all

_PROGRESS_EVERY_S = 0.2
_MIN_LAST_COLUMN = 24

# Format characters that are part of ordinary words and pictures: joiners, and signs that enclose the digits after them.
_HARMLESS = frozenset("\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u08e2")


def visible(text: str, keep: str = "") -> str:
    """`text` with every character that a terminal obeys or hides drawn instead: `␛`, `⟦U+202E⟧`, U+FFFD.

    So that stored text can neither move the cursor nor read backwards. The characters in `keep` stay.
    """
    text = to_unicode(text)
    if text.isascii() and text.isprintable():  # nearly every cell
        return text
    return "".join(char if char in keep else _drawn(char) for char in text)


def _drawn(char: str) -> str:
    if char < " ":
        return chr(0x2400 + ord(char))
    if char == "\x7f":
        return "␡"
    if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") and char not in _HARMLESS:
        return f"⟦U+{ord(char):04X}⟧"
    return char


def one_line(text: str, limit: int = 300) -> str:
    """The beginning of `text` as a cell: white space becomes single spaces, the rest as `visible`.

    Text in a right-to-left script is isolated, so that it does not turn round the cells beside it.
    """
    cut = visible(" ".join(text[: 4 * limit].split()))[:limit]
    if any(unicodedata.bidirectional(char) in ("R", "AL", "AN") for char in cut):
        return f"\u2068{cut}\u2069"
    return cut


def width(text: str) -> int:
    """How many columns of a terminal `text` takes."""
    return sum(map(_char_width, text))


def _char_width(char: str) -> int:
    if char < "\x7f":
        return 1
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def clipped(text: str, columns: int) -> str:
    """`text` in at most `columns` columns, with an ellipsis where it was cut."""
    if width(text) <= columns:
        return text
    kept, used = "", 0
    for char in text:
        used += _char_width(char)
        if used > columns - 1:
            break
        kept += char
    is_isolated = text.startswith("\u2068")
    return kept + ("\u2069" if is_isolated else "") + "…"


def size_text(size_bytes: int) -> str:
    """`size_bytes` in the largest unit that keeps it at least 1."""
    if size_bytes < 1000:
        return f"{size_bytes} B"
    size = float(size_bytes)
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 999.95 or unit == "GB":
            return f"{size:.1f} {unit}"
    raise AssertionError("unreachable")


def plural(number: int, one: str, many: str | None = None) -> str:
    """`number` with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


class Console:
    """Where a command prints to: answers on stdout; progress, notes and refusals on stderr."""

    def __init__(self, progress: bool = False) -> None:
        self.done = ""
        """What was done so far, as a sentence; told where the user interrupts."""
        self._draws = _is_terminal(sys.stderr)
        self._is_progress_wanted = progress or self._draws
        self._last_progress = float("-inf")
        self._is_line_open = False
        if (reconfigure := getattr(sys.stderr, "reconfigure", None)) is not None:
            reconfigure(errors="replace")  # ? where the terminal's charset has no letter, as on stdout

    def out(self, line: str = "") -> None:
        """A line of safe text, in the terminal's charset."""
        self._write(line, getattr(sys.stdout, "encoding", None) or "utf-8")

    def json(self, text: str) -> None:
        """One JSON document on a line of its own, exact, in UTF-8 whatever the terminal's charset."""
        self._write(text, "utf-8")

    def document(self, text: str) -> None:
        """Stored text as it is, in UTF-8; made safe on a terminal. Without a line end of its own."""
        if _is_terminal(sys.stdout):
            self._write(visible(text, keep="\n\t"), getattr(sys.stdout, "encoding", None) or "utf-8", end="")
        else:
            self._write(text, "utf-8", end="")

    def _write(self, line: str, encoding: str, end: str = "\n") -> None:
        self._close_line()
        with _answering():
            buffer = getattr(sys.stdout, "buffer", None)
            if buffer is None:  # a stream that somebody put in the place of the real one
                print(line, end=end, file=sys.stdout)
            else:
                # Not by print: without a buffer it would lose what a pipe does not take at once.
                write_all(buffer, f"{line}{end}".encode(encoding, "replace"))

    def note(self, text: str) -> None:
        """A sentence on stderr, made safe: it may quote what was stored or typed."""
        self._close_line()
        tell(visible(text) + "\n")

    def progress(self, text: str) -> None:
        """How far the command is; drawn over the last one on a terminal, at most five times a second."""
        now = time.monotonic()
        if not self._is_progress_wanted or now - self._last_progress < _PROGRESS_EVERY_S:
            return
        self._last_progress = now
        if self._draws:
            columns = shutil.get_terminal_size().columns
            tell(f"\r{clipped(text, columns - 1)}\x1b[K")
            self._is_line_open = True
        else:
            tell(text + "\n")

    def _close_line(self) -> None:
        if self._is_line_open:
            tell("\r\x1b[K")
            self._is_line_open = False

    def finish(self) -> None:
        self._close_line()
        with _answering():
            sys.stdout.flush()

    def table(self, rows: Sequence[Sequence[str]], right: frozenset[int] = frozenset()) -> None:
        """Rows of safe cells in columns; those in `right` are set flush right. On a terminal the last one is cut."""
        if not rows:
            return
        widths = [max(width(row[at]) for row in rows) for at in range(len(rows[0]) - 1)]
        room: int | None = None
        if _is_terminal(sys.stdout):
            room = max(_MIN_LAST_COLUMN, shutil.get_terminal_size().columns - sum(widths) - 2 * len(widths))
        for row in rows:
            cells = []
            for at, cell in enumerate(row[:-1]):
                pad = " " * (widths[at] - width(cell))
                cells.append(pad + cell if at in right else cell + pad)
            last = row[-1] if room is None else clipped(row[-1], room)
            self.out("  ".join([*cells, last]).rstrip(" "))


def tell(text: str) -> None:
    """Write to stderr. Where it is closed or full nobody can be told, and the work goes on."""
    if sys.stderr is not None:  # print would take None for stdout
        with contextlib.suppress(OSError, ValueError):
            print(text, end="", file=sys.stderr, flush=True)


@contextlib.contextmanager
def _answering() -> Iterator[None]:
    """Raise FileError where stdout takes nothing. A pipe that nobody reads any more is a BrokenPipeError still."""
    if sys.stdout is None:
        raise FileError("there is no standard output to print the answer to")
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        silence(sys.stdout)
        raise FileError(f"cannot print the answer: {why(error)}") from error


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def silence(stream: TextIO | None) -> None:
    """Let what is still buffered go nowhere: nobody reads it, and Python would fail over it at its end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())  # type: ignore[union-attr]
        os.close(nowhere)


def silence_what_fails() -> None:
    """As the program ends: a stream that takes nothing keeps what it was given, and must not fail once more."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            silence(stream)
