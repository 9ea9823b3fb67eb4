"""What the engine is measured against, made from the same rows. A peer whose package is not installed is None."""

from __future__ import annotations

import csv
import importlib
import shutil
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from generate import COLUMNS, Row
from measure import clock

TOP = 50
"""Buckets of a facet, and items of a page."""

HITS = 20
"""Items of a ranked answer."""

UNDATED = -(2**62)
"""In the peers' `observed`, so that a row value compares; below every time."""

_CACHE_KB = 256 * 1024
_TAG_MARK = "\x1f"


class Counts(NamedTuple):
    """One facet as the contract counts it."""

    buckets: list[tuple[str, int]]
    total: int
    missing: int
    distinct: int


@dataclass(frozen=True)
class Condition:
    """What a filter admits, in SQL: `where` over the columns of a table `item`, `tag` as a condition beside it."""

    where: str = "1"
    values: tuple[str, ...] = ()
    tag: str | None = None

    def sqlite(self) -> tuple[str, list[str]]:
        if self.tag is None:
            return self.where, list(self.values)
        return f"{self.where} AND id IN (SELECT item FROM tag WHERE tag = ?)", [*self.values, self.tag]

    def duck(self) -> tuple[str, list[str]]:
        if self.tag is None:
            return self.where, list(self.values)
        return f"{self.where} AND list_contains(tags, ?)", [*self.values, self.tag]


def package(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


class PlainSql:
    """One table with an index on each column, a tag table, and FTS5 over the text (unicode61, external content)."""

    NAME = "plain.db"

    def __init__(self, folder: Path) -> None:
        self.path = folder / self.NAME
        self.conn = self._connect()

    def _connect(self) -> sqlite3.Connection:
        conn = sqlite3.connect(self.path, isolation_level=None)
        conn.execute("PRAGMA journal_mode = WAL")
        conn.execute("PRAGMA synchronous = NORMAL")
        conn.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
        return conn

    @classmethod
    def begin(cls, folder: Path) -> PlainSql:
        for file in folder.glob(cls.NAME + "*"):
            file.unlink()
        made = cls(folder)
        names = ", ".join(f"{name} TEXT" for name in COLUMNS)
        made.conn.execute(f"CREATE TABLE item(id INTEGER PRIMARY KEY, observed INTEGER NOT NULL, {names}, text TEXT)")
        made.conn.execute("CREATE TABLE tag(item INTEGER, tag TEXT, PRIMARY KEY(item, tag)) WITHOUT ROWID")
        return made

    def add(self, rows: Sequence[Row]) -> None:
        self.conn.execute("BEGIN")
        self._insert(rows)
        self.conn.execute("COMMIT")

    def _insert(self, rows: Sequence[Row]) -> None:
        marks = ", ".join("?" * (len(COLUMNS) + 3))
        self.conn.executemany(
            f"INSERT INTO item VALUES({marks})",
            [(r.number, UNDATED if r.observed is None else r.observed, *r.values, r.text) for r in rows],
        )
        self.conn.executemany("INSERT INTO tag VALUES(?, ?)", [(r.number, tag) for r in rows for tag in r.tags])

    def finish(self) -> None:
        for name in (*COLUMNS, "observed"):
            self.conn.execute(f"CREATE INDEX by_{name} ON item({name})")
        self.conn.execute("CREATE INDEX by_tag ON tag(tag)")
        self.conn.execute("CREATE VIRTUAL TABLE words USING fts5(text, content='item', content_rowid='id')")
        self.conn.execute("INSERT INTO words(words) VALUES('rebuild')")
        self.conn.execute("CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, 'row')")
        self.conn.execute("ANALYZE")
        self.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self.conn.close()

    def counts(self, facet: str, condition: Condition) -> Counts:
        """Plainly, and not for timing: the counts that the others are compared with."""
        where, values = condition.sqlite()
        total = self.conn.execute(f"SELECT count(*) FROM item WHERE {where}", values).fetchone()[0]
        if facet == "tag":
            inner = f"SELECT tag v, count(*) c FROM tag WHERE item IN (SELECT id FROM item WHERE {where}) GROUP BY 1"
            with_any = f"SELECT count(DISTINCT item) FROM tag WHERE item IN (SELECT id FROM item WHERE {where})"
        else:
            inner = f"SELECT {facet} v, count(*) c FROM item WHERE {where} AND {facet} IS NOT NULL GROUP BY 1"
            with_any = f"SELECT count({facet}) FROM item WHERE {where}"
        found = self.conn.execute(f"{inner} ORDER BY c DESC, v", values).fetchall()
        (held,) = self.conn.execute(with_any, values).fetchone()
        return Counts(found[:TOP], total, total - held, len(found))

    def values(self, facet: str, limit: int) -> list[tuple[str, int]]:
        """A facet's largest values over everything."""
        return self.conn.execute(
            f"SELECT {facet}, count(*) c FROM item WHERE {facet} IS NOT NULL GROUP BY 1 ORDER BY c DESC, 1 LIMIT ?",
            (limit,),
        ).fetchall()

    def count(self, condition: Condition) -> int:
        where, values = condition.sqlite()
        return int(self.conn.execute(f"SELECT count(*) FROM item WHERE {where}", values).fetchone()[0])

    def order(self, condition: Condition) -> list[int]:
        """The ids of all that a filter admits, newest first."""
        where, values = condition.sqlite()
        found = self.conn.execute(f"SELECT id FROM item WHERE {where} ORDER BY observed DESC, id DESC", values)
        return [row for (row,) in found]

    def place(self, condition: Condition, depth: int) -> tuple[int, int]:
        """Time and id of the item before the one at `depth`."""
        where, values = condition.sqlite()
        sql = f"SELECT observed, id FROM item WHERE {where} ORDER BY observed DESC, id DESC LIMIT 1 OFFSET ?"
        found: tuple[int, int] = self.conn.execute(sql, [*values, depth - 1]).fetchone()
        return found

    def page_by_offset(self, condition: Condition, depth: int) -> list[str]:
        where, values = condition.sqlite()
        sql = f"SELECT text FROM item WHERE {where} ORDER BY observed DESC, id DESC LIMIT {TOP} OFFSET ?"
        return [text for (text,) in self.conn.execute(sql, [*values, depth])]

    def page_by_key(self, condition: Condition, after: tuple[int, int] | None) -> list[str]:
        where, values = condition.sqlite()
        if after is not None:
            where += " AND (observed, id) < (?, ?)"
        sql = f"SELECT text FROM item WHERE {where} ORDER BY observed DESC, id DESC LIMIT {TOP}"
        return [text for (text,) in self.conn.execute(sql, [*values, *(after or ())])]

    def holders(self, word: str) -> int:
        """How many items have a word."""
        row = self.conn.execute("SELECT doc FROM vocabulary WHERE term = ?", (word,)).fetchone()
        return int(row[0]) if row else 0

    def is_beginning(self, word: str) -> bool:
        """Whether a longer word of some item begins with this one."""
        sql = "SELECT 1 FROM vocabulary WHERE term > ? AND term < ? LIMIT 1"
        return self.conn.execute(sql, (word, word + "\U0010ffff")).fetchone() is not None

    def search(self, words: Sequence[str], workspace: str | None) -> list[str]:
        """The texts of the best by `bm25()`, any of the words matching."""
        return [text for text, _ in self._search(words, workspace, HITS)]

    def best(self, words: Sequence[str], workspace: str | None) -> set[str]:
        """As `search`, but with all that share the last place's score."""
        found = self._search(words, workspace, 40 * HITS)
        if len(found) <= HITS:
            return {text for text, _ in found}
        least = found[HITS - 1][1]
        return {text for text, score in found if score <= least + 1e-9 * abs(least)}

    def _search(self, words: Sequence[str], workspace: str | None, limit: int) -> list[tuple[str, float]]:
        match = " OR ".join(f'"{word}"' for word in words)
        # The rank column is bm25() computed inside the sort; the texts are read for the winners alone.
        if workspace is None:
            inner = "SELECT rowid r, rank s FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
            values: list[object] = [match, limit]
        else:  # CROSS JOIN keeps SQLite from running one search per admitted item
            inner = (
                "SELECT words.rowid r, words.rank s FROM words CROSS JOIN item i ON i.id = words.rowid"
                " WHERE words MATCH ? AND i.workspace = ? ORDER BY words.rank LIMIT ?"
            )
            values = [match, workspace, limit]
        found = self.conn.execute(inner, values).fetchall()
        return [(self.text(row), score) for row, score in found]

    def text(self, row: int) -> str:
        found: str = self.conn.execute("SELECT text FROM item WHERE id = ?", (row,)).fetchone()[0]
        return found

    def store(self, rows: Sequence[Row]) -> None:
        """Add rows to all indexes in one transaction."""
        self.conn.execute("BEGIN IMMEDIATE")
        self._insert(rows)
        self.conn.executemany("INSERT INTO words(rowid, text) VALUES(?, ?)", [(r.number, r.text) for r in rows])
        self.conn.execute("COMMIT")

    def remove(self, rows: Sequence[int]) -> None:
        """Delete rows as thoroughly as the driver can, short of a VACUUM or an FTS5 `optimize`."""
        self.conn.execute("PRAGMA secure_delete = ON")
        self.conn.execute("BEGIN IMMEDIATE")
        for row in rows:
            self.conn.execute(
                "INSERT INTO words(words, rowid, text) VALUES('delete', ?, ?)",
                (row, self.text(row)),
            )
            self.conn.execute("DELETE FROM tag WHERE item = ?", (row,))
            self.conn.execute("DELETE FROM item WHERE id = ?", (row,))
        self.conn.execute("COMMIT")
        self.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def bytes_of_strings(self) -> int:
        """UTF-8 bytes of every different value of the 14 facets."""
        total = 0
        for facet, source in [*((name, "item") for name in COLUMNS), ("tag", "tag")]:
            sql = f"SELECT sum(length(CAST(v AS BLOB))) FROM (SELECT DISTINCT {facet} v FROM {source})"
            total += self.conn.execute(sql).fetchone()[0] or 0
        return total

    def bytes_of_columns(self) -> float:
        """Bytes an item of all facets as codes of the smallest types; of tags, the codes and one offset an item."""
        (items,) = self.conn.execute("SELECT count(*) FROM item").fetchone()
        width = 0.0
        for name in COLUMNS:
            (distinct,) = self.conn.execute(f"SELECT count(DISTINCT {name}) FROM item").fetchone()
            width += _width(distinct + 1)
        (tags, distinct) = self.conn.execute("SELECT count(*), count(DISTINCT tag) FROM tag").fetchone()
        return width + 4 + _width(distinct + 1) * tags / items


def _width(codes: int) -> int:
    return 1 if codes <= 1 << 8 else 2 if codes <= 1 << 16 else 4


class DatasetteFacets:
    """Datasette's own column facets over the plain table; timed is the SQL that they run, not the links they make."""

    def __init__(self, path: Path) -> None:
        app = importlib.import_module("datasette.app")
        self._facets = importlib.import_module("datasette.facets")
        self._request = importlib.import_module("datasette.utils.asgi").Request
        peer = self

        class Watched(app.Datasette):  # type: ignore[misc, name-defined]
            async def execute(self, *args: Any, **options: Any) -> Any:
                start = clock()
                try:
                    return await super().execute(*args, **options)
                finally:
                    peer._spent_ms += (clock() - start) * 1_000

        no_limit_ms = 10**8
        self._spent_ms = 0.0
        self._app = Watched(
            [str(path)],
            settings={
                "default_facet_size": TOP,
                "facet_time_limit_ms": no_limit_ms,
                "sql_time_limit_ms": no_limit_ms,
                "num_sql_threads": 1,
                "cache_size_kb": _CACHE_KB,
            },
        )
        self._database = path.stem

    async def count(self, condition: Condition) -> tuple[float, dict[str, list[tuple[str, int]]]]:
        """Milliseconds, and the buckets of each of the 13."""
        where, values = condition.sqlite()
        asked = "&".join(f"_facet={name}" for name in COLUMNS)
        facet = self._facets.ColumnFacet(
            self._app,
            self._request.fake(f"/{self._database}/item?{asked}"),
            self._database,
            sql=f"select * from item where {where}",
            params=values,
        )
        self._spent_ms = 0.0
        results, timed_out = await facet.facet_results()
        if timed_out:
            raise RuntimeError(f"Datasette gave up on {timed_out}")
        found = {result["name"]: [(row["value"], row["count"]) for row in result["results"]] for result in results}
        return self._spent_ms, found

    def close(self) -> None:
        for database in self._app.databases.values():
            database.close()
        if self._app.executor is not None:
            self._app.executor.shutdown()


class Duck:
    """DuckDB over strings, two threads: facet columns and a list of tags, no text."""

    NAME = "duck.db"

    def __init__(self, folder: Path) -> None:
        duckdb = importlib.import_module("duckdb")
        self._folder = folder
        self.conn = duckdb.connect(str(folder / self.NAME), config={"threads": 2})

    @classmethod
    def begin(cls, folder: Path) -> Duck:
        for file in folder.glob(cls.NAME + "*"):
            file.unlink()
        made = cls(folder)
        names = ", ".join(f"{name} VARCHAR" for name in COLUMNS)
        made.conn.execute(f"CREATE TABLE item(id BIGINT, {names}, tags VARCHAR[])")
        return made

    def add(self, rows: Sequence[Row]) -> None:
        # A file, as rows bound one by one take DuckDB longer than all the rest.
        path = self._folder / "duck.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([(r.number, *r.values, _TAG_MARK.join(r.tags)) for r in rows])
        types = {"id": "BIGINT", **dict.fromkeys([*COLUMNS, "tags"], "VARCHAR")}
        self.conn.execute(
            "INSERT INTO item SELECT * REPLACE (string_split(tags, chr(31)) AS tags)"
            f" FROM read_csv('{path}', header=false, auto_detect=false, quote='\"', escape='\"', columns={types})"
        )
        path.unlink()

    def finish(self) -> None:
        self.conn.execute("CHECKPOINT")

    def counts(self, condition: Condition) -> list[Counts]:
        """All 14 facets, the tag last: each its largest values, the total, those without, and the number of values."""
        where, values = condition.duck()
        (total,) = self.conn.execute(f"SELECT count(*) FROM item WHERE {where}", values).fetchone()
        found = []
        for name in COLUMNS:
            inner = f"SELECT {name} v, count(*) c FROM item WHERE {where} AND {name} IS NOT NULL GROUP BY 1"
            found.append(self._ranked(inner, values, total))
        inner = f"SELECT unnest(tags) v, count(*) c FROM item WHERE {where} GROUP BY 1"
        tags = self._ranked(inner, values, total)
        (untagged,) = self.conn.execute(f"SELECT count(*) FROM item WHERE {where} AND len(tags) = 0", values).fetchone()
        return [*found, tags._replace(missing=untagged)]

    def _ranked(self, inner: str, values: list[str], total: int) -> Counts:
        sql = (
            f"WITH g AS MATERIALIZED ({inner}) SELECT v, c, (SELECT count(*) FROM g), (SELECT sum(c) FROM g) FROM g"
            f" ORDER BY c DESC, v LIMIT {TOP}"
        )
        found = self.conn.execute(sql, values).fetchall()
        distinct, held = (found[0][2], int(found[0][3])) if found else (0, 0)
        return Counts([(row[0], row[1]) for row in found], total, total - held, distinct)

    def close(self) -> None:
        self.conn.close()


class Tantivy:
    """An index of words with their frequencies; texts are read from the plain table."""

    NAME = "tantivy"

    def __init__(self, folder: Path) -> None:
        self._tantivy = tantivy = importlib.import_module("tantivy")
        builder = tantivy.SchemaBuilder()
        builder.add_integer_field("id", stored=True)
        builder.add_text_field("text", index_option="freq")
        builder.add_text_field("workspace", tokenizer_name="raw", index_option="basic")
        self._schema = builder.build()
        path = folder / self.NAME
        path.mkdir(exist_ok=True)
        self._index = tantivy.Index(self._schema, path=str(path))
        self._writer: Any = None

    @classmethod
    def begin(cls, folder: Path) -> Tantivy:
        shutil.rmtree(folder / cls.NAME, ignore_errors=True)
        made = cls(folder)
        made._writer = made._index.writer(heap_size=256_000_000, num_threads=2)
        return made

    def add(self, rows: Sequence[Row]) -> None:
        for row in rows:
            document = self._tantivy.Document()
            document.add_integer("id", row.number)
            document.add_text("text", row.text)
            if row.workspace is not None:
                document.add_text("workspace", row.workspace)
            self._writer.add_document(document)

    def finish(self) -> None:
        self._writer.commit()
        self._writer.wait_merging_threads()

    def search(self, words: Sequence[str], workspace: str | None, plain: PlainSql) -> list[str]:
        tantivy = self._tantivy
        query = tantivy.Query.boolean_query(
            [(tantivy.Occur.Should, tantivy.Query.term_query(self._schema, "text", word)) for word in words]
        )
        if workspace is not None:
            wanted = tantivy.Query.term_query(self._schema, "workspace", workspace, index_option="basic")
            query = tantivy.Query.boolean_query(
                [(tantivy.Occur.Must, query), (tantivy.Occur.Must, tantivy.Query.const_score_query(wanted, 0.0))]
            )
        searcher = self._index.searcher()
        found = searcher.search(query, HITS).hits
        return [plain.text(searcher.doc(address)["id"][0]) for _, address in found]

    def close(self) -> None:
        pass
