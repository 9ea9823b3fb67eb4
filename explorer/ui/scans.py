"""How far to count, where an engine counts by reading. Free of Qt."""

from __future__ import annotations

from explorer.contract.query import MAX_SCAN

_TIMES = 4


def further(scan_limit: int) -> int:
    """How far to count next, where everything is to be counted: in steps, so that there is a number to show, and that
    stays when it is stopped. Each step reads all of it again; few large ones take little longer than one.
    """
    return min(MAX_SCAN, scan_limit * _TIMES)
