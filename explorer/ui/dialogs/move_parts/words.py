"""A move or a copy in words: what goes where, what stays, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator

from explorer import text
from explorer.contract import ItemId, Namespace
from explorer.i18n import tr, tr_n
from explorer.removal.moving import MoveOutcome, MovePreview, Way
from explorer.removal.plan import Plan, Target
from explorer.ui.dialogs.plan_parts.words import (
    LINES_MOST,
    NAME_CHARS,
    Line,
    Section,
    no_longer_stored,
    short,
    what,
)

_SHORT_NAME_CHARS = 60
_REASONS_MOST = 20

ShowIds = Callable[[str, list[ItemId]], Callable[[], None]]
"""Makes what shows these ids, under a sentence."""


def title(target: Target, is_copy: bool) -> str:
    """`Move team:acme and everything below it`."""
    if is_copy:
        # Translators: {what} is such as “3 chosen items”, “the whole tree”, “team:acme and everything below it”.
        return tr("Copy {what}", what=what(target))
    # Translators: {what} is such as “3 chosen items”, “the whole tree”, “team:acme and everything below it”.
    return tr("Move {what}", what=what(target))


def press(is_copy: bool, n: int) -> str:
    """What the button says that begins it."""
    if is_copy:
        return tr_n("Copy {n} item", "Copy {n} items", n, n=text.number(n))
    return tr_n("Move {n} item", "Move {n} items", n, n=text.number(n))


def promise(is_copy: bool) -> str:
    if is_copy:
        return tr("Read back whole where they go. Nothing is removed here.")
    return tr("Read back whole where they go, and only then removed here.")


# Before it


def sections(
    plan: Plan,
    preview: MovePreview,
    way: Way,
    connection: str,
    taken: Collection[Namespace],
    take: Callable[[Namespace], Callable[[], None]],
    show_ids: ShowIds,
    *,
    keeps_paths: bool = True,
) -> list[Section]:
    """What goes and where to, in the connection of that name, and what stays; `taken` are sandboxes that go too.

    `keeps_paths`: whether the connection takes folders and absolute workspaces.
    """
    stays = list(_stays(plan, preview, way, taken, take, show_ids))
    found = [
        Section(tr("What goes"), list(_goes(plan, preview, way, connection, taken, take))),
        Section(tr("What stays"), [*([] if keeps_paths else _paths_stay(way)), *stays]),
    ]
    return [section for section in found if section.lines]


def _goes(
    plan: Plan,
    preview: MovePreview,
    way: Way,
    connection: str,
    taken: Collection[Namespace],
    take: Callable[[Namespace], Callable[[], None]],
) -> Iterator[Line]:
    n, at = preview.total, len(preview.found.nodes)
    where = tr_n("at {n} node", "at {n} nodes", at, n=text.number(at))
    if preview.is_whole:
        goes = tr("{items} {where}, read to the end.", items=text.counted(n, "item"), where=where)
    else:
        goes = tr("Being counted.")
    yield Line("arrow-right", " ".join((goes, _where_to(preview, way, connection))), "accent")
    for sandbox in plan.sandboxes:
        if sandbox.node in taken:
            said = tr("The sandbox {node} goes as well.", node=short(sandbox.node))
            yield Line("service", said, "accent", offer=tr("Leave it"), act=take(sandbox.node))
    if preview.held:
        held = tr_n(
            "{n} item is held there already: nothing is written for it.",
            "{n} items are held there already: nothing is written for them.",
            preview.held,
            n=text.number(preview.held),
        )
        yield Line("info", held)
    if equal := sum(len(ids) - 1 for ids in preview.equal.values()):
        said = tr_n(
            "{n} item becomes equal to another there, and one with it.",
            "{n} items become equal to others there, and one with them.",
            equal,
            n=text.number(equal),
        )
        yield Line("warning", said, "caution")
    if (gone := no_longer_stored(preview.found)) is not None:
        yield gone
    if way.to is not None and n:
        yield Line("info", tr("At another node an item has another id. The receipt has both."))
    if not preview.can_check:
        said = tr("The memory there does not give items back whole: a copy is checked as far as it shows them.")
        yield Line("warning", said, "caution")


def _paths_stay(way: Way) -> Iterator[Line]:
    said = tr("Folders and absolute workspaces: there an item has its file name only, and no export brings them back.")
    yield Line("warning", said, "caution")
    if not way.is_copy:
        yield Line("lock", tr("An item that has them stays here as well: nothing goes that does not come back whole."))


def _where_to(preview: MovePreview, way: Way, connection: str) -> str:
    if way.to is None:
        return tr("To {connection}, each to the node it has.", connection=_cut(connection))
    return tr("To {node}.", node=_place(preview, way.to))


def _place(preview: MovePreview, to: Namespace) -> str:
    if len(preview.to) > 1:
        return tr("{node} and below it", node=short(to))
    return short(next(iter(preview.to), to))


def _stays(
    plan: Plan,
    preview: MovePreview,
    way: Way,
    taken: Collection[Namespace],
    take: Callable[[Namespace], Callable[[], None]],
    show_ids: ShowIds,
) -> Iterator[Line]:
    if preview.incomplete:
        yield _held_in_part(preview.incomplete, show_ids)
    if preview.different:
        n = len(preview.different)
        said = tr_n(
            "{n} item whose new place holds the same, seen at another time or by someone else.",
            "{n} items whose new places hold the same, seen at another time or by someone else.",
            n,
            n=text.number(n),
        )
        yield _with_ids(said, preview.different, show_ids)
    if preview.there:
        said = tr_n(
            "{n} item that is there already.",
            "{n} items that are there already.",
            preview.there,
            n=text.number(preview.there),
        )
        yield Line("lock", said)
    boxes = [sandbox for sandbox in plan.sandboxes if sandbox.node not in taken]
    for sandbox in boxes[:LINES_MOST]:
        said = tr_n(
            "The sandbox {node} with {n} item.",
            "The sandbox {node} with {n} items.",
            sandbox.items,
            node=short(sandbox.node),
            n=text.number(sandbox.items),
        )
        yield Line("lock", said, offer=tr("Take it along"), act=take(sandbox.node))
    if len(boxes) > LINES_MOST:
        yield Line("lock", text.and_more(len(boxes) - LINES_MOST))
    if plan.target.above:
        names = text.listed(map(short, plan.target.above))
        yield Line("lock", tr("What is read from above: {nodes}.", nodes=names))
    if way.is_copy:
        yield Line("lock", tr("Everything: a copy takes nothing away."))


# After it


def doubt(outcome: MoveOutcome) -> str:
    """Why not all is well, a sentence; "" where it is."""
    said = [text.sentence(outcome.stopped)] if outcome.stopped is not None else []
    left = len(outcome.kept) + len(outcome.not_tried)
    if left and outcome.is_copy:
        said.append(tr_n("{n} item was not copied.", "{n} items were not copied.", left, n=text.number(left)))
    elif left:
        said.append(tr_n("{n} item is where it was.", "{n} items are where they were.", left, n=text.number(left)))
    if n := len(outcome.unanswered):
        said.append(
            tr_n(
                "Whether {n} item is still where it was is not known.",
                "Whether {n} items are still where they were is not known.",
                n,
                n=text.number(n),
            )
        )
    if outcome.incomplete:
        n = len(outcome.incomplete)
        said.append(
            tr_n(
                "{n} item stays, because the memory holds only part of it.",
                "{n} items stay, because the memory holds only part of them.",
                n,
                n=text.number(n),
            )
        )
    return " ".join(said)


def outcome_sections(
    outcome: MoveOutcome,
    preview: MovePreview,
    way: Way,
    connection: str,
    show_ids: ShowIds,
    show_receipt: Callable[[], None],
) -> list[Section]:
    found = [
        Section(tr("What went"), list(_went(outcome, preview, way, connection))),
        Section(tr("What stayed"), list(_stayed(outcome, show_ids))),
    ]
    if outcome.receipt is not None:
        path = text.shown(str(outcome.receipt), NAME_CHARS)
        line = Line("journal", path, is_stored=True, offer=tr("Show receipt file"), act=show_receipt)
        found.append(Section(tr("Receipt"), [line]))
    return [section for section in found if section.lines]


def _went(outcome: MoveOutcome, preview: MovePreview, way: Way, connection: str) -> Iterator[Line]:
    n = len(outcome.done)
    where = _cut(connection) if way.to is None else _place(preview, way.to)
    if n and outcome.is_copy:
        said = tr_n(
            "{n} item is at {where} as well, read back whole.",
            "{n} items are at {where} as well, read back whole.",
            n,
            n=text.number(n),
            where=where,
        )
        yield Line("check-ring", said, "accent")
    elif n:
        said = tr_n(
            "{n} item is at {where}, read back whole; a fresh read no longer finds it where it was.",
            "{n} items are at {where}, read back whole; a fresh read no longer finds them where they were.",
            n,
            n=text.number(n),
            where=where,
        )
        yield Line("check-ring", said, "accent")
    if outcome.replayed:
        held = tr_n(
            "{n} of them was held there already.",
            "{n} of them were held there already.",
            outcome.replayed,
            n=text.number(outcome.replayed),
        )
        yield Line("info", held)
    if outcome.gone:
        n = len(outcome.gone)
        said = tr_n(
            "{n} item was gone before it was its turn.",
            "{n} items were gone before it was their turn.",
            n,
            n=text.number(n),
        )
        yield Line("info", said)


def _stayed(outcome: MoveOutcome, show_ids: ShowIds) -> Iterator[Line]:
    reasons = Counter(outcome.kept.values()).most_common()
    for reason, n in reasons[:_REASONS_MOST]:
        items = text.counted(n, "item")
        said = text.named(items, text.sentence(reason))
        ids = [id for id, why in outcome.kept.items() if why == reason]
        yield _with_ids(said, ids, show_ids)
    if len(reasons) > _REASONS_MOST:
        yield Line("warning", text.and_more(len(reasons) - _REASONS_MOST), "caution")
    if outcome.not_tried:
        n = len(outcome.not_tried)
        said = tr_n("{n} item was not tried.", "{n} items were not tried.", n, n=text.number(n))
        if outcome.stopped is not None:
            said = " ".join((said, text.sentence(outcome.stopped)))
        yield Line("stop", said)
    if outcome.unanswered:
        n = len(outcome.unanswered)
        said = tr_n(
            "{n} item is at its new place, and may still be at its old one: the memory did not answer.",
            "{n} items are at their new place, and may still be at their old one: the memory did not answer.",
            n,
            n=text.number(n),
        )
        yield _with_ids(said, outcome.unanswered, show_ids)
    if outcome.incomplete:
        yield _held_in_part(outcome.incomplete, show_ids)


def _held_in_part(ids: list[ItemId], show_ids: ShowIds) -> Line:
    n = len(ids)
    said = tr_n(
        "{n} item of which the memory holds only part.",
        "{n} items of which the memory holds only part.",
        n,
        n=text.number(n),
    )
    return _with_ids(said, ids, show_ids)


def _with_ids(said: str, ids: list[ItemId], show_ids: ShowIds) -> Line:
    return Line("warning", said, "caution", offer=tr("Show which"), act=show_ids(said, ids))


def _cut(name: str) -> str:
    """The name of a connection inside a sentence; what is left out of a long one is seen to be."""
    more = "…" if len(name) > _SHORT_NAME_CHARS else ""
    return text.inline(name[:_SHORT_NAME_CHARS] + more)
