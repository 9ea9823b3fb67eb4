"""Whether each call keeps to the nodes that a reach admits, and out of sandboxes."""

from __future__ import annotations

from collections.abc import Iterable

from explorer.contract.conformance.session import Group, Session, admitting, same
from explorer.contract.errors import Unsupported
from explorer.contract.facets import Facet
from explorer.contract.items import ItemId, StoreItem
from explorer.contract.meta import MetaFilter
from explorer.contract.namespace import Namespace, Reach, Segment, SegmentKind
from explorer.contract.query import ExploreRequest, ForgetTarget, GetRequest, ListRequest

_TAG = "namespaces"


class _Places:
    """Five items at five nodes: the root, A and its sibling B, S below A, and J, a sandbox below A."""

    def __init__(self, session: Session) -> None:
        a, b = session.node("a"), session.node("b")
        self.nodes = {
            "root": Namespace.ROOT,
            "A": a,
            "B": b,
            "S": a.child(Segment(SegmentKind.AGENT, "scout")),
            "J": session.sandbox,
        }
        labels = {"root": "root", "A": "same", "B": "same", "S": "scout", "J": "job"}
        self.items: list[StoreItem] = [
            session.fact(f"{session.marker} {labels[name]} shared fact", 0.9, namespace=node, tags=[_TAG])
            for name, node in self.nodes.items()
        ]
        self.filter = session.narrowed(tags_any=[_TAG])
        self.ids: dict[str, ItemId] = {}

    def named(self, ids: Iterable[ItemId]) -> list[str]:
        names = {id: name for name, id in self.ids.items()}
        return [names.get(id, id) for id in ids]

    def reaches(self) -> list[tuple[str, Reach, list[str]]]:
        """What each reach is called, the reach, and the items that it shows."""
        of, exact, subtree, at = Reach.of, Reach.exact, Reach.subtree, self.nodes
        return [
            ("A and above", of(at["A"]), ["root", "A"]),
            ("B and above", of(at["B"]), ["root", "B"]),
            ("S and above", of(at["S"]), ["root", "A", "S"]),
            ("the root and above", of(at["root"]), ["root"]),
            ("A alone", exact(at["A"]), ["A"]),
            ("A and below", subtree(at["A"]), ["A", "S"]),
            ("the root and below", subtree(at["root"]), ["root", "A", "B", "S"]),
            ("J alone", exact(at["J"]), ["J"]),
            ("J and below", subtree(at["J"]), ["J"]),
            ("J and above", of(at["J"]), ["root", "A", "J"]),
        ]


async def _make(session: Session) -> None:
    engine, places = session.engine, _Places(session)
    receipts = await session.served(44, engine.store_many(places.items))
    places.ids = {name: receipt.id for name, receipt in zip(places.nodes, receipts, strict=True)}
    session.expect(44, places.ids["A"] != places.ids["B"], "the same text at two nodes got one id")

    async def listed(number: int, reach: Reach | None) -> list[str]:
        return places.named(await session.list_ids(number, admitting(places.filter, reach)))

    async def expect_listed(number: int, what: str, reach: Reach, wanted: list[str]) -> None:
        names = await listed(number, reach)
        session.expect(number, same(names, wanted), f"{what} lists {', '.join(names) or 'nothing'}")

    for what, reach, wanted in places.reaches():
        await expect_listed(45, what, reach, wanted)
    session.expect(46, "J" not in await listed(46, None), "a listing without a reach enters a sandbox")

    await _check_export(session, places)
    await _check_reads(session, places)
    await _check_forgets(session, places)

    everything = Reach.subtree(Namespace.ROOT)
    exactly_b = admitting(places.filter, Reach.exact(places.nodes["B"]))
    report = await session.served(53, engine.forget(ForgetTarget(filter=exactly_b)))
    session.expect(53, report.forgotten == 1, f"forgetting at B alone removed {report.forgotten}")
    await expect_listed(54, "the root and below, without B,", everything, ["root", "A", "S"])
    report = await session.served(55, engine.forget(ForgetTarget(ids=[places.ids["J"]])))
    session.expect(55, report.forgotten == 1, f"forgetting J by id removed {report.forgotten}")
    await expect_listed(56, "J alone, forgotten,", Reach.exact(places.nodes["J"]), [])
    below_a = Reach.subtree(places.nodes["A"])
    report = await session.served(57, engine.forget_within([places.ids["S"], places.ids["root"]], below_a))
    session.expect(57, report.forgotten == 1, f"forgetting S and the root's item within A removed {report.forgotten}")
    await expect_listed(58, "the root and below, in the end,", everything, ["root", "A"])


async def _check_export(session: Session, places: _Places) -> None:
    async def exported(filter: MetaFilter) -> list[str] | None:
        def ask(cursor: str | None) -> ListRequest:
            return ListRequest(filter=filter, limit=2, cursor=cursor)

        first = await session.served_unless(47, Unsupported, session.engine.export(ask(None)))
        if first is None:
            return None
        pages = await session.pages(47, lambda cursor: session.engine.export(ask(cursor)), first)
        return places.named(one.id for page in pages for one in page.items)

    below_a, at_j = Reach.subtree(places.nodes["A"]), Reach.exact(places.nodes["J"])
    for what, reach, is_there in (("no reach", None, False), ("A and below", below_a, False), ("J", at_j, True)):
        names = await exported(admitting(places.filter, reach))
        if names is not None:
            session.expect(47, ("J" in names) == is_there, f"the export of {what} holds {', '.join(names)}")
    session.expect(47, True, "")  # an engine need not export


async def _check_reads(session: Session, places: _Places) -> None:
    got = await session.served(
        48, session.engine.get(GetRequest(ids=[*places.ids.values()], reach=Reach.of(places.nodes["B"])))
    )
    names = places.named(hit.id for hit in got)
    session.expect(48, names == ["root", "B"], f"get within B and above found {', '.join(names) or 'nothing'}")
    for mode in session.modes(49)[:1]:
        near_a = admitting(places.filter, Reach.of(places.nodes["A"]))
        names = places.named(await session.fetch_ids(49, session.marker, mode, near_a, 20))
        session.expect(49, set(names) <= {"root", "A"}, f"{mode} fetch within A and above found {', '.join(names)}")
        wording = f"{session.marker} job shared fact"
        names = places.named(await session.fetch_ids(50, wording, mode, places.filter, 20))
        session.expect(50, "J" not in names, f"{mode} fetch without a reach enters a sandbox")
    page = await session.served(
        51, session.engine.explore(ExploreRequest(facet=Facet.NAMESPACE, filter=places.filter, limit=10))
    )
    counts = {bucket.value: bucket.count for bucket in page.buckets}
    wanted = {str(places.nodes[name]): 1 for name in ("root", "A", "B", "S")}
    session.expect(51, counts == wanted, f"counted by node: {counts}")


async def _check_forgets(session: Session, places: _Places) -> None:
    beyond = [places.ids[name] for name in ("A", "S", "J")]
    report = await session.served(52, session.engine.forget_within(beyond, Reach.of(places.nodes["B"])))
    session.expect(52, report.forgotten == 0, f"forgetting within B and above removed {report.forgotten} beyond it")


GROUP = Group(
    "namespaces",
    {
        44: "The same text at two nodes is two items.",
        45: "Each reach lists exactly the nodes that it admits.",
        46: "A listing without a reach stays out of a sandbox.",
        47: "So does an export, unless its reach names the sandbox.",
        48: "A get leaves out what its reach does not admit.",
        49: "A fetch finds nothing beyond its reach.",
        50: "A fetch without a reach stays out of a sandbox.",
        51: "Counting by node finds each node but the sandbox.",
        52: "Forgetting ids within a reach removes none beyond it.",
        53: "Forgetting by a filter at one node removes that node's item.",
        54: "The other nodes keep theirs.",
        55: "Forgetting by id enters a sandbox.",
        56: "The sandbox is then empty.",
        57: "Forgetting ids within a reach removes those that it admits.",
        58: "What the reach does not admit stays.",
    },
    _make,
)
