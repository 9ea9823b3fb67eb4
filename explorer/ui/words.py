"""What the contract's own names are called in the window. Free of Qt."""

from __future__ import annotations

from explorer.contract import FetchMode, ItemKind, LearningKind, SourceKind
from explorer.ui.i18n import mark, tr

# Translators: kinds of items.
_KINDS = (mark("document"), mark("conversation"), mark("learning"))
# Translators: kinds of learnings.
_LEARNINGS = (mark("preference"), mark("fact"), mark("procedure"), mark("correction"), mark("other"))
# Translators: where an item came from.
_SOURCES = (mark("folder"), mark("file"), mark("link"), mark("github"), mark("rss"), mark("agent"), mark("import"))
# Translators: ways to search.
_MODES = (mark("keyword"), mark("vector"), mark("hybrid"))


def word(name: ItemKind | LearningKind | SourceKind | FetchMode) -> str:
    """The word for a kind or a way to search, as it stands inside a sentence."""
    return tr(name.value)
