"""A filter in words, one condition at a time. Free of Qt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from typing import Any

from explorer import text
from explorer.contract import Facet, MetaFilter, Reach, Timestamp, is_blank
from explorer.i18n import mark, tr, tr_in

QUERY = "query"
"""The field name under which a search stands among the conditions."""

WINDOW = "observed_after"
"""The field name under which both ends of a window of time stand as one condition."""

_ONES = {
    # Translators: after each of these stands a value, as in "workspace is atlas"
    "workspace": mark("workspace is"),
    "folder": mark("folder under"),
    "file_path": mark("file under"),
    "language": mark("language is"),
    "repo": mark("repo is"),
    "commit": mark("commit is"),
    "url": mark("url is"),
    "thread_id": mark("thread is"),
    "agent_id": mark("agent is"),
    "tool_call": mark("tool is"),
    "source_id": mark("source id is"),
}
_LISTS = {"kinds": mark("kind is"), "sources": mark("source is"), "tags_any": mark("tag is")}
PREFIXES = ("folder", "file_path")
"""Fields whose condition also admits what is below its value."""
_NOTE_CHARACTERS = 2_000
_NAMED_MOST = 15  # values of one condition; the others are counted
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
    for field, words in _ONES.items():
        value: str | None = getattr(filter, field)
        if value is not None:
            note = below_words(value) if field in PREFIXES else ""
            found.append(Condition(field, tr(words), value_words(value), note, value in gone.get(field, ())))
    if filter.turns is not None:
        first, last = filter.turns.first, filter.turns.last
        words = tr("turn is") if first == last else tr("turns are")
        found.append(Condition("turns", words, text.from_to(str(first), str(last))))
    for field, words in _LISTS.items():
        values: list[str] = getattr(filter, field)
        if values:
            without_items = [value for value in values if value in gone.get(field, ())]
            is_dead = len(without_items) == len(values)
            faint = [] if is_dead else without_items
            named = value_words if field == "tags_any" else text.word
            said = _alternatives(values, faint, named)
            room = _DRAWN_CHARACTERS // min(len(values), _NAMED_MOST)
            drawn = _alternatives(values, faint, partial(_alone, named, room))
            found.append(Condition(field, tr(words), said, is_dead=is_dead, drawn=drawn if len(values) > 1 else ""))
    if (window := _window_condition(filter, zone)) is not None:
        found.append(window)
    if query:
        # Translators: after it stands what is searched for, in quotes
        found.append(Condition(QUERY, tr("search for"), text.in_quotes(query)))
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
    return tr("(empty)") if is_blank(value) else value


def below_words(path: str) -> str:
    """What a condition on a path admits besides the path itself, and what it does not."""
    base = text.shown(path.rstrip("/"), _NOTE_CHARACTERS)
    below, neighbour = text.isolate(f"{base}/"), text.isolate(f"{base}-old")
    return tr(
        "The filter also matches what is below {below}, but not a neighbour such as {neighbour}.",
        below=below,
        neighbour=neighbour,
    )


def _alternatives(values: Sequence[str], faint: Collection[str], put: Callable[[str], str]) -> str:
    told = text.either(put(one) + (" (0)" if one in faint else "") for one in values[:_NAMED_MOST])
    rest = len(values) - _NAMED_MOST
    return f"{told} {text.and_more(rest)}" if rest > 0 else told


def _alone(named: Callable[[str], str], room: int, stored: str) -> str:
    return text.isolate(text.shown(named(stored), room))


def _reach_words(reach: Reach) -> tuple[str, str]:
    has_parents = reach.inherit and not reach.at.is_root
    if reach.descendants and has_parents:
        return tr("namespace at"), tr("{node} and below, with its parents", node=reach.at)
    if reach.descendants:
        return tr("namespace at"), tr("{node} and below", node=reach.at)
    if has_parents:
        return tr("namespace at"), tr("{node} with its parents", node=reach.at)
    return tr("namespace only at"), str(reach.at)


def _window_condition(filter: MetaFilter, zone: tzinfo) -> Condition | None:
    after, before = filter.observed_after, filter.observed_before
    if after is not None and before is not None:
        if text.is_midnight(after, zone) and text.is_midnight(before, zone) and after < before:
            first, last = text.day(after, zone), text.day_before(before, zone)
            if first == last:  # "from" would read as if there were no end
                return Condition(WINDOW, tr("observed on"), first)
            # Translators: after it stands "{first} to {last}"
            return Condition(WINDOW, tr_in("both ends", "observed from"), text.from_to(first, last))
        times = tr("{first} to {last}", first=_moment(after, zone), last=_moment(before, zone))
        return Condition(WINDOW, tr_in("both ends", "observed from"), times)
    if after is not None:
        # Translators: after it stands a day or a time, and there is no end
        return Condition(WINDOW, tr_in("no end", "observed from"), _moment(after, zone))
    if before is not None:
        return Condition("observed_before", tr("observed before"), _moment(before, zone))
    return None


def _moment(at: Timestamp, zone: tzinfo) -> str:
    return text.day(at, zone) if text.is_midnight(at, zone) else text.when_full(at, zone)
