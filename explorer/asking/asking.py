"""Asking: the engine's recall, where its citations stand, who writes the answer, and what was read besides."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from explorer.asking.answered import Answered, By, Sentence
from explorer.asking.loose import Loose
from explorer.asking.sentences import apart, by_marks, by_quotes, quotes_in
from explorer.asking.writer import Given, Writer
from explorer.contract import (
    NOTHING_ANSWERS,
    Citation,
    FetchMode,
    FetchRequest,
    GetRequest,
    Hit,
    ItemId,
    MemoryEngine,
    MetaFilter,
    Passage,
    RecallRequest,
    TinyMemoryError,
    is_blank,
    to_unicode,
)
from explorer.contract.model import WHITE_SPACE, collapsed, trimmed
from explorer.contract.query import MAX_GET_IDS
from explorer.engines.sqlite.days import written

log = logging.getLogger(__name__)

DEFAULT_LIMIT = 8

_MODES = (FetchMode.HYBRID, FetchMode.VECTOR, FetchMode.KEYWORD)
"""Best first."""
_MOST_CITATIONS = 20
"""Of an engine that gives more than it was asked for."""
_MOST_QUOTES = 50
"""Besides the citations, that are looked for."""
_GIVEN_CHARS = 2_000
"""Of one passage that a writer gets: engines may cite whole items."""
_GIVEN_CHARS_IN_ALL = 24_000


async def ask(
    engine: MemoryEngine,
    question: str,
    filter: MetaFilter | None = None,
    *,
    limit: int = DEFAULT_LIMIT,
    writer: Writer | None = None,
) -> Answered:
    """Ask `engine` a question under a filter, for at most `limit` citations.

    With a writer, it writes the answer from the passages that the engine cites; it is not asked where there are none.
    Raises what `recall` raises. Where the writer or the reading besides fails, the answer stands and says so.
    """
    began = time.monotonic()
    question = to_unicode(question)  # a command line and a field may hold what no request can
    filter = MetaFilter() if filter is None else filter
    answer = await engine.recall(RecallRequest(question=question, filter=filter, limit=limit))
    text, note = apart(answer.answer)
    citations = await _placed(engine, text, answer.citations[: max(limit, _MOST_CITATIONS)], filter)
    reading = await _read(engine, question, filter, limit)
    cited = {citation.id for citation in citations}
    said = await _said(question, text, answer.model, citations, writer)
    is_servers = said.by is By.ENGINE and engine.descriptor().may_cost
    return Answered(
        question=question,
        filter=filter,
        sentences=said.sentences,
        citations=citations,
        read_not_cited=tuple(hit for hit in reading.hits if hit.id not in cited),
        says_nothing=said.says_nothing,
        by=By.SERVER if is_servers else said.by,
        model=said.model,
        elapsed_s=time.monotonic() - began,
        writer_error=said.error,
        reading_error=reading.error,
        note=note,
    )


@dataclass(frozen=True, slots=True)
class _Said:
    sentences: tuple[Sentence, ...]
    says_nothing: bool
    by: By
    model: str | None
    error: str | None = None


async def _said(
    question: str, answer: str, model: str | None, citations: Sequence[Citation], writer: Writer | None
) -> _Said:
    error = None
    if writer is not None and citations:
        given = _given(citations)
        try:
            written = await writer.write(question, given)
        except TinyMemoryError as failure:
            error = failure.text
        else:
            # In a thread: an engine may cite whole items, however long.
            sentences = await asyncio.to_thread(by_marks, written.text, [passage.whole for passage in given])
            # A model may begin so and find something all the same: what it has from the passages is not dropped.
            says_nothing = not sentences or (
                _is_nothing(written.text) and not any(sentence.cites for sentence in sentences)
            )
            return _Said(() if says_nothing else sentences, says_nothing, By.ENDPOINT, written.model)
    if not citations and _is_nothing(answer):
        return _Said((), True, By.ENGINE, model, error)
    sentences = await asyncio.to_thread(by_quotes, answer, [citation.snippet for citation in citations])
    return _Said(sentences, not sentences, By.ENGINE, model, error)


def _is_nothing(answer: str) -> bool:
    """Whether an answer says that nothing answers, whatever is added to that."""
    return is_blank(answer) or answer.strip(" \n\t*_\"'“”").startswith(NOTHING_ANSWERS.rstrip("."))


def _given(citations: Sequence[Citation]) -> list[Given]:
    """The passages for a writer: of each the begin, and the first of them, where they are many."""
    given: list[Given] = []
    room = _GIVEN_CHARS_IN_ALL
    for citation in citations:
        text = citation.snippet[:_GIVEN_CHARS]
        room -= len(text)
        if room < 0:
            break
        at = citation.meta.observed_at
        given.append(Given(text, written(at.date(), has_weekday=True) if at else None))
    return given


# --- what was read besides ---


@dataclass(frozen=True, slots=True)
class _Reading:
    hits: Sequence[Hit] = ()
    error: str | None = None


async def _read(engine: MemoryEngine, question: str, filter: MetaFilter, limit: int) -> _Reading:
    """What a search for the question finds under the same filter, in the best way that the engine has."""
    offered = engine.descriptor().fetch_modes
    mode = next((mode for mode in _MODES if mode in offered), None)
    if mode is None:
        return _Reading()
    try:
        page = await engine.fetch(FetchRequest(query=question, mode=mode, filter=filter, limit=limit))
    except TinyMemoryError as failure:
        return _Reading(error=failure.text)
    return _Reading(page.hits[:limit])


# --- where the citations stand ---


async def _placed(
    engine: MemoryEngine, answer: str, citations: Sequence[Citation], filter: MetaFilter
) -> tuple[Citation, ...]:
    """The citations with their places, and with what else the answer quotes of their items.

    Where the engine does not tell all of that, it is asked for the items.
    """
    quotes = await asyncio.to_thread(_other_quotes, answer, citations)
    if not quotes and all(citation.place is not None for citation in citations):
        return tuple(citations)
    texts = await _texts(engine, [citation.id for citation in citations], filter)
    return await asyncio.to_thread(_found, citations, quotes, texts)


def _other_quotes(answer: str, citations: Sequence[Citation]) -> list[str]:
    """What an answer quotes besides the citations, in its order, each once."""
    known = {collapsed(citation.snippet) for citation in citations}
    return list(dict.fromkeys(quote for quote in quotes_in(answer) if quote not in known))[:_MOST_QUOTES]


def _found(citations: Sequence[Citation], quotes: Sequence[str], texts: Mapping[ItemId, str]) -> tuple[Citation, ...]:
    """The citations at their places in these texts; then, in the order of the answer, so that its numbers go up, what
    is quoted of them besides.
    """
    loose = {id: Loose(text) for id, text in texts.items()}
    placed: list[Citation] = []
    further: dict[str, Citation] = {}
    for citation in citations:
        text = loose.get(citation.id)
        if text is None:
            placed.append(citation)
            continue
        place = citation.place or _place_in(text, citation.snippet)
        placed.append(citation.model_copy(update={"place": place}))
        for quote in quotes:
            if quote not in further and (found := _place_in(text, quote)) is not None:
                snippet = text.text[found.start : found.stop]
                further[quote] = citation.model_copy(update={"snippet": snippet, "place": found})
    return (*placed, *(further[quote] for quote in quotes if quote in further))


async def _texts(engine: MemoryEngine, ids: Sequence[ItemId], filter: MetaFilter) -> dict[ItemId, str]:
    """The rendered texts of the items that can be had: without its place, a citation opens its item at the top."""
    texts: dict[ItemId, str] = {}
    unique = list(dict.fromkeys(ids))
    for start in range(0, len(unique), MAX_GET_IDS):
        try:
            hits = await engine.get(GetRequest(ids=unique[start : start + MAX_GET_IDS], reach=filter.reach))
        except TinyMemoryError as failure:
            log.info("the places of citations are not known: %s", failure.text)
            break
        texts.update((hit.id, hit.text) for hit in hits)
    return texts


def place_of(snippet: str, text: str) -> Passage | None:
    """Where a snippet stands in an item's text: word for word, else with other white space or cut off by dots."""
    return _place_in(Loose(text), snippet)


def _place_in(text: Loose, snippet: str) -> Passage | None:
    exact = trimmed(snippet)
    start = text.text.find(exact) if exact else -1
    if start >= 0:
        return Passage(start=start, stop=start + len(exact))
    found = text.find(collapsed(exact.strip(f"…{WHITE_SPACE}").removesuffix("...").removeprefix("...")))
    return Passage(start=found[0], stop=found[1]) if found else None
