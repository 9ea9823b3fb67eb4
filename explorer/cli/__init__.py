"""The command line: `tinymemory import | export | facets | list | get | namespaces`."""

from explorer.cli.program import main

__all__ = ["main"]
