"""Questions that ask for several things at once, taken apart; and what answers those that share no word with an answer.

"Who is the user, and what do they prefer?" is answered by "My name is Ada" and by a learning of the kind preference.
An aspect is a thing that is asked for so: the words that name it, the kinds of learning that are of it, and how
somebody says it of themselves. English only: what is asked in other languages is judged by its words and meaning as a
whole. A question is understood by aspects only where every word of it names one, so that what is asked of
anybody or anything else is not answered so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from explorer.contract import Conversation, Learning, LearningKind, Role, SegmentKind, StoreItem
from explorer.engines.sqlite.days import meant
from explorer.engines.sqlite.passages import QUOTED, Span, sentences_of, statements_of, turns_of
from explorer.engines.sqlite.search import COMMON
from explorer.engines.sqlite.tokens import ENGLISH, spaced, stems

RECENT = timedelta(days=60)
"""How long before the newest of what is asked something is recent: a memory may have rested for long."""
_MIN_PARTS = 3
"""Parts of a list that make a question broad; with a colon, what stands behind it is a list."""

_COLON = re.compile(r":\s|：")
_SPLIT = re.compile(r":\s|[,;：，；、]|\b(?:and|or)\b", re.IGNORECASE)
_TO_COME = ("tomorrow", "the day after", "next")
_I = r"\b(?:I|[Ww]e)"
_AM = r"(?:['’]m|['’]re|['’]ve been| am| are| have been)"


def _stemmed(words: str) -> frozenset[str]:
    return frozenset(stem for word in words.split() for stem in _stems(word))


def _stems(word: str) -> list[str]:
    return [word, *stems(word, [ENGLISH])]


@dataclass(frozen=True, slots=True)
class Aspect:
    """A thing that is asked for."""

    words: frozenset[str]
    """Words that name it, and their stems."""
    kinds: frozenset[LearningKind] = frozenset()
    says: re.Pattern[str] | None = None
    """How somebody says it of themselves."""
    has_days: bool = False
    """Whether a day that is counted from the day of saying tells of it: "yesterday"."""
    has_places: bool = False
    """Whether what is stored with a workspace, a repository or at a project is of it, the newest of each."""


_ASPECTS = (
    Aspect(
        _stemmed("who identity name role job profession occupation background"),
        says=re.compile(
            r"\b[Mm]y name is\b|\b[Cc]all me\b|\bI(?:['’]m| am) an? \w"
            r"|\b(?:I|[Ww]e) (?:work (?:as|at|for|in)|teach|live in)\b"
        ),
    ),
    Aspect(_stemmed("project workspace repository repo codebase"), has_places=True),
    Aspect(
        _stemmed("work working project task goal plan"),
        says=re.compile(
            rf"{_I}{_AM}(?: \w+)? (?:working|building|writing|preparing|planning|finishing|starting)\b"
            r"|\b(?:[Mm]y|[Oo]ur) (?:\w+ )?(?:projects?|research|job|work)\b"
        ),
    ),
    Aspect(
        _stemmed("preference prefer like dislike wish taste style habit"),
        frozenset({LearningKind.PREFERENCE}),
        re.compile(
            r"\bI(?: really| do| also| always)* (?:like|love|prefer|enjoy|hate|dislike|don['’]t like)\b(?! you\b)"
        ),
    ),
    Aspect(
        _stemmed("instruction rule procedure correction guideline"),
        frozenset({LearningKind.PROCEDURE, LearningKind.CORRECTION}),
        re.compile(r"\b[Pp]lease (?:always|never|do not|don['’]t)\b|\b[Ff]rom now on\b"),
    ),
    Aspect(_stemmed("event happen happened occur news change"), frozenset({LearningKind.FACT}), has_days=True),
)
_RECENT = _stemmed("recent recently lately latest newest now current currently new today")
_ASKING = _stemmed(
    "user person people give gave given tell told know known say said want need ask asked stored remember memory "
    "important main general active standing list describe summary summarise summarize"
)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a broad question."""

    text: str
    """As it stands in the question; with the subject of the question, where it has one of its own."""
    aspects: tuple[Aspect, ...]
    """What it asks for; empty where it must be judged by its words."""
    subject: str = ""
    """The words of whom or what the question is about; empty where that is the user, or nobody."""


@dataclass(frozen=True, slots=True)
class Broad:
    """A question that asks for several things, or for what has no words of its own."""

    parts: tuple[Part, ...]
    is_recent: bool
    """Whether what is new is asked for."""
    is_understood: bool = False
    """Whether every word of it names an aspect."""


def taken_apart(question: str) -> Broad | None:
    """The parts of a broad question; None for a narrow one."""
    pieces = [piece.strip() for piece in _SPLIT.split(question)]
    pieces = [piece for piece in pieces if spaced(piece).strip()]
    is_list = len(pieces) >= _MIN_PARTS
    words = [_content(piece) for piece in pieces]
    known = [None if aspects is None else tuple(aspects) for aspects in map(_aspects, words)]
    is_recent = any(not _RECENT.isdisjoint(_stems(word)) for piece in pieces for word in spaced(piece).split())
    if None in known or not any(known):
        before, *after = _COLON.split(question, maxsplit=1)
        if not is_list or not after or len(_SPLIT.split(before)) > 1:
            return None
        head, *behind = known
        subject = "" if head is not None else " ".join(word for word in words[0] if word != "who")
        # The head only leads to what stands behind it, which is what is asked.
        asked = zip(pieces[1:], behind, strict=True)
        parts = [
            Part(f"{subject} {piece}".strip(), () if subject else aspects or (), subject) for piece, aspects in asked
        ]
        return Broad(tuple(part for part in parts if part.aspects or _content(part.text)), is_recent)
    parts = [Part(piece, aspects) for piece, aspects in zip(pieces, known, strict=True) if aspects]
    return Broad(tuple(parts), is_recent, is_understood=True)


def _content(piece: str) -> list[str]:
    """The words of a piece that tell what is asked; `who` does."""
    return [word for word in spaced(piece).split() if word not in COMMON or word == "who"]


def _aspects(words: list[str]) -> list[Aspect] | None:
    """What the words of a piece name, without those that only ask; None where one of them names nothing known."""
    found: dict[Aspect, None] = {}
    for word in words:
        named = [aspect for aspect in _ASPECTS if not aspect.words.isdisjoint(_stems(word))]
        found.update(dict.fromkeys(named))
        if not named and _RECENT.isdisjoint(_stems(word)) and _ASKING.isdisjoint(_stems(word)):
            return None
    return list(found)


def saying(item: StoreItem, aspect: Aspect) -> Iterator[Span]:
    """The sentences of an item that answer an aspect: of learnings by their kind, of conversations by how it is said.

    Who speaks of themselves is the user; what happened, anybody but a tool or the system may tell.
    """
    if isinstance(item, Learning):
        if item.kind in aspect.kinds:
            yield _beginning(item)
        return
    if not isinstance(item, Conversation):
        return
    text = item.render_text()
    for turn, span in zip(item.turns, turns_of(item), strict=True):
        if turn.role not in (Role.USER, Role.ASSISTANT):
            continue
        day = turn.at or item.meta.observed_at
        for start, stop in sentences_of(text, *span):
            said = text[start:stop]
            is_said = turn.role is Role.USER and aspect.says is not None and aspect.says.search(said)
            is_told = aspect.has_days and day is not None and _is_past(said, day.date())
            if (is_said or is_told) and stop - start <= QUOTED and not said.endswith("?"):
                yield start, stop


def place_of(item: StoreItem) -> str | None:
    """Where somebody works whose item this is: a repository, a workspace, or a project's node; None for nowhere."""
    if item.meta.repo is not None:
        return f"repository {item.meta.repo}"
    if item.meta.workspace is not None:
        return f"workspace {item.meta.workspace}"
    projects = [
        node for node in item.meta.namespace.ancestors_and_self() if node.last and node.last.kind is SegmentKind.PROJECT
    ]
    return str(projects[-1].last) if projects else None


def _beginning(item: StoreItem) -> Span:
    """The whole of a short item, or as many of its sentences as can be quoted."""
    first, *others = statements_of(item)
    return first[0], max((stop for _, stop in others if stop - first[0] <= QUOTED), default=first[1])


def _is_past(text: str, day: date) -> bool:
    return any(not phrase.startswith(_TO_COME) for phrase, _ in meant(text, day))
