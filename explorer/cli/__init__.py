"""The command line: `tinymemory COMMAND`, of which `program.COMMANDS` has all."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status. Never raises."""
    try:
        # Here, because it takes a moment, in which Ctrl-C should not print where Python was.
        from explorer.cli import program
    except KeyboardInterrupt:
        return 130
    return program.main(argv)
