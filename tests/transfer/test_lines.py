"""Lines of a byte stream, however they are cut."""

from __future__ import annotations

import io
import os
import threading
from pathlib import Path

import pytest

from explorer.transfer.lines import LineReader


def read_all(reader: LineReader, lines: int = 100, size_bytes: int = 1 << 20) -> list[list[tuple[int, bytes]]]:
    batches = []
    while batch := reader.next_batch(lines, size_bytes):
        batches.append(batch)
    return batches


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"a", [b"a"]),
        (b"a\n", [b"a"]),
        (b"a\r\nb\r\n", [b"a", b"b"]),
        (b"\n\na\n\n", [b"", b"", b"a", b""]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb", [b"a", b"\xef\xbb\xbfb"]),  # a mark inside the file is not at its start
        ("a\u2028b\u0085c\vd\n".encode(), ["a\u2028b\u0085c\vd".encode()]),
        (b"a\rb\n", [b"a\rb"]),
    ],
)
def test_lines_end_at_lf_alone(content: bytes, lines: list[bytes]) -> None:
    reader = LineReader(io.BytesIO(content))
    assert [line for batch in read_all(reader) for line in batch] == list(enumerate(lines, 1))
    assert reader.done_bytes == len(content)


def test_batches_end_by_count_and_by_size() -> None:
    content = b"x" * 9 + b"\n"
    assert [len(batch) for batch in read_all(LineReader(io.BytesIO(content * 25)), lines=10)] == [10, 10, 5]
    assert [len(batch) for batch in read_all(LineReader(io.BytesIO(content * 25)), size_bytes=40)] == [4] * 6 + [1]


def test_huge_line_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    path.write_bytes(b"y" * (20 << 20) + b"\nnext\n")
    with path.open("rb") as stream:
        reader = LineReader(stream)
        first, second = read_all(reader)
        assert reader.size_bytes == reader.done_bytes == path.stat().st_size
    assert len(first[0][1]) == 20 << 20
    assert second == [(2, b"next")]


def test_pipe_gives_what_it_has() -> None:
    """A batch does not wait to be full while the writer thinks."""
    out, into = os.pipe()
    with os.fdopen(out, "rb") as stream, os.fdopen(into, "wb", buffering=0) as writer:
        reader = LineReader(stream)
        assert reader.size_bytes is None
        writer.write(b"a\nb\nhal")
        assert reader.next_batch(100, 1 << 20) == [(1, b"a"), (2, b"b")]
        writer.write(b"f\n")
        assert reader.next_batch(100, 1 << 20) == [(3, b"half")]
        writer.close()
        assert reader.next_batch(100, 1 << 20) == []


def test_reader_that_waits_can_be_stopped() -> None:
    out, into = os.pipe()
    with os.fdopen(out, "rb") as stream, os.fdopen(into, "wb"):
        reader = LineReader(stream)
        answers: list[object] = []
        waiting = threading.Thread(target=lambda: answers.append(reader.next_batch(1, 1)))
        waiting.start()
        reader.stop()
        waiting.join(10)
        assert answers == [[]]
