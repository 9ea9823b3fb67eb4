"""What became of the items since they were read.

Not in memory-v2: for a window that shows a memory while others write to it.
"""

from __future__ import annotations

from explorer.contract.model import Count, Model, Text


class Changes(Model):
    mark: Text
    """Differs whenever the items of the memory differ. It means something only to the engine that gave it."""
    total: Count
    """Items that the filter admits now."""
    added: Count | None
    """Those of them that came after the mark asked about; None without one, and for one of another memory."""

    def gone_since(self, before: Changes) -> int | None:
        """How many of the items counted in `before` are there no more; None where that was another memory."""
        return None if self.added is None else max(0, before.total + self.added - self.total)
