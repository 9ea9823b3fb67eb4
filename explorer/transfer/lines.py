"""Byte streams: the lines of one, a batch at a time, numbered from 1; and writing all of something to one."""

from __future__ import annotations

import os
import select
import stat
import sys
import threading
from typing import BinaryIO

_CHUNK_BYTES = 1 << 20
_WAIT_S = 0.2
_BOM = b"\xef\xbb\xbf"


class LineReader:
    """Reads on another thread than the loop's: `next_batch` may wait for the disk, a pipe or a person typing.

    `size_bytes` is the size of a regular file, None for a pipe; `done_bytes` how much of it the batches held.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._buffer = bytearray()
        self._searched = 0  # how much of the buffer holds no line end: a huge line is not searched again and again
        self._number = 0
        self._is_at_end = False
        self._is_stopped = threading.Event()
        self.done_bytes = 0
        self.size_bytes, self._polled = _kind(stream)

    def stop(self) -> None:
        """Make a `next_batch` that waits for a pipe return soon."""
        self._is_stopped.set()

    def next_batch(self, lines: int, size_bytes: int) -> list[tuple[int, bytes]]:
        """Up to `lines` lines without their ends, fewer past `size_bytes`, or when a pipe has no more right now.

        At least one, however long; none only at the end. A line ends at LF alone, so that U+2028 stays inside one.
        """
        batch: list[tuple[int, bytes]] = []
        held = 0
        while len(batch) < lines and held < size_bytes:
            line = self._take_line()
            if line is None:
                if self._is_at_end or self._is_stopped.is_set():
                    break
                if batch and not self._is_ready(0.0):
                    break
                self._fill()
                continue
            self._number += 1
            held += len(line)
            self.done_bytes += len(line)
            if self._number == 1:
                line = line.removeprefix(_BOM)
            batch.append((self._number, line.rstrip(b"\r\n")))
        return batch

    def _take_line(self) -> bytes | None:
        end = self._buffer.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._buffer)
            if not (self._is_at_end and self._buffer):
                return None
            end = len(self._buffer) - 1  # the last line needs no end
        line = bytes(self._buffer[: end + 1])
        del self._buffer[: end + 1]
        self._searched = 0
        return line

    def _fill(self) -> None:
        while not self._is_ready(_WAIT_S):
            if self._is_stopped.is_set():
                return
        # read1, where there is one, gives what a pipe holds instead of waiting for more.
        read = getattr(self._stream, "read1", self._stream.read)
        chunk = read(_CHUNK_BYTES)
        self._is_at_end = not chunk
        self._buffer += chunk

    def _is_ready(self, wait_s: float) -> bool:
        if self._polled is None:
            return True
        try:
            return bool(select.select([self._polled], [], [], wait_s)[0])
        except ValueError:  # a descriptor past what select can watch: reading then simply waits
            return True


def write_all(stream: BinaryIO, data: bytes) -> None:
    """Write every byte: a stream without a buffer (PYTHONUNBUFFERED) writes what a pipe takes, and returns."""
    rest = memoryview(data)
    while rest:
        rest = rest[stream.write(rest) or 0 :]


def _kind(stream: BinaryIO) -> tuple[int | None, int | None]:
    """The size of a regular file, and the descriptor to poll before reading anything else that may make one wait."""
    try:
        handle = stream.fileno()
        status = os.fstat(handle)
    except (OSError, AttributeError, ValueError):
        return None, None
    if stat.S_ISREG(status.st_mode):
        return status.st_size, None
    return None, None if sys.platform == "win32" else handle  # select there takes sockets only
