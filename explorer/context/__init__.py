"""context.md: what an agent is told at the start of a session, from an engine's answers, within a budget of tokens.

`compile` makes the document. A window that drags the budget asks once with `gather`, and then only `trim`s.
Source: memory-v2, "Context"; the sheet of context.md.
"""

from explorer.context.comparing import Change, Comparison, LineChange, compare
from explorer.context.compiler import ContextCompiler, compile
from explorer.context.counting import SecondCount, count_again
from explorer.context.gathering import Gathered, gather
from explorer.context.layout import LEARNINGS, estimate
from explorer.context.presets import Preset, PresetStore
from explorer.context.spec import (
    DEFAULT_BRIEFS,
    DEFAULT_BUDGET_TOKENS,
    DEFAULT_LEARNINGS,
    MOST_BUDGET_TOKENS,
    Brief,
    ContextDoc,
    ContextSpec,
    InvalidSpec,
)
from explorer.context.trimming import LeftOut, SectionUse, State, Trimmed, trim
from explorer.context.why import Why

__all__ = [
    "DEFAULT_BRIEFS",
    "DEFAULT_BUDGET_TOKENS",
    "DEFAULT_LEARNINGS",
    "LEARNINGS",
    "MOST_BUDGET_TOKENS",
    "Brief",
    "Change",
    "Comparison",
    "ContextCompiler",
    "ContextDoc",
    "ContextSpec",
    "Gathered",
    "InvalidSpec",
    "LeftOut",
    "LineChange",
    "Preset",
    "PresetStore",
    "SecondCount",
    "SectionUse",
    "State",
    "Trimmed",
    "Why",
    "compare",
    "compile",
    "count_again",
    "estimate",
    "gather",
    "trim",
]
