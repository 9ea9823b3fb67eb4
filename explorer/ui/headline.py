"""The one line by which an item is known. Free of Qt."""

from __future__ import annotations

import re
from dataclasses import dataclass

from explorer.contract import Hit, ItemKind, Role

_LOOKS_AT = 4_000  # characters; the first line of interest lies in them or is not worth looking for
_KEEPS = 400  # a little more than is ever drawn
_BREAKS = ("\r\n", "\n", "\t")  # not all that Python calls a blank: control characters are to be seen
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]")
_TABLE_RULE = frozenset("|-: \t")
_MARKDOWN_ENDS = (".md", ".markdown", ".mdx")
_UNMARKS = 2 * _KEEPS  # characters: enough to keep as many once the marks are gone
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
    path = hit.meta.file_path or hit.meta.url or ""
    match hit.kind:
        case ItemKind.DOCUMENT:
            if start.startswith("# "):
                title, _, rest = start[2:].partition("\n")
                return Headline(one_line(title), one_line(_body(rest, title, _is_markdown(path or title))))
            return Headline(one_line(path), one_line(_body(start, "", _is_markdown(path))), is_path=True)
        case ItemKind.CONVERSATION:
            return Headline("", one_line(_first_said(start)))
        case _:
            return Headline("", one_line(start))


def one_line(text: str) -> str:
    """The start of `text` with each run of breaks and blanks as one space; nothing else is changed."""
    start = _joined(text[:_UNMARKS])
    if len(start) <= _KEEPS and len(text) > _UNMARKS:  # few texts have so much blank
        start = _joined(text[:_LOOKS_AT])
    return start[:_KEEPS]


def _joined(text: str) -> str:
    """`text` on one line. Not by a regular expression, which takes many times as long, for each row of a list."""
    for each in _BREAKS:
        text = text.replace(each, " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return text.strip(" ")


def _is_markdown(name: str) -> bool:
    """By the name's ending, as the viewer has it: text of no known kind is read as markdown."""
    name = name.lower().rpartition("/")[2]
    return "." not in name or name.endswith(_MARKDOWN_ENDS)


def _body(text: str, title: str, is_markdown: bool) -> str:
    """`text` without a first heading that only repeats `title`, and without the marks of markdown."""
    first, _, rest = text.lstrip("\n").partition("\n")
    if title and _folded(_heading(first) or "") == _folded(title):  # many bodies begin with their title
        text = rest
    return "\n".join(_unmarked(line) for line in text[:_UNMARKS].splitlines()) if is_markdown else text


def _heading(line: str) -> str | None:
    """What a line of markdown is the heading of; None where it is none."""
    mark = _HEADING.match(line)
    if mark is None:
        return None
    text = line[mark.end() :].strip()
    without_end = text.rstrip("#")
    return without_end.rstrip() if without_end.endswith((" ", "\t")) else text  # `## C#` keeps its own


def _folded(text: str) -> str:
    return " ".join(text.replace("**", "").split()).casefold()


def _unmarked(line: str) -> str:
    """A line of markdown as it reads: a row of a table as its cells, nothing of the line under its head."""
    if "---" in line and _TABLE_RULE.issuperset(line):
        return ""
    if (heading := _heading(line)) is not None:
        line = heading
    elif line.lstrip(" ").startswith("|"):
        line = " · ".join(cell.strip() for cell in line.split("|") if cell.strip())
    return line.removeprefix("> ").replace("**", "")


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
