"""An answer as text to take elsewhere, with its numbered sources: Markdown, or plain."""

from __future__ import annotations

import re

from explorer.asking.answered import Answered, Mark, Sentence
from explorer.contract import NOTHING_ANSWERS, Citation
from explorer.contract.model import collapsed
from explorer.i18n import mark, tr

MARK_WORDS = {
    # Translators: why a sentence of an answer is not to be trusted as it stands; in parentheses behind it
    Mark.UNCITED: mark("no citation"),
    Mark.OUT_OF_RANGE: mark("cites a passage that is not there"),
    Mark.WEAK: mark("its passages hold {share} of its words"),
}
"""To be translated; `share` is what is held of the words."""
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&])")


def as_text(answered: Answered) -> str:
    """Plain text: the question, the answer with `[1]` marks, then the sources that these name."""
    sources = sources_text(answered)
    parts = [answered.question.strip(), answer_text(answered)]
    if sources:
        heading = tr("Sources")
        parts.append(f"{heading}\n{sources}")
    return "\n\n".join(parts)


def answer_text(answered: Answered) -> str:
    """The answer alone, a line for each of its lines."""
    return "\n".join(" ".join(map(_sentence, line)) for line in answered.lines()) or NOTHING_ANSWERS


def sources_text(answered: Answered) -> str:
    """The sources that the answer names, each with the passage quoted; empty where it names none."""
    return "\n".join(
        f"[{number}] {_source(citation)}\n    “{collapsed(citation.snippet)}”"
        for number, citation in _sources(answered)
    )


def as_markdown(answered: Answered) -> str:
    """Markdown in which stored text is only text: what would be markup in it is escaped."""
    said = "\n".join("- " + " ".join(_escaped(_sentence(one)) for one in line) for line in answered.lines())
    parts = [f"## {_escaped(collapsed(answered.question))}", said or NOTHING_ANSWERS]
    if answered.cited:
        sources = (
            f"- \\[{number}\\] {_escaped(_source(citation))}\n  > {_escaped(collapsed(citation.snippet))}"
            for number, citation in _sources(answered)
        )
        parts.append("### " + tr("Sources") + "\n\n" + "\n".join(sources))
    return "\n\n".join(parts)


def note_of(sentence: Sentence) -> str | None:
    """Why a sentence is marked, as a sentence part; None where it is not."""
    return None if sentence.mark is None else tr(MARK_WORDS[sentence.mark], share=f"{sentence.support:.0%}")


def _sentence(sentence: Sentence) -> str:
    cites = "".join(f"[{number}]" for number in sentence.cites)
    note = note_of(sentence)
    return " ".join(part for part in (sentence.text, cites, f"(! {note})" if note else "") if part)


def _sources(answered: Answered) -> list[tuple[int, Citation]]:
    return [(number, answered.citations[number - 1]) for number in answered.cited]


def _source(citation: Citation) -> str:
    """What says where a passage comes from: id, node, source, day."""
    meta = citation.meta
    source = " ".join(part for part in (meta.source.kind.value, meta.source.id) if part)
    told = [citation.id, str(meta.namespace), source]
    if meta.observed_at is not None:
        told.append(meta.observed_at.text[:10])
    return " · ".join(collapsed(part) for part in told)


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)
