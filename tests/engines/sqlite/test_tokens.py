"""How texts and queries are split: the cases of the measurements, and that both are split alike."""

from __future__ import annotations

import unicodedata
from collections import Counter
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.engines.sqlite import tokens
from explorer.engines.sqlite.tokens import (
    MAX_TERM,
    MAX_UNITS,
    STEM_MARK,
    Terms,
    Unit,
    fold,
    index_terms,
    parse_query,
    spaced,
    stemmer_of,
    stems,
)


def count_terms(text: str) -> Counter[str]:
    """The terms of a text without stems."""
    counts = index_terms(text, None).counts
    return Counter({term: count for term, count in counts.items() if not term.endswith(STEM_MARK)})


def test_words_are_runs_of_letters_and_digits_in_lower_case() -> None:
    assert dict(count_terms("The ERR-4012, the don't; me/src app_main.py 20.04")) == {
        "the": 2,
        "err": 1,
        "4012": 1,
        "don": 1,
        "t": 1,
        "me": 1,
        "src": 1,
        "app": 1,
        "main": 1,
        "py": 1,
        "20": 1,
        "04": 1,
    }


@pytest.mark.parametrize(
    ("word", "terms"),
    [
        ("getUserProfile", {"getuserprofile", "get", "user", "profile"}),
        ("HTTPServer2Go", {"httpserver2go", "http", "server", "2", "go"}),
        ("iPhone", {"iphone", "i", "phone"}),
        ("Title", {"title"}),
        ("UPPER", {"upper"}),
        ("snake_case_Name", {"snake", "case", "name"}),
        ("sha256", {"sha256"}),
    ],
)
def test_parts_of_identifiers(word: str, terms: set[str]) -> None:
    assert set(count_terms(word)) == terms
    assert set(count_terms(f"é {word} é")) == terms | {"e"}  # the same beside other scripts


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("Café", "cafe"),
        ("Cafe\u0301", "cafe"),
        ("Straße", "strasse"),
        ("ＦＵＬＬ", "full"),
        ("ﬁne", "fine"),
        ("İstanbul", "istanbul"),
        ("ΆΛΦΑ", "αλφα"),
        ("שָׁלוֹם", "שלום"),
        ("हिन्दी", "हिन्दी"),
        ("मंत्री", "मंत्री"),
    ],
)
def test_accents_case_and_compatibility_forms_are_folded(text: str, term: str) -> None:
    assert list(count_terms(text)) == [term]


def test_scripts_without_spaces_are_split_by_character_and_by_pair() -> None:
    assert dict(count_terms("备份库x")) == {"备": 1, "份": 1, "库": 1, "备份": 1, "份库": 1, "x": 1}
    assert set(count_terms("요일")) == {"요", "일", "요일"}
    assert set(count_terms("が")) == {"が"}
    assert set(count_terms("ｶﾞ")) == {"ガ"}


def test_emoji_are_terms_without_their_variations() -> None:
    assert dict(count_terms("go🚀🚀 👍🏽 👩‍💻 ❤️")) == {"go": 1, "🚀": 2, "👍": 1, "👩": 1, "💻": 1, "❤": 1}


def test_long_words_are_cut_alike_in_text_and_query() -> None:
    word = "a" * 500
    assert list(count_terms(word)) == ["a" * MAX_TERM]
    assert parse_query(word).units[0].terms == ("a" * MAX_TERM,)


def test_query_units() -> None:
    assert parse_query("session-recall").units == (
        Unit(("session",), word="session"),
        Unit(("recall",), is_prefix=True, word="recall"),
    )
    assert parse_query("UserProfile").units == (
        Unit(("userprofile",), is_prefix=True),
        Unit(("user",), word="user"),
        Unit(("profile",), is_prefix=True, word="profile"),
    )
    assert parse_query("Café 2024 v2").units == (Unit(("cafe",), word="café"), Unit(("2024",)), Unit(("v2",)))
    assert parse_query("cafe café").units == (Unit(("cafe",), word="cafe"),)
    assert parse_query("深色").units == (Unit(("深色",)),)
    assert parse_query("深色模式").units == (Unit(("深色", "色模", "模式"), " 深 色 模 式"),)
    assert parse_query("深").units == (Unit(("深",)),)
    assert parse_query("a").phrase is None
    assert parse_query("Session  recall!").phrase == " session recall"


@pytest.mark.parametrize("text", ["", " ", "*", '"', "()", "-_-", "\0", "…"])
def test_query_without_words_has_no_units(text: str) -> None:
    assert parse_query(text).units == ()


def test_huge_query_is_cut() -> None:
    query = parse_query(" ".join(f"w{number}" for number in range(5_000)))
    assert len(query.units) == MAX_UNITS


@given(st.text("aB1 _-Zz", max_size=30) | st.text(st.characters(max_codepoint=127), max_size=40))
def test_plain_texts_are_split_as_others_are(text: str) -> None:
    beside_another_script = count_terms(f"{text} 日")
    del beside_another_script["日"]
    assert count_terms(text) == beside_another_script


@pytest.mark.parametrize(
    ("text", "language", "stemmed"),
    [
        ("running runs run ran", None, {"run!": 2}),
        ("Services RUNNING", "en-GB", {"servic!": 1, "run!": 1}),
        ("getUserProfiles", "python", {"profil!": 1}),  # of the parts, not of the whole
        ("Häuser Haus", "de-AT", {"haus!": 1}),
        ("maisons", "French", {"maison!": 1}),
        ("aimée aimer", "fr", {"aim!": 2}),
        ("новый новая", "rus", {"нов!": 2}),
        ("items3 2024 v2s 日本語 🚀", None, {}),
        ("a" * 100 + "ing", None, {}),
    ],
)
def test_stems_of_words_by_the_language(text: str, language: str | None, stemmed: dict[str, int]) -> None:
    counts = index_terms(text, language).counts
    assert {term: count for term, count in counts.items() if term.endswith(STEM_MARK)} == stemmed
    assert {term: count for term, count in counts.items() if not term.endswith(STEM_MARK)} == count_terms(text)


@pytest.mark.parametrize(
    ("language", "stemmer"),
    [
        (None, "english"),
        ("", "english"),
        ("rust", "english"),
        ("zh-Hans", "english"),
        ("en", "english"),
        ("German", "german"),
        ("pt_BR", "portuguese"),
        ("nb", "norwegian"),
        (" SPA ", "spanish"),
    ],
)
def test_stemmer_of_a_language(language: str | None, stemmer: str) -> None:
    assert stemmer_of(language) == stemmer


def test_length_counts_words_and_characters_but_not_what_is_added() -> None:
    assert index_terms("getUserProfiles running 日本語 🚀🚀 Café", None).length == 8
    assert index_terms("", None) == Terms(Counter(), 0)


def test_words_that_are_forgotten_are_learned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_WORDS_KEPT", 3)
    texts = ["running services", "Profiles of things", "running items", "services running profiles of things items"]
    wanted = [index_terms(text, "en") for text in texts]
    assert [index_terms(text, "en") for _ in range(3) for text in texts] == wanted * 3
    assert wanted[3].counts == {
        **{"services": 1, "running": 1, "profiles": 1, "of": 1, "things": 1, "items": 1},
        **{"servic!": 1, "run!": 1, "profil!": 1, "thing!": 1, "item!": 1},
    }


def test_long_words_are_not_remembered() -> None:
    """Encoded data would stay in memory after it was erased."""
    word, humped = "q" * 100, "fooBar" * 20
    text = f"zebras {word} of {humped} é{word}"
    once = index_terms(text, None)
    assert index_terms(text, None) == once
    assert set(once.counts) == {"zebras", "zebra!", "of", word[:64], humped[:64].lower(), f"e{word}"[:64]}
    for kept in (tokens._vocabulary("english")._known, tokens._vocabulary("english")._known_before):
        assert all(len(known) <= MAX_TERM for known in kept)


MARKS = [
    "\u0301\u0323",
    "\u093c\u094d",  # Indic, which stay
    "\uff9e\u0301",  # a letter that becomes a mark
    "\u0301\u0323\u2026",
]


@pytest.mark.parametrize("marks", MARKS)
@pytest.mark.parametrize("count", [16, 500])
def test_marks_are_put_in_order_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch, marks: str, count: int) -> None:
    """To put many in order takes a time that grows with their square."""
    longest = 0

    def normalize(form: str, text: str) -> str:
        nonlocal longest
        run = 0
        for char in unicodedata.normalize("NFKD", text):
            run = run + 1 if unicodedata.combining(char) else 0
            longest = max(longest, run)
        return unicodedata.normalize(form, text)  # type: ignore[arg-type]

    fake = SimpleNamespace(normalize=normalize, combining=unicodedata.combining)
    monkeypatch.setattr(tokens, "unicodedata", fake)
    text = f"one ka{marks * count}b two"
    terms = count_terms(text)
    query = parse_query(text)
    assert 1 < longest <= 30
    assert all(term in terms for unit in query.units for term in unit.terms)
    assert query.phrase is not None
    assert query.phrase in spaced(text)
    assert not any("\u034f" in term for term in terms)


def test_a_word_with_many_accents_is_the_word() -> None:
    word = "Zu\u0308" + "\u0301\u0323" * 300 + "rich"
    assert list(count_terms(word)) == ["zurich"]
    assert fold(word) == "Zurich"


@given(st.text("abeginsy", min_size=1, max_size=12))
def test_case_makes_no_difference(word: str) -> None:
    assert index_terms(word, None) == index_terms(word.upper(), None) == index_terms(f"{word} ", "en")


@given(
    st.text(max_size=60) | st.text("ingseduly ABé日", max_size=40),
    st.sampled_from([None, "de", "fr", "ru", "ar", "hi"]),
)
def test_text_is_of_every_stem_that_its_words_as_a_query_have(text: str, language: str | None) -> None:
    counts = index_terms(text, language).counts
    for unit in parse_query(text).units:
        for stem in stems(unit.word, [stemmer_of(language)]) if unit.word is not None else []:
            assert stem in counts or stem + STEM_MARK in counts
    assert all(term.rstrip(STEM_MARK) and " " not in term for term in counts)


@given(st.text(max_size=60) | st.text("aB1_ é\u0301日本ก🚀\u200d\ufe0fİßǅ\u0345", max_size=30))
def test_text_has_every_term_that_it_is_asked_for_as_a_query(text: str) -> None:
    terms = count_terms(text)
    query = parse_query(text)
    for unit in query.units:
        assert all(term in terms for term in unit.terms)
        assert unit.phrase is None or unit.phrase in spaced(text)
    assert query.phrase is None or query.phrase in spaced(text)
    assert all(term and " " not in term for term in terms)
