"""The one line by which an item is known. Free of Qt."""

from __future__ import annotations

import re
from dataclasses import dataclass

from explorer.contract import Hit, ItemKind, Role

_LOOKS_AT = 4_000  # characters; the first line of interest lies in them or is not worth looking for
_KEEPS = 400  # a little more than is ever drawn
_BREAKS = re.compile(r"(?:\r\n|[ \n\t])+")  # not `\s`: that takes control characters too, which are to be seen
_HEADING = re.compile(r"^#{1,6} ")
_ROLES = tuple(f"{role}: " for role in Role)


@dataclass(frozen=True)
class Headline:
    """What stands first in bold (or nothing), and the text after it; `is_path` when the first part is no title."""

    title: str
    rest: str
    is_path: bool = False

    @property
    def line(self) -> str:
        """Title and text as one."""
        return f"{self.title}  {self.rest}" if self.title and self.rest else self.title or self.rest

    @property
    def name(self) -> str:
        """What the item is called where there is room for one thing only."""
        return self.title or self.rest


def headline(hit: Hit) -> Headline:
    """A document's title (or path) and its start; what the user said first; what was learned."""
    start = hit.text[:_LOOKS_AT]
    match hit.kind:
        case ItemKind.DOCUMENT:
            if start.startswith("# "):
                title, _, rest = start[2:].partition("\n")
                rest = rest.lstrip("\n").removeprefix(f"# {title}\n")  # many bodies begin with their title
                return Headline(one_line(title), _HEADING.sub("", one_line(rest)))
            path = hit.meta.file_path or hit.meta.url or ""
            return Headline(one_line(path), one_line(start), is_path=True)
        case ItemKind.CONVERSATION:
            return Headline("", one_line(_first_said(start)))
        case _:
            return Headline("", one_line(start))


def one_line(text: str) -> str:
    """The start of `text` with each run of breaks and blanks as one space; nothing else is changed."""
    return _BREAKS.sub(" ", text[:_LOOKS_AT]).strip(" ")[:_KEEPS]


def _first_said(text: str) -> str:
    """The first turn of the user, else the first turn, without its role."""
    user = f"{Role.USER}: "
    at = 0 if text.startswith(user) else text.find(f"\n{user}") + 1
    said = text[at:]
    for role in _ROLES:
        if said.startswith(role):
            said = said[len(role) :]
            break
    ends = [end for role in _ROLES if (end := said.find(f"\n{role}")) >= 0]
    return said[: min(ends)] if ends else said
