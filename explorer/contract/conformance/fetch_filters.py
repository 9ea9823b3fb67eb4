"""Whether each field of the filter is honoured, by every declared mode and by listing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from explorer.contract.conformance.session import Group, Session, same
from explorer.contract.items import Conversation, Document, DocumentBody, Learning, LearningKind, Role, StoreItem, Turn
from explorer.contract.meta import ItemKind, MemoryMeta, MetaFilter, SourceKind

_LIMIT = 50


@dataclass(frozen=True)
class _Probe:
    """An item that differs from the others in one field, and the filter that finds it by that field alone."""

    field: str
    item: StoreItem
    filter: MetaFilter


def _probes(session: Session) -> list[_Probe]:
    marker = session.marker

    def document(label: str, meta: MemoryMeta) -> StoreItem:
        return Document(body=DocumentBody(text=f"{marker} {label} note"), meta=meta)

    def conversation(label: str, meta: MemoryMeta) -> StoreItem:
        # Short on purpose: by trigrams the whole text must still be near the marker alone.
        question = Turn(role=Role.USER, text=f"{marker} {label} question")
        return Conversation(turns=[question, Turn(role=Role.ASSISTANT, text=f"{label} answer")], meta=meta)

    def learning(label: str, meta: MemoryMeta) -> StoreItem:
        return Learning(text=f"{marker} {label} learning", kind=LearningKind.FACT, confidence=0.5, meta=meta)

    makers = {"thread_id": conversation, "turns": conversation, "kinds": learning}

    def probe(field: str, held: dict[str, object], wanted: object) -> _Probe:
        meta = MemoryMeta.model_validate({"workspace": session.probe_workspace, **held})
        conditions = wanted if isinstance(wanted, dict) else {field: wanted}
        return _Probe(
            field,
            makers.get(field, document)(field, meta),
            MetaFilter.model_validate({"workspace": session.probe_workspace, **conditions}),
        )

    def equal(field: str, value: object) -> _Probe:
        return probe(field, {field: value}, {field: value})

    return [
        probe("folder", {"folder": f"/{marker}/src/app"}, f"/{marker}/src"),
        probe("file_path", {"file_path": f"/{marker}/docs/guide.md"}, f"/{marker}/docs"),
        equal("language", f"{marker}-lang"),
        equal("repo", f"owner/{marker}"),
        equal("commit", f"{marker}c0ffee"),
        equal("url", f"https://{marker}.test/a"),
        equal("thread_id", f"{marker}-t1"),
        equal("turns", {"first": 4, "last": 5}),
        equal("agent_id", f"{marker}-agent"),
        probe("tool_call", {"tool_call": {"name": f"{marker}_tool"}}, f"{marker}_tool"),
        # Two kinds of source, else the filter by kind would find both of these.
        probe("source_id", {"source": {"kind": SourceKind.FILE, "id": f"{marker}-src"}}, f"{marker}-src"),
        probe("sources", {"source": {"kind": SourceKind.RSS}}, [SourceKind.RSS]),
        probe("tags_any", {"tags": [f"{marker}-tag"]}, [f"{marker}-none", f"{marker}-tag"]),
        probe("kinds", {}, [ItemKind.LEARNING]),
        probe(
            "observed_at",
            {"observed_at": "2001-01-01T00:00:00Z"},
            {"observed_after": "2000-01-01T00:00:00Z", "observed_before": "2002-01-01T00:00:00Z"},
        ),
    ]


async def _make(session: Session) -> None:
    probes = _probes(session)
    ids = {probe.field: await session.store(40, probe.item) for probe in probes}
    labels: dict[str, str] = {id: field for field, id in ids.items()}
    modes = session.modes(40)

    def named(found: Iterable[str]) -> str:
        return ", ".join(labels.get(id, id) for id in found) or "nothing"

    for probe in probes:
        for mode in modes:
            found = await session.fetch_ids(40, session.marker, mode, probe.filter, _LIMIT)
            session.expect(
                40, found == [ids[probe.field]], f"{mode} fetch by {probe.field} found {named(found)}, not its item"
            )
        listed = await session.list_ids(41, probe.filter)
        session.expect(41, listed == [ids[probe.field]], f"the list by {probe.field} holds {named(listed)}")
    session.expect(40, True, "")  # an engine may declare no mode
    for mode in modes:
        found = await session.fetch_ids(42, session.marker, mode, session.probe_filter, _LIMIT)
        session.expect(42, same(found, ids.values()), f"{mode} fetch by workspace alone found {named(found)}")
    session.expect(42, True, "")


GROUP = Group(
    "fetch_filters",
    {
        40: "Each declared mode finds by each field of the filter exactly the item that has it.",
        41: "A listing by each field holds exactly that item.",
        42: "Each declared mode finds every probe by the workspace alone.",
    },
    _make,
)
