"""A filter in words, one condition at a time. Free of Qt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from typing import Any

from explorer.contract import Facet, MetaFilter, Reach, Timestamp, is_blank
from explorer.ui import text

QUERY = "query"
"""The field name under which a search stands among the conditions."""

WINDOW = "observed_after"
"""The field name under which both ends of a window of time stand as one condition."""

_NAMES = {
    "workspace": "workspace",
    "folder": "folder",
    "file_path": "file",
    "language": "language",
    "repo": "repo",
    "commit": "commit",
    "url": "url",
    "thread_id": "thread",
    "agent_id": "agent",
    "tool_call": "tool",
    "source_id": "source id",
}
_LISTS = {"kinds": "kind", "sources": "source", "tags_any": "tag"}
PREFIXES = ("folder", "file_path")
"""Fields whose condition also admits what is below its value."""
_NOTE_CHARACTERS = 2_000
_DRAWN_CHARACTERS = 300  # of the values of one condition
_FACETS = {facet.field: facet for facet in Facet}


@dataclass(frozen=True)
class Condition:
    """One condition: the filter field it comes from, and its words (`tag is`) and value (`refunds or billing`).

    `note` says what else it admits. `is_dead`: no item has its value under the other conditions. `drawn`: where more
    than one stored value stands in it, the value safe to draw as it is, with each kept to its own direction.
    """

    field: str
    words: str
    value: str
    note: str = ""
    is_dead: bool = False
    drawn: str = ""


def conditions(
    filter: MetaFilter, zone: tzinfo, query: str = "", dead: Mapping[str, Collection[str]] | None = None
) -> list[Condition]:
    """Every condition that is set, in the order of the filter's fields, the search last.

    `dead`: by field, the values known to match nothing under the other conditions.
    """
    gone = dead or {}
    found: list[Condition] = []
    if filter.reach is not None:
        found.append(Condition("reach", *_reach_words(filter.reach)))
    for field, name in _NAMES.items():
        value: str | None = getattr(filter, field)
        if value is not None:
            is_prefix = field in PREFIXES
            note = below_words(value) if is_prefix else ""
            words = f"{name} under" if is_prefix else f"{name} is"
            found.append(Condition(field, words, value_words(value), note, value in gone.get(field, ())))
    if filter.turns is not None:
        first, last = filter.turns.first, filter.turns.last
        found.append(Condition("turns", "turn is" if first == last else "turns are", _span(str(first), str(last))))
    for field, name in _LISTS.items():
        values: list[str] = getattr(filter, field)
        if values:
            without_items = [value for value in values if value in gone.get(field, ())]
            is_dead = len(without_items) == len(values)
            faint = [] if is_dead else without_items
            said = _alternatives(values, faint, str)
            room = _DRAWN_CHARACTERS // min(len(values), _DRAWN_CHARACTERS // 20)
            drawn = _alternatives(values, faint, partial(_alone, room))
            found.append(Condition(field, f"{name} is", said, is_dead=is_dead, drawn=drawn if len(values) > 1 else ""))
    if (window := _window_condition(filter, zone)) is not None:
        found.append(window)
    if query:
        found.append(Condition(QUERY, "search for", f"“{query}”"))
    return found


def without(filter: MetaFilter, field: str) -> MetaFilter:
    """`filter` without the condition that `conditions` names `field`."""
    if field == WINDOW:
        return filter.model_copy(update={"observed_after": None, "observed_before": None})
    return filter.model_copy(update={field: getattr(MetaFilter(), field)})


def with_value(filter: MetaFilter, field: str, value: Any) -> MetaFilter:
    """`filter` with `field` set to one value of an item's metadata; a list field then holds just that value.

    The value of WINDOW is a pair of times, the second of which is no longer in it.
    """
    if field == WINDOW:
        after, before = value
        return filter.model_copy(update={"observed_after": after, "observed_before": before})
    return filter.model_copy(update={field: [value] if field in _LISTS else value})


def facet_of(field: str) -> Facet | None:
    """The facet whose condition `field` is; None for turns, commit and times, which have no facet."""
    return _FACETS.get(field)


def value_words(value: str) -> str:
    """A stored value, or (empty) for one that would not be seen."""
    return "(empty)" if is_blank(value) else value


def below_words(path: str) -> str:
    """What a condition on a path admits besides the path itself, and what it does not."""
    base = text.shown(path.rstrip("/"), _NOTE_CHARACTERS)
    below, neighbour = text.isolate(f"{base}/"), text.isolate(f"{base}-old")
    return f"The filter also matches what is below {below}, but not a neighbour such as {neighbour}."


def _alternatives(values: Sequence[str], faint: Collection[str], put: Callable[[str], str]) -> str:
    return " or ".join(put(value_words(one)) + (" (0)" if one in faint else "") for one in values)


def _alone(room: int, stored: str) -> str:
    return text.isolate(text.shown(stored, room))


def _span(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"


def _reach_words(reach: Reach) -> tuple[str, str]:
    if reach.descendants:
        with_parents = ", with its parents" if reach.inherit and not reach.at.is_root else ""
        return "namespace at", f"{reach.at} and below{with_parents}"
    if reach.inherit and not reach.at.is_root:
        return "namespace at", f"{reach.at} with its parents"
    return "namespace only at", str(reach.at)


def _window_condition(filter: MetaFilter, zone: tzinfo) -> Condition | None:
    after, before = filter.observed_after, filter.observed_before
    if after is not None and before is not None:
        if text.is_midnight(after, zone) and text.is_midnight(before, zone) and after < before:
            days = _span(text.day(after, zone), text.day_before(before, zone))
            return Condition(WINDOW, "observed from", days)
        return Condition(WINDOW, "observed from", f"{_moment(after, zone)} to {_moment(before, zone)}")
    if after is not None:
        return Condition(WINDOW, "observed from", _moment(after, zone))
    if before is not None:
        return Condition("observed_before", "observed before", _moment(before, zone))
    return None


def _moment(at: Timestamp, zone: tzinfo) -> str:
    return text.day(at, zone) if text.is_midnight(at, zone) else text.when_full(at, zone)
