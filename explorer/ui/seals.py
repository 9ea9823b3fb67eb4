"""What Qt wrote to read again later, kept with a digest.

Qt takes much of it unchecked: a single byte that changed in the file can end the process.
"""

from __future__ import annotations

import base64
import hashlib

from PySide6.QtCore import QByteArray


def sealed(state: QByteArray) -> str:
    """`state` as text: the digest of its bytes, a colon, and the bytes."""
    data = bytes(state.data())
    return f"{hashlib.sha256(data).hexdigest()}:{base64.b64encode(data).decode('ascii')}"


def unsealed(kept: object) -> QByteArray | None:
    """What was sealed; None for anything else, also for a state of before there were seals."""
    digest, _, words = kept.partition(":") if isinstance(kept, str) else ("", "", "")
    try:
        data = base64.b64decode(words, validate=True)
    except ValueError:
        return None
    return QByteArray(data) if hashlib.sha256(data).hexdigest() == digest else None
