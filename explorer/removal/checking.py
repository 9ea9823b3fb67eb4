"""What went, asked for again in every way that an engine can be asked."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from explorer.contract import (
    Citation,
    ExplorePage,
    ExploreRequest,
    Facet,
    FetchMode,
    FetchRequest,
    GetRequest,
    Hit,
    ItemId,
    MemoryEngine,
    MetaFilter,
    Namespace,
    Reach,
    RecallRequest,
    TinyMemoryError,
    Unsupported,
    is_blank,
)
from explorer.contract.engine import alike
from explorer.contract.model import collapsed, trimmed
from explorer.contract.query import MAX_BUCKETS, MAX_SCAN
from explorer.i18n import tr
from explorer.removal.forgetting import unexpected
from explorer.removal.outcome import Asked, Check, Outcome, Phase, Step
from explorer.removal.patience import Control, Halted, Patience
from explorer.removal.plan import Plan
from explorer.removal.preview import Preview, listed
from explorer.transfer import FileError, by_sandbox

_FETCHED = 20
_RECALLS = 5
_QUERY = 500
"""The most characters of a text that are asked for: more of them find nothing more, and some engines refuse them."""
QUOTED = 60
"""Characters in a row of an item that are no chance.

Of 40, one in thirty pairs of LoCoMo's conversations has some in common, pleasantries; of 60, one in five hundred.
"""
_REPEATED = 40
"""Characters in a row of an answer that are no chance where nothing cited has them."""
_COMPARED = 4_000
_STILL = 20
_LISTED_ANEW = 3

log = logging.getLogger(__name__)

Ask = Callable[[], Awaitable[None]]


@dataclass
class _Line:
    """A Check in the making."""

    asked: Asked
    mode: FetchMode | None = None
    questions: list[Ask] = field(default_factory=list)
    answered: int = 0
    """Ids, facets, texts or filters that there was an answer to."""
    found: dict[ItemId, Hit] = field(default_factory=dict)
    found_more: int = 0
    """Items that were counted, and not named."""
    quoting: dict[ItemId, Hit] = field(default_factory=dict)
    quoted_by_none: int = 0
    """Answers that hold removed words, and name no item that does."""
    is_offered: bool = True
    error: str | None = None

    def check(self) -> Check:
        return Check(
            self.asked,
            self.mode,
            self.answered,
            len(self.found) + self.found_more,
            (*self.found.values(), *self.quoting.values())[:_STILL],
            len(self.quoting) + self.quoted_by_none,
            self.error,
        )


class Checking:
    """The questions about `gone`, of what was planned by `preview`."""

    def __init__(
        self,
        engine: MemoryEngine,
        plan: Plan,
        preview: Preview,
        gone: Collection[ItemId],
        control: Control,
        patience: Patience,
    ) -> None:
        self.there: dict[ItemId, None] = {}
        """Those of `gone` that are there all the same: they were listed, or got."""
        self._engine = engine
        self._preview = preview
        self._gone = frozenset(gone)
        self._control = control
        self._patience = patience
        self._others: dict[int, int] = {}
        """By filter: how many items that did not go it lists."""
        self._texts = [hit for hit in preview.texts if hit.id in self._gone and not is_blank(hit.text)]
        self._filters = list(plan.filters)
        if not self._filters:
            narrow = [_narrow(hit) for hit in preview.texts if hit.id in self._gone]
            self._filters = list({filter.model_dump_json(): filter for filter in narrow}.values())

    async def run(self, outcome: Outcome) -> AsyncGenerator[Step, None]:
        """Ask, telling before each question; each finished line is added to the outcome's checks.

        Once it is stopped, or left, what was not asked by then is a check with an error. Of a recall that the engine
        does not offer there is no check.
        """
        lines = self._lines()
        total = sum(len(line.questions) for line in lines)
        done = 0
        try:
            for line in lines:
                for ask in line.questions:
                    yield Step(Phase.CHECKING, done, total, None, outcome)
                    async with contextlib.aclosing(self._patiently(line, ask)) as waiting:
                        async for why in waiting:
                            yield Step(Phase.CHECKING, done, total, why, outcome)
                    done += 1
                if not line.questions:  # nothing was found, but nothing was asked either
                    line.error = tr("no text of what went was kept that could be asked with")
                if line.is_offered:
                    outcome.checks.append(line.check())
        finally:
            for line in (line for line in lines[len(outcome.checks) :] if line.is_offered):  # which the last may not be
                line.error = line.error or _not_asked()
                outcome.checks.append(line.check())

    async def _patiently(self, line: _Line, ask: Ask) -> AsyncGenerator[str, None]:
        """Ask one question, unless one of its line failed; tell why nothing happens while the engine is busy."""
        if line.error is not None or not line.is_offered:
            return
        if self._control.is_stopped:
            line.error = _not_asked()
            return
        try:
            async with contextlib.aclosing(self._patience.ask(ask)) as waiting:
                async for why in waiting:
                    yield why
        except FileError:  # the receipt's
            raise
        except Halted:
            line.error = _not_asked()
        except Unsupported as error:
            # What is not offered cannot answer; but what the engine declares, or did once, it has to.
            if line.asked is Asked.RECALL and not line.answered:
                line.is_offered = False
            else:
                line.error = error.text
        except TinyMemoryError as error:
            line.error = error.text
        except Exception as error:
            log.exception("asking again failed")
            line.error = unexpected(error)

    def _lines(self) -> list[_Line]:
        lines = [_Line(asked) for asked in (Asked.LIST, Asked.GET, Asked.EXPLORE)]
        listing, getting, exploring = lines
        for at in range(len(self._filters)):
            listing.questions.append(partial(self._list, listing, at))
            exploring.questions.append(partial(self._explore, exploring, at))
        for req in by_reach(self._preview, self._gone):
            getting.questions.append(partial(self._get, getting, req))
        for mode in dict.fromkeys(self._engine.descriptor().fetch_modes):
            line = _Line(Asked.FETCH, mode)
            for hit in self._texts:
                line.questions.append(partial(self._fetch, line, hit))
            lines.append(line)
        recalling = _Line(Asked.RECALL)
        for hit in self._texts[:: max(1, len(self._texts) // _RECALLS)][:_RECALLS]:
            recalling.questions.append(partial(self._recall, recalling, hit))
        return [*lines, recalling]

    async def _list(self, line: _Line, at: int) -> None:
        others: set[ItemId] = set()  # pages may repeat items
        async with contextlib.aclosing(listed(self._engine, self._filters[at])) as pages:
            async for hits in pages:
                self._note(line, hits)
                others.update(hit.id for hit in hits if hit.id not in self._gone)
        line.answered += 1
        self._others[at] = len(others)

    async def _get(self, line: _Line, req: GetRequest) -> None:
        self._note(line, await self._engine.get(req))
        line.answered += len(req.ids)

    async def _explore(self, line: _Line, at: int) -> None:
        more, is_all = await self._counted_more(at)
        for _ in range(_LISTED_ANEW):
            if more <= 0:
                break
            await self._list(_Line(Asked.LIST), at)  # items may have come since the listing
            more, is_all = await self._counted_more(at)
        line.answered += len(Facet)
        line.found_more += max(0, more)
        if not is_all and not line.found_more:
            line.error = tr("the engine counted only a part of what is there")

    async def _counted_more(self, at: int) -> tuple[int, bool]:
        """How many more items the facets count than are listed, of those that did not go; and whether that is all."""
        if at not in self._others:
            await self._list(_Line(Asked.LIST), at)
        pages = await self._engine.explore_many(
            [
                ExploreRequest(facet=facet, filter=self._filters[at], limit=MAX_BUCKETS, scan_limit=MAX_SCAN)
                for facet in Facet
            ]
        )
        return max(map(_counted, pages)) - self._others[at], not any(page.truncated for page in pages)

    async def _fetch(self, line: _Line, hit: Hit) -> None:
        assert line.mode is not None
        page = await self._engine.fetch(
            FetchRequest(query=trimmed(hit.text)[:_QUERY], mode=line.mode, filter=_where(hit), limit=_FETCHED)
        )
        line.answered += 1
        self._note_ranked(line, page.hits)

    async def _recall(self, line: _Line, hit: Hit) -> None:
        text = collapsed(trimmed(hit.text)[:_COMPARED])
        # The first half of it, so that an answer that holds the rest has it from what is stored.
        question = text[: min(len(text) // 2, _QUERY)] if len(text) >= 2 * _REPEATED else text
        answer = await self._engine.recall(RecallRequest(question=question, filter=_where(hit), limit=_FETCHED))
        line.answered += 1
        cited = [_hit_of(citation) for citation in answer.citations]
        self._note_ranked(line, cited)
        others = [each for each in cited if each.id not in self._preview.ids]
        line.quoting.update({each.id: each for each in others if shares(text, each.text, QUOTED)})
        # An engine may repeat the question, and one that cites the quoted item has said where it has the words from.
        said = collapsed(answer.answer).replace(question, "\0")
        is_cited = len(others) < len(cited) or any(shares(text, each.text, _REPEATED) for each in others)
        if not is_cited and shares(text, said, _REPEATED):
            line.quoted_by_none += 1

    def _note(self, line: _Line, hits: list[Hit]) -> None:
        for hit in hits:
            if hit.id in self._gone:
                line.found.setdefault(hit.id, hit)
                self.there[hit.id] = None

    def _note_ranked(self, line: _Line, hits: list[Hit]) -> None:
        for hit in hits:
            if hit.id in self._gone:
                line.found.setdefault(hit.id, hit)


def _not_asked() -> str:
    return tr("it was stopped before this was asked")


async def still_there(engine: MemoryEngine, preview: Preview, ids: Collection[ItemId]) -> set[ItemId]:
    """Which of `ids`, all of them previewed, the engine still has. Raises its errors."""
    found: set[ItemId] = set()
    for req in by_reach(preview, ids):
        found |= {hit.id for hit in await engine.get(req)}
    return found.intersection(ids)


def by_reach(preview: Preview, ids: Collection[ItemId]) -> Iterator[GetRequest]:
    """What to ask to get `ids`, sandboxed ones in their own sandbox."""
    wanted = frozenset(ids)
    boxes = {id: box for box, inside in preview.sandboxed.items() for id in inside}
    nodes = {id: boxes.get(id, Namespace.ROOT) for id in preview.ids if id in wanted}
    for reach, group in by_sandbox(nodes):
        yield GetRequest(ids=group, reach=reach)


def shares(text: str, other: str, least: int) -> bool:
    """Whether some `least` characters in a row of `text` are in `other`, white space apart."""
    text, other = collapsed(text), collapsed(other)
    half = least // 2
    for start in range(0, len(text) - half + 1, half):  # `least` in a row hold one of these whole
        piece = text[start : start + half]
        at = other.find(piece)
        while at >= 0:
            before = _alike(text[:start][::-1], other[max(0, at - least) : at][::-1])
            after = _alike(text[start + half :], other[at + half : at + half + least])
            if before + half + after >= least:
                return True
            at = other.find(piece, at + 1)
    return False


def _alike(one: str, other: str) -> int:
    """How many characters both begin with."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _counted(page: ExplorePage) -> int:
    """How many items a facet speaks of; an item may have several tags."""
    if page.facet is Facet.TAG:
        return page.total
    return max(page.total, page.missing + sum(bucket.count for bucket in page.buckets))


def _narrow(hit: Hit) -> MetaFilter:
    """The filter that admits the item and as few others as can be."""
    filter = alike(hit)
    at = hit.meta.observed_at
    if at is not None:
        with contextlib.suppress(OverflowError):  # the last moment there is has none after it
            return filter.model_copy(update={"observed_before": at + timedelta(microseconds=1)})
    return filter


def _where(hit: Hit) -> MetaFilter:
    """Where an ordinary read finds the item: without any condition, but for its sandbox."""
    sandbox = hit.meta.namespace.sandbox
    return MetaFilter() if sandbox is None else MetaFilter(reach=Reach.subtree(sandbox))


def _hit_of(citation: Citation) -> Hit:
    return Hit(id=citation.id, kind=citation.kind, text=citation.snippet, meta=citation.meta, score=citation.score or 0)
