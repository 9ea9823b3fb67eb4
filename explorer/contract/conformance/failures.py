"""How an engine fails the suite: by a wrong answer, or by failing a call that it must serve."""

from __future__ import annotations

from explorer.contract.errors import TinyMemoryError


class ConformanceFailure(TinyMemoryError):
    """The first check that an engine did not pass; which of the two kinds says why.

    `check` is the group's name, `number` the check's place in `CHECKS`, `detail` what was seen instead.
    """

    label = "conformance failure"

    def __init__(self, check: str, number: int, detail: str) -> None:
        super().__init__(f"{check}, check {number}: {detail}")
        self.check = check
        self.number = number
        self.detail = detail

    def __reduce__(self) -> tuple[type[ConformanceFailure], tuple[str, int, str]]:
        return type(self), (self.check, self.number, self.detail)


class CheckFailed(ConformanceFailure):
    """The engine answered, but wrongly."""


class EngineFailed(ConformanceFailure):
    """The engine raised from a call that it must serve; `__cause__` is what it raised."""
