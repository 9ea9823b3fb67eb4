"""What goes wrong with the file, as opposed to the engine."""

from __future__ import annotations

from explorer.contract import TinyMemoryError


class FileError(TinyMemoryError):
    """A file that cannot be read or written; the text names it."""

    label = "file error"


def why(error: OSError | ValueError) -> str:
    """What the system says of a failure, as a sentence part. A ValueError is Python's own, of a name with a NUL."""
    text = str(error) if isinstance(error, ValueError) else error.strerror or type(error).__name__
    return text[:1].lower() + text[1:]
