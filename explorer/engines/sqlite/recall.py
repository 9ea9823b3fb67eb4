"""An answer without a model: what the best items say that holds most of the question, in their own words.

Whether anything answers is judged by the evidence: the share of the question's words that a statement holds, and how
near its item is in meaning. Where the question names somebody who takes part in the conversations that were found, the
best of it must be said by or of them. What is near in words and meaning but answers another question passes for an
answer: what a question wrongly takes for granted is not noticed. The bounds are measured:
tests/benchmarks/bench_quality.py.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TypeVar

from explorer.contract import NOTHING_ANSWERS, Conversation, Role, StoreItem
from explorer.contract.model import collapsed
from explorer.engines.sqlite.days import meant, written
from explorer.engines.sqlite.passages import Span, statements_of, turns_of
from explorer.engines.sqlite.search import COMMON
from explorer.engines.sqlite.sought import Sought
from explorer.engines.sqlite.tokens import MAX_UNITS, Query, Unit, parse_query, spaced

T = TypeVar("T")

_MAX_QUOTED = 8
"""Statements in an answer, however many items are cited."""
_PER_ITEM = 2
"""Statements of one item in it."""
_FURTHER = 0.8
"""The part of an item's best share that its next statement needs."""
_BY_WORDS = 0.25
"""The share of a question that a statement holds, from which it answers where words are all there is."""
BY_WORDS_ALONE = 0.75
"""That share from which it answers however far its item is in meaning."""
_BY_BOTH = 1.3
_SIMILARITY_COUNTS = 3.0
"""The share and so many times the similarity together are the evidence, which answers from `_BY_BOTH`."""
_BESIDE = 0.4
"""The part of the best evidence that a further item needs."""
_BESIDE_THE_SURE = 0.45
"""That part where the best answers by its words alone."""
_BESIDE_BY_WORDS = 0.3
"""That part where words are all there is: half of what is sought may be all that an item says."""
_MOST_REMARKED = 80
"""Characters of a place that is told."""
_CODE_MARKS = frozenset("{}[]()<>=;\\_")
_MARKS_OF_CODE = 0.15
"""The part of such marks among a statement's characters from which it is code or data, and no sentence."""

_SPEAKER = re.compile(r"\s*([^\W\d_][\w.'’-]{0,30}(?: [^\W\d_][\w.'’-]{0,30}){0,2}):\s")
"""How a turn begins that says who speaks, where the role alone does not tell."""
_DATA = re.compile(r'\s*(?:\{|\[[\[{"]|"[^"\n]{1,60}":)')
"""How a piece of JSON begins."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A piece of an item, as it is quoted."""

    span: Span
    """Where it stands in the item's rendered text."""
    text: str
    remark: str = ""
    """Who said it where the text itself does not tell, when, and which days it means."""


@dataclass(frozen=True, slots=True)
class Quote:
    """What an item says that holds most of a question."""

    statements: tuple[Statement, ...]
    """The best first, which is the one that is cited."""
    share: float
    """The share of the question that the best holds, 0 to 1."""
    similarity: float | None = None
    """The vector part of its item; None where words are all there is."""
    is_of_named: bool = True
    """Whether the best is said by or of somebody whom the question names, where it names anybody."""

    @property
    def best(self) -> Statement:
        return self.statements[0]

    @property
    def evidence(self) -> float:
        return self.share + _SIMILARITY_COUNTS * (self.similarity or 0.0)

    @property
    def is_answer(self) -> bool:
        if self.similarity is None:
            return self.share >= _BY_WORDS
        return self.share >= BY_WORDS_ALONE or self.evidence >= _BY_BOTH


def spread(query: Query) -> Query:
    """The query with each run of characters as its pairs: a question in Chinese is one run, which no answer repeats.

    Of many long runs only the first pairs: `MAX_UNITS` units, as any query has at most.
    """
    units = dict.fromkeys(
        part
        for unit in query.units
        for part in ([unit] if unit.phrase is None else [Unit((pair,)) for pair in unit.terms])
    )
    return Query(tuple(units)[:MAX_UNITS], query.phrase)


def content_of(query: Query) -> Query:
    """The question without the words that every question has; all of them where it has no others."""
    units = tuple(unit for unit in query.units if unit.terms[0] not in COMMON)
    return Query(units, query.phrase) if units else query


def speakers_of(item: StoreItem) -> list[str]:
    """Who speaks in each turn of a conversation, by name; empty where any turn does not begin with a name."""
    if not isinstance(item, Conversation):
        return []
    found = [_SPEAKER.match(turn.text) for turn in item.turns]
    return [name[1] for name in found if name] if all(found) else []


def named_in(query: Query, items: Sequence[StoreItem]) -> frozenset[str]:
    """The terms of a question that name somebody who speaks in these items."""
    labels = {name for item in items for name in speakers_of(item)}
    terms = {unit.terms[0] for label in labels for unit in parse_query(label).units if unit.word is not None}
    return frozenset(terms - COMMON).intersection(unit.terms[0] for unit in query.units)


def is_code(text: str) -> bool:
    """Whether a statement is code or data for the most part."""
    chars = sum(map(len, text.split()))
    return _DATA.match(text) is not None or sum(map(text.count, _CODE_MARKS)) >= _MARKS_OF_CODE * chars


def _telling(item: StoreItem, statements: Sequence[Span], *, in_words: bool) -> list[int]:
    """The numbers of the statements that may be quoted: those that tell anything.

    `in_words`: none of a tool's, no code, and no turn that asks and has one of these for its reply.
    """
    text = item.render_text()
    turns = turns_of(item) if isinstance(item, Conversation) else []
    telling: list[int] = []
    number = 0
    asked = -1  # the number of a statement that ends its turn with a question
    for at, (start, stop) in enumerate(statements):
        while turns and start >= turns[number][1]:
            number += 1
        role = item.turns[number].role if isinstance(item, Conversation) else None
        said = text[_said_from(item, turns, number, start) : stop]
        if in_words and (role is Role.TOOL or is_code(said)):
            if asked == at - 1 and telling[-1:] == [asked]:
                telling.pop()  # the reply would be quoted with it
            continue
        if role is not None and _asks(text, (start, stop), turns[number]):
            asked = at
        if not COMMON.issuperset(spaced(said).split()):
            telling.append(at)
    return telling


def _asks(text: str, statement: Span, turn: Span) -> bool:
    """Whether a turn ends with this statement and asks by it, so that the reply belongs to it."""
    return statement[1] == turn[1] and text[slice(*statement)].endswith("?")


def _said_from(item: StoreItem, turns: Sequence[Span], number: int, start: int) -> int:
    """Where the quote of a statement begins: behind the role, where the statement begins its turn."""
    if isinstance(item, Conversation) and start == turns[number][0]:
        return start + len(f"{item.turns[number].role}: ")
    return start


def quote(
    item: StoreItem,
    sought: Sought,
    similarity: float | None = None,
    named: Collection[str] = (),
    nearest: Callable[[], Span | None] = lambda: None,
    *,
    in_words: bool = True,
) -> Quote | None:
    """The statements of an item that hold most of what is sought, the first among equals.

    `named`: as `named_in` has them. `nearest`: the passage to look in where no statement holds anything of it.
    `in_words`: a tool's statements and code are none. None where there is nothing to quote. The item's text must not
    be empty.
    """
    statements = statements_of(item)
    telling = _telling(item, statements, in_words=in_words)
    if not telling:
        return None
    shares = sought.shares(item, statements)
    order = sorted(telling, key=lambda at: (-shares[at], at))
    if not shares[order[0]] and (near := nearest()) is not None:
        order.sort(key=lambda at: statements[at][0] < near[0])
    least = max(_FURTHER * shares[order[0]], 1e-9)
    taken = [order[0], *(at for at in order[1:_PER_ITEM] if shares[at] >= least)]
    names = speakers_of(item)
    quoted: list[Statement] = []
    for at in taken:
        statement = _statement(item, statements, at, names)
        if all(statement.span[1] <= other.span[0] or statement.span[0] >= other.span[1] for other in quoted):
            quoted.append(statement)
    return Quote(tuple(quoted), shares[order[0]], similarity, _is_of(named, item, quoted[0].span, names))


def quote_at(item: StoreItem, span: Span, where: str = "") -> Quote:
    """A piece of an item as its whole quote, for what it is and not for the words that it holds.

    `where`: what is to be said of its place.
    """
    statement = _statement(item, [span], 0, speakers_of(item))
    remark = ", ".join(filter(None, (re.sub(r"[()\s]+", " ", where)[:_MOST_REMARKED].strip(), statement.remark)))
    return Quote((replace(statement, remark=remark),), 1.0)


def _statement(item: StoreItem, statements: Sequence[Span], at: int, names: Sequence[str]) -> Statement:
    """One statement as it is quoted: a turn that asks, with the reply to it."""
    text = item.render_text()
    start, stop = statements[at]
    who, when = "", item.meta.observed_at
    if isinstance(item, Conversation):
        turns = turns_of(item)
        number = _turn_at(turns, start)
        turn = item.turns[number]
        when = turn.at or when
        if start > turns[number][0] or not names:
            who = names[number] if names else str(turn.role)
        if _asks(text, (start, stop), turns[number]) and at + 1 < len(statements):
            stop = statements[at + 1][1]
        start = _said_from(item, turns, number, start)
    return Statement((start, stop), text[start:stop], _remark(who, when and when.date(), text[start:stop]))


def _turn_at(turns: Sequence[Span], start: int) -> int:
    return next(number for number, (_, stop) in enumerate(turns) if start < stop)


def _remark(who: str, day: date | None, text: str) -> str:
    if day is None:
        return who
    days = "".join(f"; {phrase}: {meaning}" for phrase, meaning in meant(text, day))
    return ", ".join(filter(None, (who, written(day)))) + days


def _is_of(named: Collection[str], item: StoreItem, span: Span, names: Sequence[str]) -> bool:
    """Whether a statement, or its reply, is said by somebody named or tells of them; of other items, the whole."""
    if not named:
        return True
    text = item.render_text()
    if isinstance(item, Conversation):
        start, stop = span
        speaker = names[_turn_at(turns_of(item), start)] if names else ""
        text = f"{speaker} {text[start:stop]}"
    return not set(named).isdisjoint(spaced(text).split())


def answering(quotes: Sequence[Quote]) -> list[int]:
    """The numbers of the quotes that are worth giving, in order; none where none of them is an answer."""
    if not any(quote.is_answer for quote in quotes):
        return []
    best = max(quotes, key=lambda quote: quote.evidence)
    if not best.is_of_named:
        return []
    if best.similarity is None:
        part = _BESIDE_BY_WORDS
    else:
        part = _BESIDE_THE_SURE if best.share >= BY_WORDS_ALONE else _BESIDE
    return [number for number, quote in enumerate(quotes) if quote.evidence >= part * best.evidence]


def first_in_words(item: StoreItem) -> Span | None:
    """The first statement of an item that is a sentence and tells anything."""
    statements = statements_of(item)
    telling = _telling(item, statements, in_words=True)
    return statements[telling[0]] if telling else None


def by_turns(
    answers: Sequence[Iterator[tuple[T, Quote]]], limit: int, id: Callable[[T], Hashable]
) -> list[tuple[T, Quote]]:
    """The first answer of each, then the second of each, and so on: at most `limit`, and what has one `id` once."""
    given: dict[Hashable, tuple[T, Quote]] = {}
    waiting = deque(answers)
    while waiting and len(given) < limit:
        answer = next((one for one in waiting[0] if id(one[0]) not in given), None)
        if answer is None:
            waiting.popleft()
        else:
            given[id(answer[0])] = answer
            waiting.rotate(-1)
    return list(given.values())


def compose(quotes: Sequence[Quote]) -> str:
    """The answer in words: Markdown bullets, a statement each with who said it and when, in the order of the quotes.

    First the best of each item, then what else they say.
    """
    if not quotes:
        return NOTHING_ANSWERS
    said: dict[str, str] = {}
    for rank in range(_PER_ITEM):
        for quote in quotes:
            for statement in quote.statements[rank : rank + 1]:
                said.setdefault(collapsed(statement.text), statement.remark)
    lines = (f"- “{text}”{f' ({remark})' if remark else ''}" for text, remark in said.items())
    return "\n".join(list(lines)[:_MAX_QUOTED])
