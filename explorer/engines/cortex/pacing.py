"""How long things are waited for, and how often they are asked for.

Source: cortex, "Timeouts, retries, limits".
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from explorer.contract import Unavailable
from explorer.engines.cortex.failures import STATE_CHANGED, error_code


@dataclass(frozen=True, slots=True)
class Timing:
    """How long things are waited for, in seconds."""

    connect_s: float = 10.0
    request_s: float = 60.0
    """For one attempt, from connecting to the last byte of the answer."""
    retry_s: float = 0.25
    """Before the second attempt; twice as long before each one after it."""
    pause_s: float = 10.0
    """At most, where the server asks to wait."""
    poll_s: float = 0.25
    most_poll_s: float = 2.0
    """Up to which the gaps between polls double, where they do."""
    listed_s: float = 30.0
    """Until what was written must be listed."""
    ranked_s: float = 10.0
    """Until what was written should be found."""
    erasure_s: float = 300.0
    """Until an erasure must be done."""

    def gap(self, attempt: int) -> float:
        """The wait after that attempt, from 1; a little longer at random, so that many do not come at once."""
        return self.retry_s * 2.0 ** (attempt - 1) * random.uniform(1.0, 1.2)

    def polls(self, *, doubling: bool) -> Iterator[float]:
        """The gaps between polls, without end."""
        gap = self.poll_s
        while True:
            yield gap
            gap = min(gap * 2, self.most_poll_s) if doubling else gap


class Tries(Enum):
    """How often a request may be sent while it is answered with Unavailable."""

    ONCE = 1
    READ = 3
    """Repeating it changes nothing."""

    def most(self, error: Unavailable) -> int:
        if self is Tries.READ and error_code(error) == STATE_CHANGED:
            return 6
        return self.value
