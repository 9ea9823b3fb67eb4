"""A question to a memory, answered in sentences that say what they rest on. For the window, the command line and tests
alike: no Qt here.
"""

from explorer.asking.answered import MIN_SUPPORT, Answered, By, Mark, Sentence
from explorer.asking.asking import DEFAULT_LIMIT, ask
from explorer.asking.endpoint import EndpointWriter
from explorer.asking.history import History
from explorer.asking.settings import WriterSettings, WriterStore
from explorer.asking.told import answer_text, as_markdown, as_text, note_of, sources_text
from explorer.asking.writer import Given, Writer, Written

__all__ = [
    "DEFAULT_LIMIT",
    "MIN_SUPPORT",
    "Answered",
    "By",
    "EndpointWriter",
    "Given",
    "History",
    "Mark",
    "Sentence",
    "Writer",
    "WriterSettings",
    "WriterStore",
    "Written",
    "answer_text",
    "as_markdown",
    "as_text",
    "ask",
    "note_of",
    "sources_text",
]
