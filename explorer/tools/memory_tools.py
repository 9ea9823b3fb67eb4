"""The seven tools by which a model calls a memory, within what its host allows.

Source: memory-v2, "Tools".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from explorer.contract import (
    Conversation,
    Document,
    DocumentBody,
    ExploreRequest,
    FetchRequest,
    ForgetReport,
    ForgetTarget,
    GetRequest,
    InvalidRequest,
    Learning,
    LearningKind,
    ListRequest,
    MemoryEngine,
    MemoryMeta,
    Namespace,
    Reach,
    RecallRequest,
    Role,
    SourceKind,
    SourceRef,
    StoreItem,
    Timestamp,
    Turn,
    Unsupported,
    wire,
)
from explorer.tools import results
from explorer.tools.arguments import Arguments, shown
from explorer.tools.scope import ToolScope
from explorer.tools.specs import (
    DEFAULT_CONFIDENCE,
    DEFAULT_LEARNING,
    EXPLORE,
    FACETS,
    FETCH,
    FORGET,
    GET,
    LIST,
    RECALL,
    STORE,
    TOOL_NAMES,
    WRITE_TOOL_NAMES,
    ToolSpec,
    default_mode,
    specs,
)

_SHAPES = ("learning", "document", "conversation")


class MemoryTools:
    """The tools over one engine under one scope. Calls may run at the same time; another scope is another object."""

    def __init__(
        self,
        engine: MemoryEngine,
        scope: ToolScope | None = None,
        *,
        clock: Callable[[], Timestamp] = Timestamp.now_utc,
    ) -> None:
        """`clock` tells the time at which something stored was observed."""
        self._engine = engine
        self._scope = scope or ToolScope.default()
        self._clock = clock

    @classmethod
    def new(cls, engine: MemoryEngine) -> MemoryTools:
        """Tools placed at the root, reading everything but the sandboxes, with writes."""
        return cls(engine)

    @classmethod
    def with_scope(cls, engine: MemoryEngine, scope: ToolScope) -> MemoryTools:
        return cls(engine, scope)

    def placed_at(self, place: Namespace) -> MemoryTools:
        """Tools that write at `place` and read it and its ancestors; a reach that was set before is lost."""
        return self._scoped(ToolScope(place, Reach.of(place), self._scope.writes))

    def reach(self, reach: Reach | None) -> MemoryTools:
        """Tools that read, and forget within, `reach`; they write where they did."""
        return self._scoped(ToolScope(self._scope.place, reach, self._scope.writes))

    def read_only(self) -> MemoryTools:
        return self._scoped(ToolScope(self._scope.place, self._scope.reach, writes=False))

    def scope(self) -> ToolScope:
        return self._scope

    def _scoped(self, scope: ToolScope) -> MemoryTools:
        return MemoryTools(self._engine, scope, clock=self._clock)

    def specs(self) -> list[ToolSpec]:
        """The tools that `call` takes, in their order: without writes where they are off, without an unserved fetch."""
        return specs(self._engine.descriptor().fetch_modes, writes=self._scope.writes)

    async def call(self, name: str, arguments: object = None) -> str:
        """Run one tool with a model's arguments, parsed from JSON (None: none given); the result is compact JSON.

        Raises InvalidRequest for an unknown tool and for arguments it does not take, Unsupported for a write tool
        without writes and for a fetch that the engine does not serve, and what the engine raises, unchanged.
        """
        run = self._tools().get(name)
        if run is None:
            raise InvalidRequest(f"unknown tool `{shown(name)}`; valid: {', '.join(TOOL_NAMES)}")
        if name in WRITE_TOOL_NAMES and not self._scope.writes:
            raise Unsupported(f"{name}: read-only")
        return await run(arguments)

    async def call_json(self, name: str, arguments: str | bytes) -> str:
        """As `call`, with arguments still as JSON text, in which a repeated key or a NaN is refused as well."""
        try:
            parsed: Any = wire.loads(arguments)
        except wire.WireError as error:
            if name not in TOOL_NAMES or (name in WRITE_TOOL_NAMES and not self._scope.writes):
                return await self.call(name)  # which says so: that comes before any argument
            raise InvalidRequest(f"{name}: arguments must be a json object: {error}") from error
        return await self.call(name, parsed)

    def _tools(self) -> dict[str, Callable[[object], Awaitable[str]]]:
        return {
            RECALL: self._recall,
            FETCH: self._fetch,
            LIST: self._list,
            GET: self._get,
            EXPLORE: self._explore,
            STORE: self._store,
            FORGET: self._forget,
        }

    async def _recall(self, given: object) -> str:
        args = Arguments.of_call(RECALL, given, ("question", "filter", "limit", "instructions"))
        filter = self._scope.confined(args.filter())
        question, limit = args.required_text("question"), args.limit()
        request = RecallRequest(question=question, filter=filter, limit=limit, instructions=args.text("instructions"))
        return results.recall(await self._engine.recall(request))

    async def _fetch(self, given: object) -> str:
        descriptor = self._engine.descriptor()
        modes = descriptor.fetch_modes
        if not modes:
            raise Unsupported(f"{FETCH}: engine `{descriptor.id}` serves no fetch mode")
        args = Arguments.of_call(FETCH, given, ("query", "mode", "filter", "limit", "cursor"))
        filter = self._scope.confined(args.filter())
        query = args.required_text("query")
        mode, limit = args.choice("mode", modes, default_mode(modes)), args.limit()
        request = FetchRequest(query=query, mode=mode, filter=filter, limit=limit, cursor=args.text("cursor"))
        return results.fetch(await self._engine.fetch(request))

    async def _list(self, given: object) -> str:
        args = Arguments.of_call(LIST, given, ("filter", "limit", "cursor"))
        filter = self._scope.confined(args.filter())
        request = ListRequest(filter=filter, limit=args.limit(), cursor=args.text("cursor"))
        return results.listing(await self._engine.list(request))

    async def _get(self, given: object) -> str:
        ids = Arguments.of_call(GET, given, ("ids",)).ids()
        hits = await self._engine.get(GetRequest(ids=ids, reach=self._scope.reach))
        return results.get(ids, hits)

    async def _explore(self, given: object) -> str:
        args = Arguments.of_call(EXPLORE, given, ("facet", "filter", "limit"))
        facet, limit = args.choice("facet", FACETS), args.limit()
        request = ExploreRequest(facet=facet, filter=self._scope.confined(args.filter()), limit=limit)
        return results.explore(await self._engine.explore(request))

    async def _store(self, given: object) -> str:
        args = Arguments.of_call(STORE, given, (*_SHAPES, "tags"))
        return results.store(await self._engine.store(self._item(args)))

    def _item(self, args: Arguments) -> StoreItem:
        shapes = [shape for shape in _SHAPES if shape in args]
        if len(shapes) != 1:
            args.refuse("pass exactly one of `learning`, `document` or `conversation`")
        meta = MemoryMeta(
            namespace=self._scope.place,
            source=SourceRef(kind=SourceKind.AGENT),
            tags=args.texts("tags"),
            observed_at=self._clock(),
        )
        match shapes[0]:
            case "learning":
                return _learning(args.object("learning", ("text", "learning_kind", "confidence", "evidence")), meta)
            case "document":
                return _document(args.object("document", ("title", "text")), meta)
            case _:
                return _conversation(args.object("conversation", ("turns",)), meta)

    async def _forget(self, given: object) -> str:
        args = Arguments.of_call(FORGET, given, ("ids", "filter"))
        if ("ids" in args) == ("filter" in args):
            args.refuse("pass exactly one of `ids` or `filter`")
        if "filter" in args:
            filter = args.filter()
            if filter.is_empty():
                args.refuse("`filter` must set at least one field; an empty filter would mean everything")
            return results.forget(await self._engine.forget(ForgetTarget(filter=self._scope.confined(filter))), [])
        ids = args.ids()
        # An engine does not confine a forget by id, so that only what the tools can read goes to it.
        hits = await self._engine.get(GetRequest(ids=ids, reach=self._scope.reach))
        skipped = results.without(ids, hits)
        found = [id for id in ids if id not in skipped]
        report = await self._engine.forget(ForgetTarget(ids=found)) if found else ForgetReport(forgotten=0)
        return results.forget(report, skipped)


def _learning(args: Arguments, meta: MemoryMeta) -> Learning:
    text = args.required_text("text")
    kind = args.choice("learning_kind", list(LearningKind), DEFAULT_LEARNING)
    confidence, evidence = args.share("confidence", DEFAULT_CONFIDENCE), args.text("evidence")
    return Learning(text=text, kind=kind, confidence=confidence, evidence=evidence, meta=meta)


def _document(args: Arguments, meta: MemoryMeta) -> Document:
    title = args.text("title")
    return Document(title=title, body=DocumentBody(text=args.required_text("text")), meta=meta)


def _conversation(args: Arguments, meta: MemoryMeta) -> Conversation:
    turns = []
    for turn in args.objects("turns", ("role", "text")):
        role = turn.choice("role", list(Role))
        turns.append(Turn(role=role, text=turn.required_text("text")))
    return Conversation(turns=turns, meta=meta)
