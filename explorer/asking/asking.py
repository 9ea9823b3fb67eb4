"""Asking: the engine's recall, where its citations stand, who writes the answer, and what was read besides."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from explorer.asking.answered import Answered, By, Sentence
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
)
from explorer.contract.model import collapsed
from explorer.contract.query import MAX_GET_IDS
from explorer.engines.sqlite.days import written

log = logging.getLogger(__name__)

DEFAULT_LIMIT = 8

_MODES = (FetchMode.HYBRID, FetchMode.VECTOR, FetchMode.KEYWORD)
"""Best first."""
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
    filter = MetaFilter() if filter is None else filter
    answer = await engine.recall(RecallRequest(question=question, filter=filter, limit=limit))
    text, note = apart(answer.answer)
    citations = await _placed(engine, text, answer.citations, filter)
    reading = await _read(engine, question, filter, limit)
    cited = {citation.id for citation in citations}
    said = await _said(question, text, answer.model, citations, writer)
    return Answered(
        question=question,
        filter=filter,
        sentences=said.sentences,
        citations=citations,
        read_not_cited=tuple(hit for hit in reading.hits if hit.id not in cited),
        says_nothing=said.says_nothing,
        by=said.by,
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
            if _is_nothing(written.text) and not any(sentence.cites for sentence in sentences):
                return _Said((), True, By.ENDPOINT, written.model)
            return _Said(sentences, False, By.ENDPOINT, written.model)
    if not citations and _is_nothing(answer):
        return _Said((), True, By.ENGINE, model, error)
    sentences = await asyncio.to_thread(by_quotes, answer, [citation.snippet for citation in citations])
    return _Said(sentences, False, By.ENGINE, model, error)


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
    return _Reading(page.hits)


# --- where the citations stand ---


async def _placed(
    engine: MemoryEngine, answer: str, citations: Sequence[Citation], filter: MetaFilter
) -> tuple[Citation, ...]:
    """The citations with their places, and with what else the answer quotes of their items.

    Where the engine does not tell all of that, it is asked for the items.
    """
    known = {collapsed(citation.snippet) for citation in citations}
    answer_order = [quote for quote in quotes_in(answer) if quote not in known]
    others = list(dict.fromkeys(answer_order))
    is_known = not others and all(citation.place is not None for citation in citations)
    texts = {} if is_known else await _texts(engine, [citation.id for citation in citations], filter)
    placed: list[Citation] = []
    further: list[Citation] = []
    for citation in citations:
        text = texts.get(citation.id)
        if text is None:
            placed.append(citation)
            continue
        place = citation.place or place_of(citation.snippet, text)
        placed.append(citation.model_copy(update={"place": place}))
        for quote in list(others):
            if (found := place_of(quote, text)) is not None:
                others.remove(quote)
                snippet = text[found.start : found.stop]
                further.append(citation.model_copy(update={"snippet": snippet, "place": found}))
    # In the order of the answer, so that its numbers go up.
    further.sort(key=lambda citation: answer_order.index(collapsed(citation.snippet)))
    return (*placed, *further)


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
    wanted = snippet.strip()
    start = text.find(wanted) if wanted else -1
    if start >= 0:
        return Passage(start=start, stop=start + len(wanted))
    words = wanted.strip("… ").removesuffix("...").removeprefix("...").split()
    found = re.search(r"\s+".join(map(re.escape, words)), text) if words else None
    return Passage(start=found.start(), stop=found.end()) if found else None
