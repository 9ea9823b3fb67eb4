"""Why a document is empty, in words. Free of Qt."""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

from explorer.context import State, Trimmed
from explorer.i18n import tr, tr_n
from explorer.text import number
from explorer.ui.context_parts.shown import failures_of


class Way(Enum):
    """What can be done about it."""

    NONE = auto()
    REST = auto()
    """See what was left out."""
    AGAIN = auto()
    PUT_BACK = auto()


class Emptiness(NamedTuple):
    """An icon, what is known, and the way on."""

    icon: str
    title: str
    sentence: str
    way: Way = Way.NONE

    @property
    def is_caution(self) -> bool:
        """Whether what is seen is not the whole truth."""
        return self.way in (Way.REST, Way.AGAIN)


def emptiness_of(trimmed: Trimmed, budget_tokens: int, *, has_left_out: bool) -> Emptiness:
    """Of a document without a word; `has_left_out`: whether the person left items out."""
    failure = next(failures_of(trimmed), None)
    if any(one.state is State.DROPPED for one in trimmed.sections):
        n = number(budget_tokens)
        title = tr_n("{n} token has no room for any of it", "{n} tokens have no room for any of it", budget_tokens, n=n)
        said = tr("No section fits with the frontmatter, in which every item is named. A larger budget shows more.")
        return Emptiness("info", title, said, Way.REST)
    if failure is not None:
        return Emptiness("warning", tr("No brief was answered"), failure[1], Way.AGAIN)
    if has_left_out:
        said = tr("Nothing is left without the items that you left out.")
        return Emptiness("info", tr("An empty document"), said, Way.PUT_BACK)
    said = tr("An agent placed here finds no learnings and nothing that answers the briefs, here or on the way up.")
    return Emptiness("inbox", tr("Nothing stored for this node"), said)
