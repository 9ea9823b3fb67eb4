"""What a removal is called, what it takes and what it leaves, in sentences. Free of Qt.

Forget and erase have each their own sentences: the two words are never put into one sentence by a placeholder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from explorer import text
from explorer.contract import MemoryEngine, Namespace
from explorer.contract.namespace import EVERYTHING
from explorer.i18n import tr, tr_n
from explorer.removal.outcome import Outcome
from explorer.removal.plan import Action, Plan, Target
from explorer.removal.preview import Preview, Source
from explorer.ui.conditions import conditions

NAME_CHARS = 1_200  # of a node: the longest there can be
_SHORT_NAME_CHARS = 36
_NAMED_MOST = 4
_LINES_MOST = 5


@dataclass(frozen=True)
class Line:
    """One sentence of a plan, and what it offers to do about it. `is_stored`: it stands for itself, in the fixed font.

    `token` is the colour of its icon.
    """

    icon: str
    said: str
    token: str = "text2"
    is_stored: bool = False
    offer: str = ""
    act: Callable[[], None] | None = None


@dataclass(frozen=True)
class Section:
    title: str
    lines: list[Line]


def title(target: Target, action: Action) -> str:
    """What the dialog is called: `Erase team:acme and everything below it`."""
    is_erase = action is Action.ERASE
    if len(target.ids) == 1:
        return tr("Forget this item")
    if target.ids:
        n = len(target.ids)
        return tr_n("Forget {n} chosen item", "Forget {n} chosen items", n, n=text.number(n))
    if target.is_whole_tree:
        return tr("Erase the whole tree") if is_erase else tr("Forget the whole tree")
    if target.node is None:
        return tr("Forget all that match")
    name = text.inline(str(target.node), NAME_CHARS)
    if reads_below(target):
        if is_erase:
            return tr("Erase {node} and everything below it", node=name)
        return tr("Forget {node} and everything below it", node=name)
    if is_erase:
        return tr("Erase what is at {node} itself", node=name)
    return tr("Forget what is at {node} itself", node=name)


def what(target: Target) -> str:
    """What was to go, without what was to become of it: for the head of a receipt."""
    if target.ids:
        n = len(target.ids)
        return tr_n("{n} chosen item", "{n} chosen items", n, n=text.number(n))
    if target.is_whole_tree:
        return tr("the whole tree")
    if target.node is None:
        return tr("all that match")
    name = text.inline(str(target.node), NAME_CHARS)
    return tr("{node} and everything below it", node=name) if reads_below(target) else tr("{node} itself", node=name)


def reads_below(target: Target) -> bool:
    return target.filter is not None and target.filter.reach is not None and target.filter.reach.descendants


def press(action: Action, n: int) -> str:
    """What the red button says."""
    if action is Action.ERASE:
        return tr_n("Erase {n} item", "Erase {n} items", n, n=text.number(n))
    return tr_n("Forget {n} item", "Forget {n} items", n, n=text.number(n))


def why_not_erase(engine: MemoryEngine, target: Target) -> str:
    """Why a target cannot be erased, a sentence; "" where it can, as far as is known before the engine is asked."""
    if not target.is_nodes_and_kinds:
        return tr("An erase is told nodes and kinds, nothing else: what is chosen by hand or by a value is forgotten.")
    if type(engine).erase is MemoryEngine.erase:
        return tr("This engine does not erase.")
    return ""


def can_export(engine: MemoryEngine) -> bool:
    return type(engine).export is not MemoryEngine.export


def recounted(action: Action) -> str:
    if action is Action.ERASE:
        return tr("Counted once more when you press. If the number has moved, nothing is erased.")
    return tr("Counted once more when you press. If the number has moved, nothing is forgotten.")


# The plan


def plan_sections(
    plan: Plan,
    preview: Preview,
    beside: str,
    remaining: Sequence[str],
    zone: tzinfo,
    plan_apart: Callable[[Namespace], Callable[[], None]],
) -> list[Section]:
    """What goes, what stays, what may remain; `beside` as the function of that name says it."""
    found = [
        Section(tr("What goes"), list(_goes(plan, preview, zone))),
        Section(tr("What stays"), list(_stays(plan, beside, plan_apart))),
        Section(tr("What may remain"), [Line("warning", said, "caution") for said in remaining]),
    ]
    return [section for section in found if section.lines]


def _goes(plan: Plan, preview: Preview, zone: tzinfo) -> Iterator[Line]:
    target = plan.target
    if target.filter is not None and not target.is_nodes_and_kinds:
        yield Line("funnel", tr("All that meets these conditions:"))
        admitted = target.filter
        if admitted.reach == EVERYTHING:  # no condition that anybody set
            admitted = admitted.model_copy(update={"reach": None})
        for one in conditions(admitted, zone):
            yield Line("", f"{one.words} {one.drawn or text.isolate(text.shown(one.value))}", is_stored=True)
    becomes = _becomes(plan.action, preview.total) if preview.total or not preview.is_whole else ""
    yield Line("minus-ring", " ".join(filter(None, (_how_much(plan, preview), becomes))), "danger")
    if target.prefix is not None and preview.is_whole:
        paths = tr_n(
            "It also matches what is below that path: {n} path in all, named at the right.",
            "It also matches what is below that path: {n} paths in all, named at the right.",
            len(preview.paths),
            n=text.number(len(preview.paths)),
        )
        yield Line("info", paths)
    if plan.takes_sandboxes:
        for sandbox in plan.sandboxes[:_LINES_MOST]:
            yield Line("service", _sandbox_goes(sandbox.node, sandbox.items), "danger")
        if len(plan.sandboxes) > _LINES_MOST:
            yield Line("service", text.and_more(len(plan.sandboxes) - _LINES_MOST), "danger")
        if not plan.knows_sandboxes:
            yield Line(
                "warning", tr("This engine does not name its sandboxes: their items are not counted."), "caution"
            )
    if preview.gone:
        n = len(preview.gone)
        said = tr_n(
            "{n} of those chosen is no longer stored.", "{n} of those chosen are no longer stored.", n, n=text.number(n)
        )
        yield Line("info", said)
    yield Line("info", _other(plan.action, preview.total))


def _how_much(plan: Plan, preview: Preview) -> str:
    n, at = preview.total, len(preview.nodes)
    if not preview.is_whole:
        return tr("Being counted.")
    if not n:
        return tr("Nothing: there is no such item.")
    items = text.counted(n, "item")
    where = tr_n("at {n} node", "at {n} nodes", at, n=text.number(at))
    if len(plan.target.ids) == 1:
        return tr("This item.")
    if plan.target.ids:
        return tr("{items} {where}, each by its id.", items=items, where=where)
    if plan.target.filter is None or not plan.target.filter.kinds:
        return tr("{items} {where}, of every kind, read to the end of the list.", items=items, where=where)
    kinds = text.either(text.word(kind) for kind in plan.kinds)
    return tr(
        "{items} {where}, of the kind {kinds}, read to the end of the list.", items=items, where=where, kinds=kinds
    )


def _becomes(action: Action, n: int) -> str:
    if action is Action.ERASE:
        return tr_n(
            "Erased for good: stored again, it would be new.", "Erased for good: stored again, they would be new.", n
        )
    return tr_n(
        "Taken out of every read: stored again, it would count as a repeat.",
        "Taken out of every read: stored again, they would count as a repeat.",
        n,
    )


def _other(action: Action, n: int) -> str:
    if action is Action.ERASE:
        return tr_n(
            "Forget would only take it out of every read; stored again, it would count as a repeat.",
            "Forget would only take them out of every read; stored again, they would count as a repeat.",
            n,
        )
    return tr_n(
        "Erase would remove it for good; stored again, it would be new.",
        "Erase would remove them for good; stored again, they would be new.",
        n,
    )


def _sandbox_goes(node: Namespace, items: int) -> str:
    return tr_n(
        "The sandbox {node} with {n} item goes as well.",
        "The sandbox {node} with {n} items goes as well.",
        items,
        node=_short(node),
        n=text.number(items),
    )


def _stays(plan: Plan, beside: str, plan_apart: Callable[[Namespace], Callable[[], None]]) -> Iterator[Line]:
    target = plan.target
    if target.ids:
        yield Line("lock", tr("Everything else, at these nodes too."))
        return
    if not plan.takes_sandboxes:
        for sandbox in plan.sandboxes[:_LINES_MOST]:
            said = tr_n(
                "The sandbox {node} with {n} item. A sandbox is never removed with what is above it.",
                "The sandbox {node} with {n} items. A sandbox is never removed with what is above it.",
                sandbox.items,
                node=_short(sandbox.node),
                n=text.number(sandbox.items),
            )
            yield Line("lock", said, offer=tr("Plan it separately"), act=plan_apart(sandbox.node))
        if len(plan.sandboxes) > _LINES_MOST:
            rest = len(plan.sandboxes) - _LINES_MOST
            yield Line("lock", tr_n("{n} more sandbox.", "{n} more sandboxes.", rest, n=text.number(rest)))
    if target.above:
        names = text.listed(map(_short, target.above))
        yield Line("lock", tr("What is read from above: {nodes}. A removal never goes up.", nodes=names))
    if beside and not target.above:
        yield Line("lock", tr("Everything above and beside: {nodes}.", nodes=beside))
    if target.filter is not None and not target.is_nodes_and_kinds:
        yield Line("lock", tr("Everything that does not meet each of the conditions."))


def beside(target: Target, nodes: Sequence[Namespace]) -> str:
    """The nodes above, and those beside them: the top of what stays, by name; `nodes` are all that are known."""
    reach = target.filter.reach if target.filter is not None else None
    if reach is None or target.is_whole_tree or not target.is_nodes_and_kinds:
        return ""
    at = reach.at
    above = [] if at.is_root else list(at.ancestors_and_self())[:-1]
    others = [node for node in nodes if node.parent is not None and node.parent in above and not at.is_within(node)]
    if not reach.descendants:
        others = [node for node in nodes if node.parent == at] + others
    named = [_short(node) for node in [*above, *others]]
    told = text.listed(named[:_NAMED_MOST])
    return " ".join((told, text.and_more(len(named) - _NAMED_MOST))) if len(named) > _NAMED_MOST else told


def _short(node: Namespace) -> str:
    """A node inside a sentence: a label breaks no word, so that a long name is cut in its middle."""
    name = str(node)
    half = _SHORT_NAME_CHARS // 2
    return name if len(name) <= _SHORT_NAME_CHARS else f"{name[:half]}…{name[-half:]}"


def node_label(node: Namespace, at: Namespace | None) -> str:
    """A node as it is named among those below `at`."""
    if at is None or at.is_root or node == at or not node.is_within(at):
        return str(node)
    return "/".join(map(str, node.segments[at.depth :]))


def source_label(source: Source) -> str:
    kind, id = source
    return text.word(kind) if id is None else f"{text.word(kind)}: {text.shown(id)}"


# The receipt


def outcome_title(outcome: Outcome, action: Action) -> str:
    """What a fresh read says: `3 895 of 3 895 items erased`, `6 of 10 removed, 4 failed`."""
    n, of = text.number(outcome.removed), text.number(outcome.planned)
    if not outcome.left and not outcome.already_gone:
        if action is Action.ERASE:
            return tr_n("{n} of {total} item erased", "{n} of {total} items erased", outcome.planned, n=n, total=of)
        return tr_n("{n} of {total} item forgotten", "{n} of {total} items forgotten", outcome.planned, n=n, total=of)
    said = [tr("{n} of {total} removed", n=n, total=of)]
    for count, words in (
        (len(outcome.failed), tr("{n} failed", n=text.number(len(outcome.failed)))),
        (len(outcome.not_tried), tr("{n} not tried", n=text.number(len(outcome.not_tried)))),
        (len(outcome.unanswered), tr("{n} without an answer", n=text.number(len(outcome.unanswered)))),
        (outcome.already_gone, tr("{n} already gone", n=text.number(outcome.already_gone))),
    ):
        if count:
            said.append(words)
    return text.listed(said)


def doubt(outcome: Outcome) -> str:
    """The one line over the questions where not all is well; else empty."""
    said = []
    if outcome.stopped is not None:
        said.append(text.sentence(outcome.stopped))
    if outcome.left:
        n = len(outcome.left)
        said.append(tr_n("{n} item was not removed.", "{n} items were not removed.", n, n=text.number(n)))
    found = [check for check in outcome.checks if check.found]
    quoted = [check for check in outcome.checks if check.quoted and not check.found]
    unasked = [check for check in outcome.checks if check.error is not None]
    if found:
        n = len(found)
        said.append(
            tr_n(
                "{n} question still finds what was to go.",
                "{n} questions still find what was to go.",
                n,
                n=text.number(n),
            )
        )
    elif quoted and not outcome.left:
        n = len(quoted)
        said.append(
            tr_n(
                "Gone from every list. {n} question is still answered from elsewhere.",
                "Gone from every list. {n} questions are still answered from elsewhere.",
                n,
                n=text.number(n),
            )
        )
    if unasked:
        n = len(unasked)
        said.append(tr_n("{n} question could not be asked.", "{n} questions could not be asked.", n, n=text.number(n)))
    if not outcome.checks:
        said.append(tr("Nothing was asked again."))
    return " ".join(said)
