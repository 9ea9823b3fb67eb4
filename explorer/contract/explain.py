"""Why a ranked read put an item where it did: the parts of its score, and the weights that joined them.

Not in memory-v2. Source: core-concepts, "Interaction-aware scoring and decay"; legacy-v1, 5.1 and 5.2.
"""

from __future__ import annotations

import math

from pydantic import Field

from explorer.contract.errors import InvalidRequest
from explorer.contract.model import Model, Text
from explorer.contract.query import Hit, Passage

HALF_LIFE_DAYS = 7.0
"""Days in which the freshness of an item halves."""


class WeightProfile(Model):
    """What each part of a score counts. A weight is finite and not negative, and they need not sum to 1."""

    name: Text
    graph: float
    vector: float
    keyword: float
    freshness: float

    def check(self) -> None:
        """Raises InvalidRequest for a weight that is negative or no number, or where all are 0."""
        weights = (self.graph, self.vector, self.keyword, self.freshness)
        if not all(math.isfinite(weight) and weight >= 0 for weight in weights) or sum(weights) <= 0:
            raise InvalidRequest("a weight must be a finite number that is not negative, and one of them above 0")

    def final(self, *, graph: float, vector: float, keyword: float, freshness: float) -> float:
        """The weighted sum of the parts; nothing is normalised."""
        return self.graph * graph + self.vector * vector + self.keyword * keyword + self.freshness * freshness

    @classmethod
    def by_name(cls, name: str) -> WeightProfile:
        """The preset of that name; an unknown one is `balanced`, as core-concepts has it."""
        return PROFILES.get(name, BALANCED)


BALANCED = WeightProfile(name="balanced", graph=0.35, vector=0.35, keyword=0.15, freshness=0.15)
SEMANTIC = WeightProfile(name="semantic", graph=0.15, vector=0.65, keyword=0.20, freshness=0.0)
LEXICAL = WeightProfile(name="lexical", graph=0.25, vector=0.15, keyword=0.60, freshness=0.0)
GRAPH_FIRST = WeightProfile(name="graph_first", graph=0.55, vector=0.30, keyword=0.15, freshness=0.0)

PROFILES = {profile.name: profile for profile in (BALANCED, SEMANTIC, LEXICAL, GRAPH_FIRST)}


def freshness(age_days: float) -> float:
    """1 for what is new, a half after `HALF_LIFE_DAYS`; an age below 0 counts as 0."""
    return 1.0 if age_days <= 0 else float(0.5 ** (age_days / HALF_LIFE_DAYS))


class RetrievalScoreBreakdown(Model):
    """The parts of one hit's score, each as it was before its weight; `final_score` is what the hit was ranked by."""

    keyword_relevance: float = 0.0
    vector_similarity: float = 0.0
    graph_relevance: float = 0.0
    episodic_relevance: float = 0.0
    freshness: float = 0.0
    final_score: float = 0.0
    profile: Text = ""
    """The name of the weights."""


class ExplainedHit(Model):
    hit: Hit
    breakdown: RetrievalScoreBreakdown
    passage: Passage | None = None
    """The piece of the item that answers the query best."""


class ExplainedPage(Model):
    hits: list[ExplainedHit] = Field(default_factory=list)
    next_cursor: Text | None = None
    profile: WeightProfile
    """The weights that ranked this page."""
    notes: list[Text] = Field(default_factory=list)
    """What kept the ranking from being whole, a sentence each: items without a vector yet, a part that failed."""
