"""A plan in words: what it is called, what goes, what stays, and how forgetting and erasing differ."""

from __future__ import annotations

from explorer.contract import ItemKind
from explorer.i18n import mark, tr, tr_n
from explorer.removal.plan import Action, Plan, Sandbox
from explorer.removal.preview import Preview
from explorer.text import counted, listed, number

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
    """For a target that an erase cannot be told."""
    return tr("An engine erases nodes and kinds. Single items, and values of their metadata, can be forgotten.")


def sandbox_stays(sandbox: Sandbox) -> str:
    return tr(
        "The sandbox {node} with {items}. A sandbox is never removed with what is above it.",
        node=str(sandbox.node),
        items=counted(sandbox.items, "item"),
    )


def sandbox_goes(sandbox: Sandbox) -> str:
    return tr("The sandbox {node} with {items} goes too.", node=str(sandbox.node), items=counted(sandbox.items, "item"))


def unlisted_sandboxes(action: str, *, takes_sandboxes: bool) -> str:
    """For an engine that does not name its sandboxes; `action` is also that of a receipt."""
    if takes_sandboxes and action == Action.ERASE:
        return tr("This engine does not list all of its sandboxes: the erase takes them, and nothing here counts them.")
    if takes_sandboxes:
        return tr("This engine does not list all of its sandboxes: what is in one is not found, and stays.")
    return tr("This engine does not list all of its sandboxes: what is in one below the node stays.")


def what_stays(plan: Plan) -> list[str]:
    """Apart from sandboxes."""
    said = []
    if plan.target.above:
        nodes = listed(str(node) for node in plan.target.above)
        said.append(tr("What is above, though the list shows it too: {nodes}.", nodes=nodes))
    elif plan.target.node is not None and not plan.target.node.is_root:
        said.append(tr("Everything above and beside it."))
    return said


def gone_besides(n: int) -> str:
    """For a removal after which fewer items are stored than what went explains."""
    return tr_n(
        "{n} more item is gone than this removed: by another program, or by the engine.",
        "{n} more items are gone than this removed: by another program, or by the engine.",
        n,
        n=number(n),
    )
