"""How a node of the namespace tree is drawn and named, wherever it is shown."""

from __future__ import annotations

from explorer.contract import Namespace
from explorer.i18n import tr

ON_THE_WAY = " / "
"""Between two segments."""


def words_of(node: Namespace) -> str:
    """A node as it is shown: `team:acme / agent:triage`, `root`."""
    return ON_THE_WAY.join(map(str, node.segments)) or tr("root")


def icon_of(node: Namespace) -> str:
    """The name of the drawing for its kind."""
    return "root" if node.last is None else node.last.kind.value
