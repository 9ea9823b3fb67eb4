"""Memory as JSONL: one item a line, in the contract's wire form, into an engine and out of it.

For the command line and the window alike: no Qt here.
"""

from explorer.transfer.copying import BETWEEN, CopyForm, copied
from explorer.transfer.errors import FileError
from explorer.transfer.exporting import (
    ExportProgress,
    export_at,
    export_jsonl,
    export_named,
    export_pages,
    refuse_memory,
    write_file,
)
from explorer.transfer.importing import BadLine, ImportProgress, import_jsonl, open_source
from explorer.transfer.sandboxes import by_sandbox, names_sandboxes, sandbox_roots, sandboxes

__all__ = [
    "BETWEEN",
    "BadLine",
    "CopyForm",
    "ExportProgress",
    "FileError",
    "ImportProgress",
    "by_sandbox",
    "copied",
    "export_at",
    "export_jsonl",
    "export_named",
    "export_pages",
    "import_jsonl",
    "names_sandboxes",
    "open_source",
    "refuse_memory",
    "sandbox_roots",
    "sandboxes",
    "write_file",
]
