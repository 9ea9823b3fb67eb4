"""What a keyword search finds and in which order, and the answers that recall makes of it."""

from __future__ import annotations

import math
import random
import sqlite3
from contextlib import closing
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from explorer.contract import (
    FetchMode,
    FetchRequest,
    ForgetTarget,
    Hit,
    InvalidRequest,
    MetaFilter,
    Namespace,
    Reach,
    RecallRequest,
    TimeHint,
    Timestamp,
    Unsupported,
)
from explorer.engines.sqlite import SqliteEngine, schema
from explorer.engines.sqlite import search as search_module
from explorer.engines.sqlite.columns import Columns, Mask
from explorer.engines.sqlite.search import STEM_WEIGHT, KeywordSearch
from explorer.engines.sqlite.tokens import parse_query
from tests.engines.sqlite.support import fill, note, opened


async def search(engine: SqliteEngine, query: str, limit: int = 50, **options: object) -> list[Hit]:
    req = FetchRequest.model_validate({"query": query, "mode": "keyword", "limit": limit, **options})
    return (await engine.fetch(req)).hits


async def texts(engine: SqliteEngine, query: str, **options: object) -> list[str]:
    return [hit.text for hit in await search(engine, query, **options)]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("我喜欢深色模式", "深色"),
        ("我喜欢深色模式", "深色模式"),
        ("我喜欢深色模式", "欢"),
        ("数据库备份完成", "备份"),
        ("数据库备份完成", "库"),
        ("일요일에 만나요", "요일"),
        ("これは日本語です", "日本語"),
        ("ภาษาไทย", "ไทย"),
        ("launched 🚀 today", "🚀"),
        ("launched🚀today", "🚀"),
        ("call getUserProfile first", "profile"),
        ("call getUserProfile first", "UserProfile"),
        ("call get_user_profile first", "profile"),
        ("a café in Zürich", "cafe zurich"),
        ("the cafe", "CAFÉ"),
        ("error ERR-4012 again", "ERR-4012"),
        ("see app_main.py", "app_main.py"),
        ("in /home/me/src/x", "me/src"),
        ("kept session-recalls", "session-recall"),
        ("~/Downloads/x", "Downloads/x"),
        ("I don't", "don't"),
        ("on ubuntu 20.04", "ubuntu 20.04"),
        ('pass "--error-on-warnings"', '"--error-on-warnings"'),
        ("due 2026-12-15", "2026-12-15"),
        ("before\0after", "after"),
        ("Straße", "STRASSE"),
    ],
)
async def test_finds(folder: Path, text: str, query: str) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note(text), note("nothing of the kind 明日 👍")])
        assert await texts(engine, query) == [text]


SYNTAX = ["a AND", "NEAR(", "NEAR(a b, 3)", "*", "a*", "col:x", "^x", '"', "'; DROP TABLE item; --", "a OR", "(", "%_"]
HUGE = ["x" * 10_000, "x y " * 2_500, "日" * 10_000, "🚀" * 3_000, '"' * 10_000]


@pytest.mark.parametrize("query", [*SYNTAX, *HUGE, "\0", "\N{RIGHT-TO-LEFT OVERRIDE}"])
async def test_any_query_is_literal_text(folder: Path, query: str) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note("apple"), note("pear")])
        assert await texts(engine, query) == []


async def test_blank_query_and_undeclared_modes_are_refused(folder: Path) -> None:
    async with opened(folder / "memory.db", embedder=None) as engine:
        with pytest.raises(InvalidRequest, match="fetch query must not be empty"):
            await search(engine, " \u3000")
        for mode in (FetchMode.VECTOR, FetchMode.HYBRID):
            with pytest.raises(Unsupported, match=f"engine `sqlite` does not offer {mode} fetch"):
                await engine.fetch(FetchRequest(query="a", mode=mode, limit=1))
    assert not (folder / "memory.db").exists()


async def test_characters_that_stand_apart_are_no_run(folder: Path) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note("深色的，色模与模式"), note("深色模式"), note("深 色 模 式")])
        assert await texts(engine, "深色模式") == ["深色模式"]
        assert await texts(engine, "深色") == ["深色模式", "深色的，色模与模式"]


async def test_phrase_comes_before_the_same_words_apart(folder: Path) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note("green tea leaves"), note("tea leaves that are green"), note("green leaves of tea")])
        assert (await texts(engine, "green tea"))[0] == "green tea leaves"


async def test_filter_and_reach_hold_inside_the_ranking(folder: Path) -> None:
    a, service = Namespace.agent("a"), Namespace.parse("agent:a/service:job")
    async with opened(folder / "memory.db") as engine:
        # The best matches are beyond the filter: a filter after the ranking would leave too few.
        await fill(engine, [note(f"apple apple {number}", workspace="other") for number in range(50)])
        await fill(engine, [note(f"apple and pear {number}", workspace="mine") for number in range(3)])
        await fill(engine, [note("apple", namespace=a), note("apple", namespace=service)])
        assert len(await search(engine, "apple", limit=3, filter=MetaFilter(workspace="mine"))) == 3
        assert len(await search(engine, "apple", filter=MetaFilter(reach=Reach.exact(a)))) == 1
        assert len(await search(engine, "apple", filter=MetaFilter(reach=Reach.exact(service)))) == 1
        assert len(await search(engine, "apple", limit=100)) == 54


async def test_days_referred_to_come_first_in_their_zone(folder: Path) -> None:
    def seen(text: str, at: str | None) -> object:
        return note(text, observed_at=None if at is None else Timestamp.parse(at))

    items = [
        seen("tea tea tea", "2024-05-02T12:00:00Z"),
        seen("tea late", "2024-05-01T11:59:59Z"),  # 23:59:59 of 1 May in Auckland
        seen("tea next", "2024-05-01T12:00:00Z"),  # midnight there
        seen("tea first", "2024-04-30T12:00:00Z"),
        seen("tea before", "2024-04-30T11:59:59.999999999Z"),
        seen("tea undated", None),
    ]
    hint = TimeHint.model_validate({"from": date(2024, 5, 1), "to": date(2024, 5, 1), "zone": "Pacific/Auckland"})
    ends = TimeHint.model_validate({"from": date(1, 1, 1), "to": date(9999, 12, 31), "zone": "Pacific/Auckland"})
    async with opened(folder / "memory.db") as engine:
        await fill(engine, items)  # type: ignore[arg-type]
        plain = await texts(engine, "tea")
        assert plain[0] == "tea tea tea"
        lifted = await texts(engine, "tea", refers_to=hint)
        assert sorted(lifted[:2]) == ["tea first", "tea late"]
        assert lifted[2:] == [text for text in plain if text not in ("tea first", "tea late")]
        assert (await texts(engine, "tea", refers_to=ends))[-1] == "tea undated"
        first = await engine.fetch(FetchRequest(query="tea", mode=FetchMode.KEYWORD, limit=2, refers_to=hint))
        rest = FetchRequest(query="tea", mode=FetchMode.KEYWORD, limit=9, refers_to=hint, cursor=first.next_cursor)
        assert [hit.text for hit in [*first.hits, *(await engine.fetch(rest)).hits]] == lifted


def bm25(held: dict[int, list[str]], query: list[str]) -> dict[int, float]:
    """The formula by hand, over every text: the scores above 0."""
    average = sum(map(len, held.values())) / len(held)
    scores = dict.fromkeys(held, 0.0)
    for word in query:
        holders = sum(word in words for words in held.values())
        rarity = max(0.001, math.log((len(held) - holders + 0.5) / (holders + 0.5)))
        for row, words in held.items():
            count = words.count(word)
            scores[row] += rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(words) / average))
    return {row: score for row, score in scores.items() if score > 0}


class Scores:
    """What a reader of its own makes of a file, from its begin on."""

    def __init__(self, path: Path) -> None:
        self._conn = sqlite3.connect(path, isolation_level=None)
        self.columns = Columns()
        self._search = KeywordSearch(self.columns)

    def of(self, query: str, mask: Mask | None = None) -> dict[int, float]:
        """The score of each row found."""
        self._conn.execute("BEGIN")  # one snapshot, as all reads have
        self._search.postings.sync(self._conn, self.columns.sync(self._conn))
        parsed = parse_query(query)
        rows, scores = self._search.score(self._conn, parsed, self.columns.alive.values if mask is None else mask)
        assert scores.dtype == np.float32
        assert rows.tolist() == sorted(set(rows.tolist()))
        best = self._search.best_possible(self._conn, parsed)
        self._conn.execute("ROLLBACK")
        assert (scores > 0).all()
        assert (scores <= best * 1.000001).all()
        return dict(zip(rows.tolist(), scores.tolist(), strict=True))

    def close(self) -> None:
        self._conn.close()


@pytest.mark.parametrize("run", [8, 1 << 12])
async def test_scores_are_bm25_in_sealed_runs_and_before(
    folder: Path, monkeypatch: pytest.MonkeyPatch, run: int
) -> None:
    monkeypatch.setattr(schema, "RUN", run)
    monkeypatch.setattr(schema, "SEGMENT", 4 * run)
    rand = random.Random(5)
    words = ["ox", "ant", "bee", "cat", "dog", "elk", "fox"]  # no two of a stem, none the beginning of another
    held = {row: [f"n{row}", *rand.choices(words, k=rand.randint(1, 30))] for row in range(90)}
    ids = []
    async with opened(folder / "memory.db") as engine:
        for start in range(0, 90, 7):
            batch = [note(" ".join(held[row])) for row in range(start, min(start + 7, 90))]
            ids += await fill(engine, batch)
            if not start:
                scores = Scores(folder / "memory.db")
            scores.of("elk")  # so that later words are added to those already in memory
        with closing(scores):
            for query in ("elk", "elk ox", "fox n7 ant ox"):
                assert scores.of(query) == pytest.approx(bm25(held, query.split()), rel=1e-4)
            # Then again, with every third item gone.
            await engine.forget(ForgetTarget(ids=ids[::3]))
            held = {row: each for row, each in held.items() if row % 3}
            for query in ("elk", "elk ox", "fox n7 ant ox"):
                wanted = bm25(held, query.split())
                assert scores.of(query) == pytest.approx(wanted, rel=1e-4)
                mask = scores.columns.alive.values.copy()
                mask[10:60] = False
                chosen = {row: score for row, score in wanted.items() if mask[row]}
                assert scores.of(query, mask) == pytest.approx(chosen, rel=1e-4)
            assert scores.of("nothing") == scores.of("?") == {}


@pytest.mark.parametrize(
    ("text", "query", "language"),
    [
        ("they were running late", "run", None),
        ("he runs", "running", None),
        ("a run", "runs", "en-GB"),
        ("getUserProfiles()", "profile", "python"),
        ("viele Häuser", "Haus", "de"),
        ("im Haus", "Häusern", "German"),
        ("новая книга", "новый", "ru-RU"),
        ("elle est aimée", "aimer", "fr"),
    ],
)
async def test_finds_other_words_of_the_stem(folder: Path, text: str, query: str, language: str | None) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note(text, language=language), note("nothing of the kind")])
        assert await texts(engine, query) == [text]


@pytest.mark.parametrize("run", [2, 1 << 12])
async def test_stems_do_not_touch_the_score_of_the_word_itself(
    folder: Path, monkeypatch: pytest.MonkeyPatch, run: int
) -> None:
    monkeypatch.setattr(schema, "RUN", run)
    held = {0: ["one", "run"], 1: ["one", "running"], 2: ["two", "runs", "running"], 3: ["run", "running", "runs"]}
    held |= {row: ["other", f"n{row}"] for row in range(4, 20)}
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note(" ".join(words)) for words in held.values()])
    with closing(Scores(folder / "memory.db")) as scores:
        found = scores.of("run")
        assert found.keys() == {0, 1, 2, 3}
        assert {row: found[row] for row in (0, 3)} == pytest.approx(bm25(held, ["run"]), rel=1e-4)
        # The others as if their words of the stem were one, in as many items as hold any.
        stemmed = {row: ["run" if word.startswith("run") else word for word in words] for row, words in held.items()}
        wanted = bm25(stemmed, ["run"])
        assert {row: found[row] for row in (1, 2)} == pytest.approx(
            {row: wanted[row] * STEM_WEIGHT for row in (1, 2)}, rel=1e-4
        )
        assert scores.of("running").keys() == {0, 1, 2, 3}


async def test_longer_words_come_last_and_only_where_few_items_hold_the_word(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = {0: ["a", "recall"], 1: ["my", "recallbox"], 2: ["a", "rec"], 3: ["the", "recalls"], 4: ["no", "other"]}
    held |= {5: ["recallbox", "recall"]}
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note(" ".join(words)) for words in held.values()])
        assert await texts(engine, "re") == []  # too short to stand for longer words
    with closing(Scores(folder / "memory.db")) as scores:
        found = scores.of("recall")
        assert sorted(found, key=lambda row: -found[row])[2:] == [3, 1]
        assert {row: found[row] for row in (0, 5)} == pytest.approx(bm25(held, ["recall"]), rel=1e-4)
        assert scores.of("rec").keys() == {0, 1, 2, 3, 5}
        assert scores.of("recall a").keys() == {0, 2, 3, 5}  # the last word only
        monkeypatch.setattr(search_module, "PREFIX_BELOW", 3)
        assert scores.of("recall").keys() == {0, 3, 5}
        mask = scores.columns.alive.values.copy()
        mask[0] = False
        assert scores.of("recall", mask).keys() == {3, 5}  # a filter adds no hit


async def test_filters_leave_rarities_alone_and_these_are_forgotten_when_many(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "PREFIX_BELOW", 2)
    monkeypatch.setattr(search_module, "_KEPT", 3)
    held = ["a recall", "my recallbox", "recall", "the recalls", "no other", "recallbox recall"]
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note(text) for text in held])
    with closing(sqlite3.connect(folder / "memory.db", isolation_level=None)) as conn:
        columns = Columns()
        words = KeywordSearch(columns)
        words.postings.sync(conn, columns.sync(conn))
        query = parse_query("recall")
        expected = words.rarities(conn, query), words.best_possible(conn, query)
        few = columns.alive.values.copy()
        few[[0, 2, 3]] = False
        for mask in (few, columns.alive.values):
            words.score(conn, query, mask)
            assert (words.rarities(conn, query), words.best_possible(conn, query)) == expected
        wide = parse_query(" ".join(f"word{number}" for number in range(9)))
        assert len(words.rarities(conn, wide)) == 9
        assert words.rarities(conn, query) == expected[0]
        assert len(words._most) <= 3


async def test_ties_go_to_the_later_stored(folder: Path) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note(f"apple {letter}") for letter in "abcdefgh"])
        assert await texts(engine, "apple") == [f"apple {letter}" for letter in "hgfedcba"]


async def test_recall_quotes_the_sentence_that_answers(folder: Path) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(
            engine,
            [
                note("The weather was fine. Maria moved to Lisbon in May. She likes it there."),
                note("Lisbon is a city."),
                note("Unrelated."),
            ],
        )
        answer = await engine.recall(RecallRequest(question="Where did Maria move to in May?", limit=5))
        assert answer.answer == "- “Maria moved to Lisbon in May.”"
        assert [citation.snippet for citation in answer.citations] == ["Maria moved to Lisbon in May."]
        assert answer.citations[0].score is not None
        assert answer.citations[0].score > 0
        assert answer.model == "sqlite"
        both = await engine.recall(RecallRequest(question="Maria Lisbon", limit=5))
        assert both.answer == "- “Maria moved to Lisbon in May.”\n- “Lisbon is a city.”"
        assert len((await engine.recall(RecallRequest(question="Maria Lisbon", limit=1))).citations) == 1


async def test_recall_says_when_nothing_answers(folder: Path) -> None:
    async with opened(folder / "memory.db") as engine:
        for question in ("Where is Maria?", "?", "the"):
            answer = await engine.recall(RecallRequest(question=question, limit=5))
            assert answer.answer == "Nothing stored answers this question."
            assert answer.citations == []
        await fill(engine, [note("the end")])
        assert len((await engine.recall(RecallRequest(question="the", limit=5))).citations) == 1
        assert (await engine.recall(RecallRequest(question="the weather", limit=5))).citations == []


@pytest.mark.parametrize("text", ["." * 300_000, "! " * 50_000, " \n" * 100_000, "a" * 300_000, "。" * 50_000])
async def test_recall_of_strange_texts_takes_no_time_to_speak_of(folder: Path, text: str) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note(f"needle {text} needle")])
        assert "needle" in (await engine.recall(RecallRequest(question="needle", limit=1))).answer


async def test_recall_cuts_a_long_sentence_around_what_answers(folder: Path) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note("word " * 5_000 + "needle " + "word " * 5_000)])
        answer = await engine.recall(RecallRequest(question="needle", limit=1))
        assert "needle" in answer.citations[0].snippet
        assert len(answer.citations[0].snippet) <= 302
