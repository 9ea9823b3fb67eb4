"""Hits that are a piece of a document: what they say of themselves, and where in the whole they stand. Free of Qt."""

from __future__ import annotations

import re

from explorer.contract import Hit, ItemKind
from explorer.i18n import tr
from explorer.text import isolate, listed, shown

_PAGES = re.compile(r"page:(\d{1,9})(?:-(\d{1,9}))?")
_SECTION = "section:"
_WORDS = 8  # of its beginning, by which a piece is found again
_LOOKED_AT = 400  # characters, for those words
_MAX_SECTION = 120  # characters


def piece_words(hit: Hit, whole: Hit | None) -> str:
    """`pages 3 to 5, section Limits`; nothing for a hit that is no piece of a document.

    An engine that stores long documents in pieces tags the hit of one so when it is read; the whole has no such tag.
    """
    if hit.kind is not ItemKind.DOCUMENT:
        return ""
    stored = set(whole.meta.tags) if whole is not None else set()
    said: list[str] = []
    for tag in hit.meta.tags:
        if tag in stored:
            continue
        if found := _PAGES.fullmatch(tag):
            first, last = found[1], found[2] or found[1]
            is_one = first == last
            said.append(tr("page {n}", n=first) if is_one else tr("pages {first} to {last}", first=first, last=last))
        elif tag.startswith(_SECTION) and len(tag) > len(_SECTION):
            title = isolate(shown(tag.removeprefix(_SECTION), _MAX_SECTION))
            said.append(tr("section {title}", title=title))
    return listed(said)


def piece_start(hit: Hit, whole: Hit) -> re.Pattern[str] | None:
    """What finds the beginning of a piece in its document, however its white space and markdown are drawn."""
    text = hit.text
    title, _, rest = text.partition("\n\n")
    if title.startswith("# ") and whole.text.startswith(title):  # the title line that each piece is given
        text = rest
    words = re.findall(r"\w+", text[:_LOOKED_AT])[:_WORDS]
    return re.compile(r"\b" + r"\W+".join(map(re.escape, words)) + r"\b") if words else None
