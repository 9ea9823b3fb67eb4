"""The words of a plan, whether it removes or moves. Free of Qt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from explorer import text
from explorer.contract import MemoryEngine, Namespace
from explorer.i18n import tr, tr_n
from explorer.removal.plan import Target
from explorer.removal.preview import Preview, Source

NAME_CHARS = 1_200  # of a node: the longest there can be
LINES_MOST = 5
_SHORT_NAME_CHARS = 36


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


def can_export(engine: MemoryEngine) -> bool:
    return type(engine).export is not MemoryEngine.export


def no_longer_stored(preview: Preview) -> Line | None:
    """Of items that were chosen, how many are gone."""
    if not (n := len(preview.gone)):
        return None
    said = tr_n(
        "{n} of those chosen is no longer stored.", "{n} of those chosen are no longer stored.", n, n=text.number(n)
    )
    return Line("info", said)


def short(node: Namespace) -> str:
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
