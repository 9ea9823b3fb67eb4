"""What the system says of a failure, for the sentences of whoever works with files."""

from __future__ import annotations


def why(error: OSError | ValueError) -> str:
    """The reason as a sentence part. A ValueError is Python's own, of a name with a NUL."""
    text = str(error) if isinstance(error, ValueError) else error.strerror or type(error).__name__
    return lowered(text)


def lowered(text: str) -> str:
    """`text` as a part of a sentence: its first letter is a small one."""
    return text[:1].lower() + text[1:]
