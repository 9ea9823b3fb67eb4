"""How a context.md is written, and how long that is without writing it.

Source: memory-v2, "Context", output rules; the sheet of context.md, "Layout" and "Tokens".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from explorer.context.spec import ContextDoc
from explorer.contract import ItemId, Timestamp

LEARNINGS = "Learnings"
"""The heading of the list of learnings, which stands last."""

_TITLE = "# Context\n"
_CHARS_PER_TOKEN = 4
_ROUNDS = 8


def estimate(text: str) -> int:
    """Tokens of `text` as the contract counts them: a quarter of its characters, rounded up."""
    return _quarter(len(text))


def _quarter(chars: int) -> int:
    return -(-chars // _CHARS_PER_TOKEN)


def settled_tokens(other_chars: int) -> int:
    """The estimate of a document that names it, whose characters without that number are `other_chars`."""
    tokens = 0
    for _ in range(_ROUNDS):
        before, tokens = tokens, _quarter(other_chars + len(str(tokens)))
        if tokens == before:
            break
    return tokens


def section(heading: str, body: str) -> str:
    """One section; `body` is without its last line end."""
    return f"## {heading}\n\n{body}\n"


def bullet(line: str) -> str:
    return f"- {line}"


def body(markdown: str) -> str:
    """A document without its frontmatter."""
    return markdown.partition("\n---\n")[2] if markdown.startswith("---\n") else markdown


def frame(generated_at: Timestamp, engine: str, tokens: int | str, refs: Iterable[ItemId]) -> str:
    """All of a document but its sections: the frontmatter, and the title with its line end."""
    whole_seconds = generated_at.text[:19]
    return (
        f"---\ngenerated_at: {whole_seconds}Z\nengine: {engine}\ntokens: {tokens}\nrefs: [{', '.join(refs)}]\n---\n"
        f"\n{_TITLE}"
    )


def refs_chars(ids: int, id_chars: int) -> int:
    """What so many ids of so many characters together take in the frontmatter."""
    return id_chars + len(", ") * max(0, ids - 1)


def section_chars(heading: str, body_chars: int) -> int:
    """The characters that a section adds to a document, the empty line before it included."""
    return len(section(heading, "")) + body_chars + 1


def written(generated_at: Timestamp, engine: str, sections: Sequence[str], refs: Sequence[ItemId]) -> ContextDoc:
    """The document of these sections; the empty one of none."""
    if not sections:
        return ContextDoc(markdown="", tokens=0, generated_at=generated_at, engine=engine, refs=[])
    other_chars = len(frame(generated_at, engine, "", refs)) + sum(len(text) + 1 for text in sections)
    tokens = settled_tokens(other_chars)
    markdown = "\n".join([frame(generated_at, engine, tokens, refs), *sections])
    return ContextDoc(
        markdown=markdown, tokens=estimate(markdown), generated_at=generated_at, engine=engine, refs=list(refs)
    )
