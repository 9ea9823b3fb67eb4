"""What goes wrong with the file, as opposed to the engine."""

from __future__ import annotations

from explorer.contract import TinyMemoryError


class FileError(TinyMemoryError):
    """A file that cannot be read or written; the text names it."""

    label = "file error"
