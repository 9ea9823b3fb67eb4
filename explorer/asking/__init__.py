"""A question to a memory, answered in sentences that say what they rest on. For the window, the command line and tests
alike: no Qt here.
"""

from explorer.asking.answered import MIN_SUPPORT, Answered, By, Mark, Sentence
from explorer.asking.asking import DEFAULT_LIMIT, ask
from explorer.asking.history import History
from explorer.asking.told import as_markdown, as_text
from explorer.asking.writer import Given, Writer, Written

__all__ = [
    "DEFAULT_LIMIT",
    "MIN_SUPPORT",
    "Answered",
    "By",
    "Given",
    "History",
    "Mark",
    "Sentence",
    "Writer",
    "Written",
    "as_markdown",
    "as_text",
    "ask",
]
