"""A plan in words: what it is called, what goes, what stays, and how forgetting and erasing differ; and its outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from explorer.contract import EngineDescriptor, ItemId, ItemKind, Namespace
from explorer.i18n import mark, tr, tr_n
from explorer.removal.outcome import Outcome
from explorer.removal.plan import Action, Plan, Sandbox
from explorer.removal.preview import Preview
from explorer.text import counted, inline, listed, number, sentence

if TYPE_CHECKING:
    from explorer.removal.journal import Done
    from explorer.removal.moving import MoveOutcome

_PLACE_CHARS = 1_000

_KINDS = {
    ItemKind.DOCUMENT: mark("documents"),
    ItemKind.CONVERSATION: mark("conversations"),
    ItemKind.LEARNING: mark("learnings"),
}


def title(plan: Plan) -> str:
    """What is about to happen; of stored text it holds nothing but a node's name."""
    erases = plan.action is Action.ERASE
    target = plan.target
    if target.is_whole_tree:
        return tr("Erase the whole tree") if erases else tr("Forget the whole tree")
    if target.node is not None and target.filter is not None and target.filter.reach is not None:
        node = str(target.node)
        if target.filter.reach.descendants:
            if erases:
                return tr("Erase {node} and everything below it", node=node)
            return tr("Forget {node} and everything below it", node=node)
        return tr("Erase the items at {node}", node=node) if erases else tr("Forget the items at {node}", node=node)
    if target.filter is not None:
        return tr("Forget what the filter admits")
    n = len(target.ids)
    return tr_n("Forget {n} chosen item", "Forget {n} chosen items", n, n=number(n))


def what_goes(plan: Plan, preview: Preview) -> str:
    """How much goes and how it was counted; `preview` is whole."""
    items = counted(preview.total, "item")
    nodes = counted(len(preview.nodes), "node")
    if plan.target.filter is None:
        said = tr("{items} at {nodes}, each read just now.", items=items, nodes=nodes)
    elif len(plan.kinds) == len(ItemKind):
        said = tr("{items} at {nodes}, of every kind, read to the end of the list.", items=items, nodes=nodes)
    else:
        kinds = listed(tr(_KINDS[kind]) for kind in plan.kinds)
        said = tr(
            "{items} at {nodes}, only {kinds}, read to the end of the list.", items=items, nodes=nodes, kinds=kinds
        )
    return f"{said} {what_it_does(plan.action)}"


def what_it_does(action: Action) -> str:
    if action is Action.ERASE:
        return tr("Erased for good: stored again, they would be new.")
    return tr("Forgotten: taken out of every read.")


def the_other(action: Action) -> str:
    """What the other action would do instead."""
    if action is Action.ERASE:
        return tr("Forget would only take them out of every read; stored again, they may count as a repeat.")
    return tr("Erase would remove them for good; it takes nodes and kinds only.")


def why_no_erase() -> str:
    """For a target that an erase cannot be told; as a reason, without the full stop of a sentence."""
    return tr("An engine erases nodes and kinds; single items, and values of their metadata, can be forgotten")


def sandbox_stays(sandbox: Sandbox, name: str = "") -> str:
    """`name` is how it is called where its own name is too long."""
    return tr(
        "The sandbox {node} with {items}. A sandbox is never removed with what is above it.",
        node=name or str(sandbox.node),
        items=counted(sandbox.items, "item"),
    )


def sandbox_goes(sandbox: Sandbox, name: str = "") -> str:
    """`name` as of `sandbox_stays`."""
    node = name or str(sandbox.node)
    return tr("The sandbox {node} with {items} goes too.", node=node, items=counted(sandbox.items, "item"))


def others_go(engine: EngineDescriptor, plan: Plan) -> str:
    """That an erase takes what other programs keep as well; "" where it does not."""
    if plan.action is not Action.ERASE or not engine.erases_others:
        return ""
    if plan.target.is_whole_tree and engine.hosted:
        return tr("All that the service keeps for the account goes, whoever wrote it: other programs' memory as well.")
    return tr("What other programs keep at the same places goes as well: an erase takes all that is there.")


def unlisted_sandboxes(action: str, *, takes_sandboxes: bool) -> str:
    """For an engine that does not name its sandboxes; `action` is also that of a receipt."""
    if takes_sandboxes and action == Action.ERASE:
        return tr("This engine does not list all of its sandboxes: the erase takes them, and nothing here counts them.")
    if takes_sandboxes:
        return tr("This engine does not list all of its sandboxes: what is in one is not found, and stays.")
    return tr("This engine does not list all of its sandboxes: what is in one below the node stays.")


def what_stays(plan: Plan, beside: str | None = None, name: Callable[[Namespace], str] = str) -> list[str]:
    """Apart from sandboxes. `beside`: the nodes above and beside, by name, where they are known; "" for none there.

    `name` is how a node is called.
    """
    target = plan.target
    if target.ids:
        return [tr("Everything else, at these nodes too.")]
    said = []
    if target.above:
        nodes = listed(map(name, target.above))
        said.append(tr("What is read from above: {nodes}. A removal never goes up.", nodes=nodes))
    elif beside:
        said.append(tr("Everything above and beside: {nodes}.", nodes=beside))
    elif beside is None and target.node is not None and not target.node.is_root:
        said.append(tr("Everything above and beside it."))
    if target.filter is not None and not target.is_nodes_and_kinds:
        said.append(tr("Everything that does not meet each of the conditions."))
    return said


def memory_of(done: Done) -> str:
    """The memory that a receipt is about: the name it was open by, and where it is, which tells it from its likes."""
    return listed((inline(done.connection), inline(done.place, _PLACE_CHARS) if done.place != done.connection else ""))


def done(action: str, n: int, total: int) -> str:
    """`3 895 of 3 895 items erased`; `action` is that of a receipt."""
    numbers = {"n": number(n), "total": number(total)}
    match action:
        case "erase":
            return tr_n("{n} of {total} item erased", "{n} of {total} items erased", total, **numbers)
        case "move":
            return tr_n("{n} of {total} item moved", "{n} of {total} items moved", total, **numbers)
        case "copy":
            return tr_n("{n} of {total} item copied", "{n} of {total} items copied", total, **numbers)
        case _:
            return tr_n("{n} of {total} item forgotten", "{n} of {total} items forgotten", total, **numbers)


def outcome_title(outcome: Outcome, action: Action) -> str:
    """What a fresh read says: `3 895 of 3 895 items erased`, `6 of 10 removed, 4 failed`."""
    if not outcome.left and not outcome.already_gone:
        return done(action, outcome.removed, outcome.planned)
    failed = len(outcome.failed)
    return listed(
        (
            tr("{n} of {total} removed", n=number(outcome.removed), total=number(outcome.planned)),
            tr_n("{n} failed", "{n} failed", failed, n=number(failed)) if failed else "",
            *_not_done(outcome.not_tried, outcome.unanswered, outcome.already_gone),
        )
    )


def move_title(outcome: MoveOutcome) -> str:
    """`37 of 37 items moved`; `30 of 37 moved, 2 stayed, 5 not tried, 1 held only in part`."""
    n, total = len(outcome.done), outcome.planned
    if n == total and not outcome.incomplete:
        return done("copy" if outcome.is_copy else "move", n, total)
    numbers = {"n": number(n), "total": number(total)}
    return listed(
        (
            tr("{n} of {total} copied", **numbers) if outcome.is_copy else tr("{n} of {total} moved", **numbers),
            tr("{n} stayed", n=number(len(outcome.kept))) if outcome.kept else "",
            *_not_done(outcome.not_tried, outcome.unanswered, len(outcome.gone)),
            tr("{n} held only in part", n=number(len(outcome.incomplete))) if outcome.incomplete else "",
        )
    )


def _not_done(not_tried: list[ItemId], unanswered: list[ItemId], gone: int) -> Iterator[str]:
    if not_tried:
        yield tr("{n} not tried", n=number(len(not_tried)))
    if unanswered:
        yield tr("{n} without an answer", n=number(len(unanswered)))
    if gone:
        yield tr("{n} already gone", n=number(gone))


def doubt(outcome: Outcome) -> str:
    """Why not all is well, sentences of one line; else empty."""
    said = []
    if outcome.stopped is not None:
        said.append(sentence(outcome.stopped))
    if n := len(outcome.failed) + len(outcome.not_tried):
        said.append(tr_n("{n} item was not removed.", "{n} items were not removed.", n, n=number(n)))
    if n := len(outcome.unanswered):
        said.append(
            tr_n(
                "Whether {n} item was removed is not known.",
                "Whether {n} items were removed is not known.",
                n,
                n=number(n),
            )
        )
    if outcome.gone_besides:
        said.append(gone_besides(outcome.gone_besides))
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
                n=number(n),
            )
        )
    elif quoted and not outcome.left:
        n = len(quoted)
        said.append(
            tr_n(
                "Gone from every list. {n} question is still answered from elsewhere.",
                "Gone from every list. {n} questions are still answered from elsewhere.",
                n,
                n=number(n),
            )
        )
    if unasked:
        n = len(unasked)
        said.append(tr_n("{n} question could not be asked.", "{n} questions could not be asked.", n, n=number(n)))
    if not outcome.checks:
        said.append(tr("Nothing was asked again."))
    return " ".join(said)


def gone_besides(n: int) -> str:
    """For a removal after which fewer items are stored than what went explains."""
    return tr_n(
        "{n} more item is gone than this removed: by another program, or by the engine.",
        "{n} more items are gone than this removed: by another program, or by the engine.",
        n,
        n=number(n),
    )
