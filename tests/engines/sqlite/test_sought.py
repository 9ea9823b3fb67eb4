"""Finding the words of a query in a text, as the index finds them in its terms."""

from __future__ import annotations

import random

import pytest

from explorer.contract import Document, DocumentBody, MemoryMeta, StoreItem
from explorer.engines.sqlite import sought as sought_module
from explorer.engines.sqlite.passages import passages_of, statements_of
from explorer.engines.sqlite.search import PREFIX_WEIGHT, STEM_WEIGHT
from explorer.engines.sqlite.sought import Sought, Text, Wanted, _times
from explorer.engines.sqlite.tokens import STEM_MARK, Unit, index_terms, parse_query, spaced, stemmer_of, stems
from tests.engines.sqlite.support import note
from tests.engines.sqlite.test_passages import sentences

WORDS = (
    *("run", "runs", "running", "runner", "rerun", "go", "going", "gone", "goes", "category", "categories", "cat"),
    *("userProfile", "UserProfiles", "user_profile", "profiling", "HTTPServer", "x1", "x12", "the", "there", "their"),
    *("café", "Cafés", "naïve", "Straße", "über", "数据库", "数据", "据库", "備份", "🚀", "ไทย", "日本語です", "3.14"),
)
BETWEEN = (" ", " ", " ", "\n", ", ", ". ", "-", "/", "")


def wanted(unit: Unit, language: str | None = None) -> Wanted:
    return Wanted(unit, 1.0, [] if unit.word is None else stems(unit.word, [stemmer_of(language)]))


def sought(query: str) -> Sought:
    return Sought([wanted(unit) for unit in parse_query(query).units], spaced(query))


def holds(unit: Unit, item: StoreItem) -> bool:
    """Whether the index says that the item holds a unit, in any form."""
    terms = index_terms(item.render_text(), item.meta.language).counts
    akin = stems(unit.word, [stemmer_of(item.meta.language)]) if unit.word is not None else []
    if any(stem in terms or stem + STEM_MARK in terms for stem in akin):
        return True
    if unit.phrase is not None:
        return unit.phrase in spaced(item.render_text())
    if unit.is_prefix and any(term.startswith(unit.terms[0]) for term in terms):
        return True
    return all(term in terms for term in unit.terms)


@pytest.mark.parametrize("seed", range(60))
def test_finds_what_the_index_finds(seed: int) -> None:
    rand = random.Random(seed)
    for _ in range(10):
        text = "".join(rand.choice(WORDS) + rand.choice(BETWEEN) for _ in range(rand.randint(1, 12)))
        item = note(text, language=rand.choice([None, "en", "de"]))
        for unit in parse_query(" ".join(rand.choices(WORDS, k=2))).units:
            if unit.terms[0] in ("strasse", "the", "their") or unit.terms[0].isdigit():
                continue  # two characters for one; words that are looked for as they are; parts like the 4 of a4
            spots = wanted(unit, item.meta.language).spots(Text.of(item))
            assert bool(spots) == holds(unit, item), (text, unit)


@pytest.mark.parametrize(
    ("text", "query", "counts"),
    [
        ("Running, the runner ran; they run", "run there", {0: STEM_WEIGHT, 30: 1.0}),
        ("getUserProfile of a profile", "profile x", {7: 1.0, 20: 1.0}),
        ("recall recalls", "recall", {0: 1.0, 7: STEM_WEIGHT}),
        ("build buildbot_", "build", {0: 1.0, 6: PREFIX_WEIGHT}),
        ("Café, CAFÉ, cafe", "cafe x", {0: 1.0, 6: 1.0, 12: 1.0}),
        ("我用profile喜欢深色模式", "profile 深色模式", {2: 1.0}),
        ("dying", "die x", {}),
    ],
)
def test_places_and_what_each_form_counts(text: str, query: str, counts: dict[int, float]) -> None:
    unit = parse_query(query).units[0]
    assert dict(wanted(unit).spots(Text.of(note(text)))) == counts


def test_best_passage_is_the_one_that_holds_most_of_the_query() -> None:
    item = note(f"Apples. {sentences(20)} Apples and pears. {sentences(20)} Pears.")
    look = sought("apples pears").look(item)
    assert look.span in passages_of(item)
    start, stop = look.span or (0, 0)
    assert "Apples and pears" in item.render_text()[start:stop]
    assert look.share == 1.0
    assert not look.is_whole
    assert 0 < look.passage < 1
    assert sought("apples plums").look(item).share == pytest.approx(0.5)
    nothing = sought("plums").look(item)
    assert (nothing.share, nothing.passage, nothing.span) == (0, 0, None)


def test_query_as_one_phrase() -> None:
    for text in ("buy green tea now", "Green-Tea!", "a greenTea", "grün, green\ntea", "the green teapot"):
        assert sought("green tea").look(note(text)).is_whole == (text != "a greenTea"), text
    for text in ("tea that is green", "evergreen tea", "green"):
        assert not sought("green tea").look(note(text)).is_whole
    assert sought("日本 tea").look(note("日本 tea")).is_whole


def test_characters_that_stand_apart_prove_no_run() -> None:
    unit = parse_query("深色模式").units[0]
    look = sought("深色模式").look(note("深色的，色模与模式"))
    assert look.unproven == [unit]
    assert look.share == 0
    whole = sought("深色模式").look(note(f"{'很' * 799}深色模式"))  # across two passages
    assert (whole.share, whole.unproven) == (1.0, [])


def test_shares_of_pieces() -> None:
    item = Document(body=DocumentBody(text="red car. blue car. green"), meta=MemoryMeta())
    assert sought("blue cars").shares(item, [(0, 8), (9, 18), (19, 24)]) == pytest.approx([0.5, 1.0, 0.0])


@pytest.mark.parametrize("seed", range(20))
def test_what_pieces_hold_is_what_lies_in_them(seed: int) -> None:
    rand = random.Random(seed)
    bounds = sorted(rand.sample(range(200), 2 * rand.randint(1, 20)))
    starts = sorted(max(0, start - rand.choice([0, 0, 9])) for start in bounds[::2])  # some begin in the one before
    spans = list(zip(starts, bounds[1::2], strict=True))
    spots = [(at, rand.choice([0.25, 0.7, 1.0])) for at in sorted(rand.sample(range(220), rand.randint(0, 60)))]
    expected = {
        number: sum(counts for at, counts in spots if start <= at < stop)
        for number, (start, stop) in enumerate(spans)
        if any(start <= at < stop for at, _ in spots)
    }
    assert dict(_times(spots, spans)) == expected


def test_a_long_text_takes_a_time_that_grows_with_its_length_only() -> None:
    """Of a log of 1.2 MB every place would be compared with every passage and statement: minutes."""
    line = "2024-05-01 12:00:01 error: the request failed for user"
    item = note("".join(f"{line} {number}\n" for number in range(20_000)))
    statements = statements_of(item)
    assert len(statements) == 20_000
    (share,) = set(sought("which request failed").shares(item, statements))
    assert 0.5 < share < 1
    assert sought("error failed").look(item).passage > 0


@pytest.mark.parametrize("text", ["xY" * 200_000, "é" + "xY" * 200_000])
def test_a_long_unbroken_run_takes_no_time_to_speak_of(text: str) -> None:
    """Each of its humps would be taken for the begin of a word that goes on to the end."""
    assert sought("y").look(note(text)).chars == len(text)


def test_long_word_is_found_as_the_index_cuts_it() -> None:
    word = "b" * 100
    look = sought(f"{word} extra").look(note(f"see {word} there"))
    assert (look.share, look.span) == (0.5, (0, 110))


def test_long_phrase_is_found_as_a_short_one_is() -> None:
    words = [f"w{number}" for number in range(70)]
    text = f"So: {'-'.join(words)}!"
    assert sought(" ".join(words)).look(note(text)).is_whole
    assert not sought(" ".join(words)).look(note(text.replace("-w40-", "-and-w40-"))).is_whole
    # A pattern would be tried at each of the words, as far as it is long.
    assert not sought("a " * 9_000 + "b").look(note("a " * 200_000 + "c b")).is_whole


def test_text_is_split_once_however_many_runs_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    split = []
    monkeypatch.setattr(sought_module, "spaced", lambda text: split.append(text) or spaced(text))
    query = sought(" ".join(chr(0x4E00 + number) + "日本" for number in range(50)))
    split.clear()
    assert len(query.look(note("日 本")).unproven) == 50
    assert split == ["日 本"]
