"""The sheet's rules of layout and trimming as they are written there, for what `trim` gives to be compared with.

The document is composed anew at each step, however long it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# The Unicode property White_Space (PropList.txt), which is what Rust's `char::is_whitespace` asks.
WHITE = [
    *range(0x09, 0x0E),
    *(0x20, 0x85, 0xA0, 0x1680),
    *range(0x2000, 0x200B),
    *(0x2028, 0x2029, 0x202F, 0x205F, 0x3000),
]
SPACES = "".join(map(chr, WHITE))


class Answer(NamedTuple):
    heading: str
    body: str
    refs: list[str]


class Line(NamedTuple):
    id: str
    text: str


class Document(NamedTuple):
    markdown: str
    tokens: int
    refs: list[str]


def estimate(text: str) -> int:
    return (len(text) + 3) // 4


def collapse(text: str) -> str:
    words, word = [], ""
    for char in text:
        if char in SPACES:
            words.append(word)
            word = ""
        else:
            word += char
    words.append(word)
    return " ".join(filter(None, words))


def compose(engine: str, at: str, answers: Sequence[Answer], lines: Sequence[Line]) -> Document:
    if not answers and not lines:
        return Document("", 0, [])
    refs: list[str] = []
    for id in [id for answer in answers for id in answer.refs] + [line.id for line in lines]:
        if id not in refs:
            refs.append(id)

    def draft(tokens: int) -> str:
        text = f"---\ngenerated_at: {at}\nengine: {engine}\ntokens: {tokens}\nrefs: [{', '.join(refs)}]\n---\n"
        text += "\n# Context\n"
        for answer in answers:
            text += f"\n## {answer.heading}\n\n{answer.body}\n"
        if lines:
            text += "\n## Learnings\n\n"
            for line in lines:
                text += f"- {collapse(line.text)}\n"
        return text

    text = draft(0)
    tokens = 0
    for _ in range(8):
        if estimate(text) == tokens:
            break
        tokens = estimate(text)
        text = draft(tokens)
    return Document(text, estimate(text), refs)


def shorten(body: str, keep: int) -> str:
    cut = body[:keep]
    at = -1
    for place, char in enumerate(cut):
        if char in SPACES:
            at = place
    if at >= 0 and 2 * len(cut[:at].encode("utf-8")) > len(cut.encode("utf-8")):
        cut = cut[:at]
    while cut and cut[-1] in SPACES:
        cut = cut[:-1]
    return cut + "\u2026"


def trimmed(engine: str, at: str, answers: Sequence[Answer], lines: Sequence[Line], budget: int) -> Document:
    answers, lines = list(answers), list(lines)
    while True:
        doc = compose(engine, at, answers, lines)
        if doc.tokens <= budget:
            return doc
        if lines:
            lines.pop()
            continue
        last = answers[-1]
        overflow = (doc.tokens - budget) * 4
        keep = max(0, len(last.body) - overflow - 3)
        if keep < 40:
            answers.pop()
        else:
            answers[-1] = last._replace(body=shorten(last.body, keep))
