"""The default engine: memory in one SQLite file, browsed through columns in memory.

`connection` opens the file, `schema` lays it out, `writer` changes it; `columns` mirrors its fields, which `segments`
keeps, and over which `filters`, `facets`, `order` and `timeline` work; `tokens`, `postings` and `search` find words;
`embedding_job` makes vectors, `vectors` keeps them and `nearest` finds them; `passages` cuts items up, `sought` looks
into their texts, `ranking` joins what was found, and `recall` quotes it, with the `days` that it means; `reading` and
`engine` answer.
`migrating` brings older files up to date and `repairing` makes damaged ones whole, both through `rebuilding` and after
`copies`; `checking` compares a file with itself; `sweeping` zeroes what SQLite leaves of removed text.
"""

from explorer.engines.sqlite.engine import DESCRIPTOR, SqliteEngine, VectorStatus, build

__all__ = ["DESCRIPTOR", "SqliteEngine", "VectorStatus", "build"]
