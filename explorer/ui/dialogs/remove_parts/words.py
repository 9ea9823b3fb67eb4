"""The words of a plan as the dialog arranges them, and those of what came of it. Free of Qt.

Forget and erase have each their own sentences: the two words are never put into one sentence by a placeholder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import tzinfo

from explorer import text
from explorer.conditions import conditions
from explorer.contract import MemoryEngine, MetaFilter, Namespace
from explorer.contract.namespace import EVERYTHING
from explorer.i18n import tr, tr_n
from explorer.removal import words as shared
from explorer.removal.plan import Action, Plan, Target
from explorer.removal.preview import Moved, Preview
from explorer.ui import news
from explorer.ui.dialogs.plan_parts.words import LINES_MOST, Line, Section, no_longer_stored, short

_NAMED_MOST = 4


def title(target: Target, action: Action) -> str:
    """What the dialog is called: `Erase team:acme and everything below it`."""
    if len(target.ids) == 1:
        return tr("Forget this item")
    return shared.title(Plan(target, action, ()))


def press(action: Action, n: int) -> str:
    """What the red button says."""
    if action is Action.ERASE:
        return tr_n("Erase {n} item", "Erase {n} items", n, n=text.number(n))
    return tr_n("Forget {n} item", "Forget {n} items", n, n=text.number(n))


def why_not_erase(engine: MemoryEngine, target: Target) -> str:
    """Why a target cannot be erased, without a full stop; "" where it can, as far as is known before it is asked."""
    if not target.is_nodes_and_kinds:
        return shared.why_no_erase()
    if type(engine).erase is MemoryEngine.erase:
        return tr("This engine does not erase")
    return ""


def recounted(action: Action) -> str:
    if action is Action.ERASE:
        return tr("Counted once more when you press. If the number has moved, nothing is erased.")
    return tr("Counted once more when you press. If the number has moved, nothing is forgotten.")


def moved(action: Action, difference: Moved) -> str:
    """Why it did not run: other items than those shown, or as many of them of fewer that are stored."""
    if not difference:
        if action is Action.ERASE:
            return tr("Less is stored here than before: this is a larger part of it now. Nothing was erased.")
        return tr("Less is stored here than before: this is a larger part of it now. Nothing was forgotten.")
    what = news.changes(len(difference.new), len(difference.gone))
    if action is Action.ERASE:
        return tr("The number has moved: {what}. Nothing was erased.", what=what)
    return tr("The number has moved: {what}. Nothing was forgotten.", what=what)


# The plan


def plan_sections(
    plan: Plan,
    preview: Preview,
    beside: str,
    remaining: Sequence[str],
    zone: tzinfo,
    shown: MetaFilter,
    plan_apart: Callable[[Namespace], Callable[[], None]],
    others: str = "",
) -> list[Section]:
    """What goes, what stays, what may remain; `beside` as the function of that name says it.

    `shown` is the filter of the list that the person sees behind it; `others` says that what other programs keep goes.
    """
    goes = list(_goes(plan, preview, zone, shown))
    if others:
        goes.insert(1, Line("warning", others, "danger"))
    found = [
        Section(tr("What goes"), goes),
        Section(tr("What stays"), list(_stays(plan, beside, plan_apart))),
        Section(tr("What may remain"), [Line("warning", said, "caution") for said in remaining]),
    ]
    return [section for section in found if section.lines]


def _goes(plan: Plan, preview: Preview, zone: tzinfo, shown: MetaFilter) -> Iterator[Line]:
    target = plan.target
    if target.filter is not None and not target.is_nodes_and_kinds:
        yield Line("funnel", tr("All that meets these conditions:"))
        admitted = target.filter
        if admitted.reach == EVERYTHING:  # no condition that anybody set
            admitted = admitted.model_copy(update={"reach": None})
        for one in conditions(admitted, zone):
            yield Line("", f"{one.words} {one.drawn or text.isolate(text.shown(one.value))}", is_stored=True)
    yield Line("minus-ring", _how_much(plan, preview), "danger")
    if target.is_nodes_and_kinds and not _only_where(shown, plan):
        said = tr("The filter of the list does not narrow this: what it hides goes as well.")
        yield Line("warning", said, "caution")
    if target.prefix is not None and preview.is_whole:
        paths = tr_n(
            "It also matches what is below that path: {n} path in all, named at the right.",
            "It also matches what is below that path: {n} paths in all, named at the right.",
            len(preview.paths),
            n=text.number(len(preview.paths)),
        )
        yield Line("info", paths)
    if plan.takes_sandboxes:
        for sandbox in plan.sandboxes[:LINES_MOST]:
            yield Line("service", shared.sandbox_goes(sandbox, short(sandbox.node)), "danger")
        if len(plan.sandboxes) > LINES_MOST:
            yield Line("service", text.and_more(len(plan.sandboxes) - LINES_MOST), "danger")
    if plan.takes_unlisted:
        yield Line("warning", shared.unlisted_sandboxes(plan.action, takes_sandboxes=True), "caution")
    if (gone := no_longer_stored(preview)) is not None:
        yield gone
    if len(target.ids) != 1:
        yield Line("info", shared.the_other(plan.action))


def _only_where(shown: MetaFilter, plan: Plan) -> bool:
    """Whether a filter has no condition that what is planned has not, but for where."""
    where = shown.model_copy(update={"reach": None})
    return where in (MetaFilter(), MetaFilter(kinds=plan.target.filter.kinds if plan.target.filter else []))


def _how_much(plan: Plan, preview: Preview) -> str:
    if not preview.is_whole:
        return " ".join((tr("Being counted."), shared.what_it_does(plan.action)))
    if not preview.total:
        return tr("Nothing: there is no such item.")
    if len(plan.target.ids) == 1:
        return " ".join((tr("This item."), shared.what_it_does(plan.action)))
    return shared.what_goes(plan, preview)


def _stays(plan: Plan, beside: str, plan_apart: Callable[[Namespace], Callable[[], None]]) -> Iterator[Line]:
    if not plan.takes_sandboxes and not plan.target.ids:
        for sandbox in plan.sandboxes[:LINES_MOST]:
            said = shared.sandbox_stays(sandbox, short(sandbox.node))
            yield Line("lock", said, offer=tr("Plan it separately"), act=plan_apart(sandbox.node))
        if len(plan.sandboxes) > LINES_MOST:
            rest = len(plan.sandboxes) - LINES_MOST
            yield Line("lock", tr_n("{n} more sandbox.", "{n} more sandboxes.", rest, n=text.number(rest)))
    for said in shared.what_stays(plan, beside, short):
        yield Line("lock", said)


def beside(target: Target, nodes: Sequence[Namespace]) -> str:
    """The nodes above, and those beside them: the top of what stays, by name; `nodes` are all that are known."""
    reach = target.filter.reach if target.filter is not None else None
    if reach is None or target.is_whole_tree or not target.is_nodes_and_kinds:
        return ""
    at = reach.at
    above = [] if at.is_root else list(at.ancestors_and_self())[:-1]
    on_the_way = {node.segments for node in [*above, at]}
    parents = on_the_way if not reach.descendants else on_the_way - {at.segments}
    others = [node for node in nodes if node.segments[:-1] in parents and node.segments not in on_the_way]
    if not reach.descendants:  # those below it come first
        others.sort(key=lambda node: node.segments[:-1] != at.segments)
    named = [short(node) for node in [*above, *others]]
    told = text.listed(named[:_NAMED_MOST])
    return " ".join((told, text.and_more(len(named) - _NAMED_MOST))) if len(named) > _NAMED_MOST else told
