"""A listing read by place: in an order of the reader's choice, from any row on.

Not in memory-v2, whose `list` has one order and goes on only from where a page ended: for a window that shows how long
a list is, and whose reader may pull it to any place.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from explorer.contract.errors import InvalidRequest
from explorer.contract.items import ItemId
from explorer.contract.meta import MetaFilter
from explorer.contract.model import Count, Flag, Model, Text
from explorer.contract.query import Hit


class SortBy(StrEnum):
    """What items can be put in order by."""

    OBSERVED = "observed"
    KIND = "kind"
    NODE = "node"
    AGENT = "agent"
    SOURCE = "source"


class ListOrder(Model):
    """Items without the value come last either way; of equal ones the newest comes first.

    Nodes go by their segments, all other texts by their code points. Of equal times the later stored is the newer.
    """

    by: SortBy = SortBy.OBSERVED
    descending: Flag = True


class SpanRequest(Model):
    filter: MetaFilter = Field(default_factory=MetaFilter)
    order: ListOrder = Field(default_factory=ListOrder)
    offset: Count
    limit: Count
    listing: Text | None = None
    """The one that an earlier span was of; None for the items as they are now."""
    place_of: ItemId | None = None
    """An item whose place is asked as well."""

    def check(self) -> None:
        if self.limit < 1:
            raise InvalidRequest("span limit must be positive")


class Span(Model):
    items: list[Hit | None]
    """Those at the places from `offset` on; None where one is no longer stored."""
    total: Count
    """Places of the listing."""
    listing: Text
    """Another than was asked for where that one is forgotten: then all places are new."""
    place: Count | None = None
    """That of the item asked about; None where the listing does not have it."""
    is_partial: Flag = False
    """Whether not all was read when the listing was begun: another, asked for without a name, has more."""
    is_cut: Flag = False
    """Whether items may be at places that the engine did not learn of."""
