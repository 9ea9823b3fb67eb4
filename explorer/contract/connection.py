"""What is worth knowing of the connection to an engine that is elsewhere.

Not in memory-v2: for a window that tells why an answer keeps it waiting, and what an engine came upon.
"""

from __future__ import annotations

from explorer.contract.model import Model, Text
from explorer.contract.timestamp import Timestamp


class Waiting(Model):
    """The server asked for a pause; what is asked of the engine before its end begins then."""

    until: Timestamp


class Detail(Model):
    """One fact of the connection, such as "Events of other programs" and "12"."""

    name: Text
    value: Text
