"""A second estimate of tokens, which counts scripts as a language model does.

The contract's estimate, a quarter of the characters, is near for English prose: Chinese, Korean or emoji take some six
to twelve times as many tokens, and ids and digits four times. Where the package `wordllama` is there, its copy of Llama
2's tokenizer counts; nothing is downloaded. Else the characters of each script count what they do there on average.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.context.layout import body, estimate
from explorer.engines.embedding.wordllama import tokenizer
from explorer.i18n import tr

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Measured with Llama 2's tokenizer on article 1 of the Universal Declaration of Human Rights in 14 languages, on ids,
# times and emoji: tokens a character, the ASCII around the others counted as prose.
_WEIGHTS = (
    (r"\n", 1.0),
    (r"[A-Za-z]++(?![0-9])", 0.23),  # words; whole, so that no letter of a long one is begun at again
    (r"[0-9A-Za-z]+", 0.9),  # ids and numbers: a digit is a token of its own
    (r"[\x00-\x09\x0b-\x2f\x3a-\x7f]", 0.23),
    (r"[\u0080-\u036f\u1e00-\u1eff]+", 1.8),  # letters with accents
    (r"[\u0400-\u052f]+", 0.38),  # Cyrillic
    (r"[\u0370-\u03ff\u0530-\u10ff\u1200-\u1dff\u1f00-\u206f]+", 1.15),  # Greek to Thai
    (r"[\u1100-\u11ff\uac00-\ud7ff]+", 2.0),  # Korean
    (r"[\u3000-\u30ff]+", 1.0),  # kana and their punctuation
    (r"[\u3400-\u9fff\uf900-\ufaff]+", 1.5),  # Chinese characters
    (r"[\s\S]", 3.25),  # emoji and what else is written as its bytes
)
_RUNS = re.compile("|".join(f"({run})" for run, _ in _WEIGHTS))

_DIFFERS = 1.5
_PIECES = re.compile(r"(?<=[^ \u2581]) (?=[^ \u2581\n])|(?=\n)")


def fair_tokens(text: str) -> int:
    """Tokens of `text` as Llama 2 counts them, or about as many.

    Words and lines are counted one by one, each once however often it is there, and summed up: the tokenizer has no
    part that reaches over a line's end or over a single space, so the sum is what the text has as a whole. A few
    ms for a document of 1 500 tokens, up to a second for 200 000, and 0.1 s to load it first: not for the event loop.
    """
    exact = tokenizer()
    return _weighed(text) if exact is None else _counted(exact, text)


@dataclass(frozen=True, slots=True)
class SecondCount:
    """What `fair_tokens` counts in a document."""

    tokens: int
    """Of the whole of it."""
    frame: int
    """Those of the frontmatter: ids count four times what they are estimated at, in any document."""
    by: str
    """What they are counted by, in words."""
    is_far: bool
    """Whether what an agent is to read counts by more than half otherwise than it is estimated."""


def count_again(markdown: str) -> SecondCount:
    """The second count of a context.md. Takes as long as `fair_tokens`."""
    read = body(markdown)
    tokens, frame = fair_tokens(markdown), fair_tokens(markdown.removesuffix(read))  # the text, which is long, once
    by = tr("characters by script") if tokenizer() is None else tr("Llama 2 tokenizer")
    return SecondCount(tokens, frame, by, differs(estimate(read), tokens - frame))


def differs(estimate: int, fair: int) -> bool:
    """Whether two estimates differ by more than half: one is more than 1.5 times the other."""
    low, high = sorted((estimate, fair))
    return high > _DIFFERS * low


def _counted(exact: Tokenizer, text: str) -> int:
    pieces = Counter(_PIECES.split(text))
    pieces.pop("", None)
    # Each begins with the mark of a space: a true one, but for lines, which it is taken off again.
    encoded = exact.encode_batch_fast(list(pieces), add_special_tokens=False)
    spaces = text.startswith("\n")  # which is a line without one before it
    return spaces + sum(
        (len(one.ids) - piece.startswith("\n")) * times
        for one, (piece, times) in zip(encoded, pieces.items(), strict=True)
    )


def _weighed(text: str) -> int:
    return math.ceil(sum(len(run[0]) * _WEIGHTS[(run.lastindex or 1) - 1][1] for run in _RUNS.finditer(text)))
