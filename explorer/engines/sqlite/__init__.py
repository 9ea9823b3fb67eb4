"""The default engine: memory in one SQLite file, browsed through columns in memory.

`connection` opens the file, `schema` lays it out, `writer` changes it; `columns` mirrors its fields, over which
`filters`, `facets` and `order` work; `tokens`, `postings` and `search` find words; `reading` and `engine` answer.
"""

from explorer.engines.sqlite.engine import DESCRIPTOR, SqliteEngine, build

__all__ = ["DESCRIPTOR", "SqliteEngine", "build"]
