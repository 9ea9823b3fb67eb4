"""How many of the rows that a filter admits lie on each day of a time zone."""

from __future__ import annotations

from explorer.contract import Histogram, HistogramRequest
from explorer.contract.timestamp import zone_named
from explorer.engines.calendar import count_days
from explorer.engines.sqlite.columns import Columns
from explorer.engines.sqlite.fields import UNDATED
from explorer.engines.sqlite.filters import Selection


def histogram(columns: Columns, selection: Selection, req: HistogramRequest) -> Histogram:
    """As `MemoryEngine.histogram`; all rows are counted."""
    seconds = columns.seconds.values.take(selection.rows)
    dated = seconds[seconds != UNDATED]
    days = count_days(dated, zone_named(req.zone))
    return Histogram.of_days(req, days, undated=len(seconds) - len(dated), truncated=False)
