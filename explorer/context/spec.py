"""What a context.md is compiled from, and the document.

Source: memory-v2, "Context". The words of the default questions are this program's own.
"""

from __future__ import annotations

from pydantic import Field

from explorer.contract import InvalidRequest, ItemId, MetaFilter, Reach, Timestamp, is_blank
from explorer.contract.model import Count, Model, Text

DEFAULT_BUDGET_TOKENS = 1_500
DEFAULT_LEARNINGS = 20
MOST_BUDGET_TOKENS = 200_000
"""What a window offers; the compiler takes more."""


class InvalidSpec(InvalidRequest):
    """The spec breaks a rule; the engine was not asked."""


class Brief(Model):
    """A section that answers one question. `heading` and `question` must not be blank."""

    heading: Text
    question: Text
    filter: MetaFilter = Field(default_factory=MetaFilter)


DEFAULT_BRIEFS = (
    Brief(heading="About the user", question="Who is the user: identity, role, and how do they like to work?"),
    Brief(heading="Active work", question="What is the user working on now: projects, workspaces and repositories?"),
    Brief(
        heading="Preferences and standing instructions",
        question="Which preferences and standing instructions has the user given?",
    ),
    Brief(heading="Recent important events", question="Which important events happened recently?"),
)


class ContextSpec(Model):
    """How much of what goes into a document. All has a default; no briefs at all is legal."""

    budget_tokens: Count = DEFAULT_BUDGET_TOKENS
    """Of the whole document with its frontmatter, by the contract's estimate; at least 1."""
    briefs: list[Brief] = Field(default_factory=lambda: list(DEFAULT_BRIEFS))
    learnings_limit: Count = DEFAULT_LEARNINGS
    """Learnings shown at most; 0 does not even ask for them."""
    reach: Reach | None = None
    """Replaces that of every brief and confines the learnings; None leaves each brief its own."""

    def check(self) -> None:
        """Raises InvalidSpec for a budget of 0 and for a brief whose heading or question is blank."""
        if self.budget_tokens == 0:
            raise InvalidSpec("the token budget must be at least 1")
        for number, brief in enumerate(self.briefs, 1):
            for name, text in (("heading", brief.heading), ("question", brief.question)):
                if is_blank(text):
                    raise InvalidSpec(f"the {name} of brief {number} must not be blank")


class ContextDoc(Model):
    """A context.md. Where nothing is shown `markdown` is empty, without frontmatter, and `tokens` 0."""

    markdown: Text
    tokens: Count
    """The contract's estimate of `markdown`."""
    generated_at: Timestamp
    engine: Text
    """The id that the engine's descriptor has."""
    refs: list[ItemId]
    """The items that the document rests on: those of the briefs in order, then those of the learnings; each once."""
