"""Counts of a facet's values among the rows that a filter admits."""

from __future__ import annotations

import numpy as np

from explorer.contract import ExplorePage, Facet, FacetBucket
from explorer.engines.sqlite.columns import Array, Columns, Dictionary
from explorer.engines.sqlite.fields import FIELD_OF_FACET, MISSING
from explorer.engines.sqlite.filters import Selection


def explore(columns: Columns, selection: Selection, facet: Facet, limit: int | None) -> ExplorePage:
    """The `limit` largest buckets (None: all), ties by value; exact, so never truncated."""
    field = FIELD_OF_FACET[facet]
    dictionary = columns.dictionaries[field]
    counts = selection.counts(columns, field)
    found = np.flatnonzero(counts)
    found = found[found != MISSING]
    kept = _largest(dictionary, counts, found, len(found) if limit is None else limit)
    return ExplorePage(
        facet=facet,
        buckets=[FacetBucket(value=dictionary.values[code], count=int(counts[code])) for code in kept],
        total=selection.total,
        missing=int(counts[MISSING]),
        more_buckets=len(found) - len(kept),
        truncated=False,
    )


def _largest(dictionary: Dictionary, counts: Array, codes: Array, limit: int) -> list[int]:
    """The codes with the largest counts, ties by string."""
    if len(codes) <= limit:
        kept = codes.tolist()
    else:
        held = counts[codes]
        # The count of the last bucket that fits; of those that have just it, the first by string fill up.
        least = np.partition(held, len(held) - limit)[len(held) - limit]
        kept = codes[held > least].tolist()
        kept += dictionary.smallest(codes[held == least], limit - len(kept))
    return sorted(kept, key=lambda code: (-int(counts[code]), dictionary.values[code]))
