"""How a removal is confirmed: the question is as strong as the harm."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from explorer.contract import InvalidRequest
from explorer.i18n import tr
from explorer.removal.plan import Plan
from explorer.removal.preview import Preview

MANY = 10_000


@dataclass(frozen=True, slots=True)
class Answers:
    """What the person said."""

    typed: str = ""
    whole_tree: bool = False
    large: bool = False


class Lack(StrEnum):
    """What is still to be said."""

    WHOLE_TREE = "whole_tree"
    LARGE = "large"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What has to be said before a plan runs."""

    name: str | None
    """To be typed, compared by code point."""
    whole_tree: bool
    """Whether the switch for the whole tree is needed, before the name."""
    large: bool
    """Whether the switch for a large part of what is stored is needed."""

    @classmethod
    def needed(cls, plan: Plan, preview: Preview) -> Confirmation:
        """An erase, and any removal of nodes, takes the node's name as it is printed; `root` for the whole tree."""
        node = plan.target.node
        whole = plan.target.is_whole_tree
        # Where not all that is stored could be counted, a part of it cannot be known to be small.
        is_large = preview.total > MANY or 2 * preview.total > preview.stored or preview.stored_is_least
        return cls(None if node is None else str(node), whole, is_large and not whole and preview.total > 1)

    def lacks(self, answers: Answers) -> Lack | None:
        """What is to be said next."""
        if self.whole_tree and not answers.whole_tree:
            return Lack.WHOLE_TREE
        if self.large and not answers.large:
            return Lack.LARGE
        return Lack.NAME if self.name is not None and answers.typed != self.name else None

    def missing(self, answers: Answers) -> str | None:
        """What is still to be said, a sentence; None when nothing is."""
        match self.lacks(answers):
            case Lack.WHOLE_TREE:
                return tr("First switch on that the whole tree is meant.")
            case Lack.LARGE:
                return tr("First switch on that you know how much this is.")
            case Lack.NAME:
                return tr("Type the name of the node exactly as it is shown.")
            case None:
                return None

    def check(self, answers: Answers) -> None:
        """Raises InvalidRequest while something is still to be said."""
        if self.lacks(answers) is not None:
            raise InvalidRequest("the removal was not confirmed as it has to be; nothing was removed")
