"""A question with all that its answer needs to be shown, and how it reads. Free of Qt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import tzinfo
from enum import Enum, auto

from explorer import text
from explorer.asking import Answered, By, Given, Sentence, WriterStore, Written, ask
from explorer.asking.told import MARK_WORDS
from explorer.conditions import conditions
from explorer.contract import (
    Citation,
    ConfigError,
    EngineHealth,
    GetRequest,
    Hit,
    ItemId,
    MemoryEngine,
    MetaFilter,
    Namespace,
    Reach,
    TinyMemoryError,
)
from explorer.contract.query import MAX_GET_IDS
from explorer.i18n import tr, tr_n
from explorer.ui.headline import headline
from explorer.ui.item_questions import NONE, count_of, end_if_cancelled, stored_in

_SCOPE_CHARS = 120  # of one condition's value
_TITLE_CHARS = 200
_MODEL_CHARS = 120


class Nothing(Enum):
    """Why there is no answer."""

    STORED = auto()
    """Nothing is stored."""
    SANDBOXED = auto()
    """Nothing is stored outside sandboxes."""
    ADMITTED = auto()
    """The filter admits no item."""
    SAID = auto()
    """There are items, and none of them answers."""


@dataclass(frozen=True)
class Reply:
    """An answer, what its sources are called, and where there is none, why."""

    answered: Answered
    titles: Mapping[ItemId, str] = field(default_factory=dict)
    nothing: Nothing | None = None
    health: EngineHealth | None = None
    """What the engine says of itself, where nothing answers."""
    address: str = ""
    """Where a model wrote it; "" where the engine did."""
    writer_error: str = ""
    """Why no model wrote it although one was to, as a sentence part."""


async def ask_all(engine: MemoryEngine, question: str, filter: MetaFilter, writers: WriterStore | None) -> Reply:
    """Ask, then for what the sources are called, or why there is no answer. Raises what `ask` raises.

    `writers` tells whether a model writes the answer; None where the engine does.
    """
    writer, error = await _writer(writers)
    end_if_cancelled()
    answered = await ask(engine, question, filter, writer=writer)
    end_if_cancelled()
    titles = await titles_of(engine, answered.citations)
    nothing = health = None
    if answered.says_nothing:
        with suppress(TinyMemoryError):  # that nothing answers was said all the same
            health = await engine.health()
        end_if_cancelled()
        nothing = await _why_nothing(engine, answered)
    address = writer.place if writer is not None and answered.by is By.ENDPOINT else ""
    return Reply(answered, titles, nothing, health, address, answered.writer_error or error)


class _Current:
    """The endpoint that is set when it comes to writing: while an engine looks, it may be turned off or moved."""

    def __init__(self, writers: WriterStore) -> None:
        self._writers = writers
        self.place = ""
        """Where it wrote."""

    async def write(self, question: str, passages: Sequence[Given]) -> Written:
        writer = await asyncio.to_thread(self._writers.writer)
        if writer is None:
            raise ConfigError(tr("it was turned off meanwhile"))
        self.place = writer.place
        return await writer.write(question, passages)


async def _writer(writers: WriterStore | None) -> tuple[_Current | None, str]:
    """Who writes, else why nobody does although one was to."""
    if writers is None:
        return None, ""
    try:
        is_on = await asyncio.to_thread(writers.writer) is not None
    except ConfigError as error:
        return None, error.text
    return _Current(writers) if is_on else None, ""


async def _why_nothing(engine: MemoryEngine, answered: Answered) -> Nothing:
    if answered.read_not_cited or answered.citations:
        return Nothing.SAID
    try:
        if await count_of(engine, answered.filter) != NONE:
            return Nothing.SAID
        if not answered.filter.is_empty():
            return Nothing.ADMITTED
        stored = await stored_in(engine)
    except TinyMemoryError:  # what is known is what was said
        return Nothing.SAID
    return Nothing.SANDBOXED if stored.sandboxed != NONE else Nothing.STORED


async def titles_of(engine: MemoryEngine, citations: Iterable[Citation]) -> dict[ItemId, str]:
    """What the items of citations are called; without those that the engine cannot give."""
    titles: dict[ItemId, str] = {}
    try:
        async for hits in _stored(engine, ((citation.id, citation.meta.namespace) for citation in citations)):
            titles |= {hit.id: headline(hit).name[:_TITLE_CHARS] for hit in hits}
    except TinyMemoryError:
        pass  # they are known by their passages then
    return titles


async def gone_of(engine: MemoryEngine, answers: Iterable[Answered]) -> set[ItemId]:
    """Which items of these answers are no longer stored."""
    held: dict[ItemId, Namespace] = {}
    for answered in answers:
        held |= {citation.id: citation.meta.namespace for citation in answered.citations}
        held |= {hit.id: hit.meta.namespace for hit in answered.read_not_cited}
    kept: set[ItemId] = set()
    async for hits in _stored(engine, held.items()):
        kept.update(hit.id for hit in hits)
    return held.keys() - kept


async def _stored(engine: MemoryEngine, wanted: Iterable[tuple[ItemId, Namespace]]) -> AsyncIterator[list[Hit]]:
    """The items that are stored, node by node: without a reach those in sandboxes would not be found."""
    at: dict[str, tuple[Namespace, dict[ItemId, None]]] = {}
    for id, node in wanted:
        at.setdefault(str(node), (node, {}))[1][id] = None
    for node, ids in at.values():
        every = list(ids)
        for start in range(0, len(every), MAX_GET_IDS):
            yield await engine.get(GetRequest(ids=every[start : start + MAX_GET_IDS], reach=Reach.exact(node)))
            end_if_cancelled()


def hit_of(citation: Citation) -> Hit:
    """The item of a citation, as far as that tells, to be opened."""
    return Hit(id=citation.id, kind=citation.kind, text=citation.snippet, meta=citation.meta, score=0.0)


def scope_words(filter: MetaFilter, zone: tzinfo) -> str:
    """The conditions of a filter in one line, as its chips have them; "" for none."""
    return text.listed(
        f"{one.words} {one.drawn or text.isolate(text.shown(one.value, _SCOPE_CHARS))}"
        for one in conditions(filter, zone)
    )


def why_marked(sentence: Sentence) -> str:
    """Why a sentence is not to be trusted as it stands; "" where it is."""
    if sentence.mark is None:
        return ""
    return tr(MARK_WORDS[sentence.mark], share=text.share(sentence.support, 1.0))


def by_words(answered: Answered, address: str) -> str:
    """Who put the answer into words, from how much, and how long it took."""
    model = text.inline(answered.model or "", _MODEL_CHARS)
    if answered.by is By.ENDPOINT:
        said = tr("Written by {model} at {address}", model=model or tr("a model"), address=text.inline(address))
    elif answered.by is By.SERVER:
        said = tr("Written by {model} at the server of the memory", model=model or tr("a model"))
    else:
        said = tr("Put together by the engine, in the words of what is stored")
    return text.listed((said, text.duration(answered.elapsed_s)))


def cited_words(number: int, title: str) -> str:
    """What a citation's button is called."""
    return text.named(tr("Citation {n}", n=number), title)


def not_cited_words(n: int) -> str:
    return tr_n("Read and not cited ({n})", "Read and not cited ({n})", n, n=text.number(n))
