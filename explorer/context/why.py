"""Why a section or an item is not in a context.md, or not all of it."""

from __future__ import annotations

from enum import StrEnum

from explorer.i18n import mark, tr
from explorer.text import sentence


class Why(StrEnum):
    """The reasons. Their words are those of `section_sentence` and `item_sentence`."""

    FAILED = "failed"
    """The engine did not answer the brief's question, or did not list the learnings."""
    BLANK = "blank"
    UNCITED = "uncited"
    SWITCHED_OFF = "switched_off"
    NONE_STORED = "none_stored"
    BUDGET = "budget"
    """There was no room."""
    SHORTENED = "shortened"
    """There was room for a part: of a brief's text, or of the learnings."""
    LIMIT = "limit"
    """More learnings than the spec wants."""
    WITHOUT = "without"
    """The reader wanted to see the document without this item, or without all that the section rests on."""
    MIXED = "mixed"
    """It rests on an item that the reader left out, and nothing tells which of its words do."""


_SECTIONS = {
    Why.FAILED: mark("The engine did not answer."),
    Why.BLANK: mark("The answer was blank."),
    Why.UNCITED: mark("The answer named no item that it rests on."),
    Why.SWITCHED_OFF: mark("Learnings are switched off: their limit is 0."),
    Why.NONE_STORED: mark("There are no learnings here."),
    Why.BUDGET: mark("The token budget had no room for it."),
    Why.SHORTENED: mark("Shortened to fit the token budget."),
    Why.LIMIT: mark("More are stored than the limit of learnings lets in."),
    Why.WITHOUT: mark("It rests on nothing but what you left out."),
    Why.MIXED: mark("It rests on an item that you left out, and its words do not tell which of them come from there."),
}
_ITEMS = {
    Why.BUDGET: mark("The token budget had no room for it."),
    Why.SHORTENED: mark("What it says was cut off at the end of this section, to fit the token budget."),
    Why.LIMIT: mark("It comes after as many learnings as the limit lets in."),
    Why.WITHOUT: mark("You left it out."),
    Why.MIXED: mark("The section was left out whole, since it also rests on an item that you left out."),
}


def section_sentence(why: Why, error: str = "") -> str:
    """Why a section is not whole; with what the engine said, where that is known."""
    said = tr(_SECTIONS[why])
    return tr("{said} {more}", said=said, more=sentence(error)) if error else said


def item_sentence(why: Why) -> str:
    """Why an item is not in a section, one of the five reasons that concern single items."""
    return tr(_ITEMS[why])
