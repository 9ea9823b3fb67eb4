"""How far to count, where an engine counts by reading. Free of Qt."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.contract.query import DEFAULT_SCAN, MAX_SCAN
from explorer.i18n import tr
from explorer.text import counted, number

_TIMES = 4


@dataclass
class Scan:
    """How far the counts of one panel go: as far as usual, or on and on until everything is counted.

    They go on in steps, so that there is a number to show, and that stays when it is stopped. Each step reads all of it
    again; few large ones take little longer than one.
    """

    limit: int = DEFAULT_SCAN
    """At most so many items are read."""
    goes_on: bool = False
    """Whether everything is to be counted."""
    note: str = ""
    """What was said last of where counting stopped; it is said once."""

    @property
    def can_go_on(self) -> bool:
        """Whether the contract lets a count go further."""
        return self.limit < MAX_SCAN

    def begin(self) -> bool:
        """Count as far as usual. Returns whether everything was being counted, which nobody may say any more."""
        went_on = self.goes_on
        self.limit, self.goes_on = DEFAULT_SCAN, False
        if went_on:
            self.note = ""
        return went_on

    def begin_all(self, n: int) -> None:
        """Count everything, of which `n` items are counted."""
        self.goes_on, self.note = True, ""
        self.limit = _further(max(self.limit, n))

    def end_all(self) -> None:
        """Go no further: it failed, or there is nothing to count. What is said of that takes the place of the note."""
        self.goes_on, self.note = False, ""

    def step(self, is_cut: bool) -> bool:
        """The counts are there, of all or not. Returns whether to count again: further, as everything is wanted."""
        self.goes_on = self.goes_on and is_cut and self.can_go_on
        if self.goes_on:
            self.limit = _further(self.limit)
        return self.goes_on

    def words_so_far(self, n: int) -> str:
        """What to say while everything is being counted."""
        self.note = ""
        return tr("Counting everything, {items} so far…", items=counted(n, "item"))

    def words_at_end(self, n: int, is_cut: bool) -> str | None:
        """What to say where counting has ended: nothing where all is counted.

        None to leave what there is: it was said before, and is still there or has been dismissed.
        """
        said = tr("Counted {n} of more items", n=number(n)) if is_cut else ""
        if said and said == self.note:
            return None
        self.note = said
        return said


def _further(limit: int) -> int:
    return min(MAX_SCAN, limit * _TIMES)
