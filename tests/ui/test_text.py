"""Stored text made safe to draw; numbers and times in the program's words."""

from __future__ import annotations

import gettext
import subprocess
import sys
import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from explorer import i18n, text
from explorer.text import MARKS, inline, shown

BERLIN = ZoneInfo("Europe/Berlin")


class Spoken(gettext.NullTranslations):
    """A language of a few messages."""

    def __init__(self, said: dict[str, str]) -> None:
        super().__init__()
        self._said = said

    def gettext(self, message: str) -> str:
        return self._said.get(message, message)


def test_no_qt_comes_with_it() -> None:
    code = "import sys, explorer.text; sys.exit(any(name.startswith('PySide6') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("stored", "drawn"),
    [
        ("before\0after", "before⟦NUL⟧after"),
        ("a\x7fb", "a⟦DEL⟧b"),
        ("a\x85b\x9bc", "a⟦NEL⟧b⟦CSI⟧c"),
        ("customer \u202egnirts", "customer ⟦RLO⟧gnirts"),
        ("\u2066a\u2069\u200e\u200f", "⟦LRI⟧a⟦PDI⟧⟦LRM⟧⟦RLM⟧"),
        ("pass\u200bword", "pass⟦ZWSP⟧word"),
        ("pass\u200dword", "pass⟦ZWJ⟧word"),
        ("\ufeffhead", "⟦BOM⟧head"),
        ("one\ntwo\tthree", "one two three"),
        ("ring\x07\r", "ring⟦BEL⟧⟦CR⟧"),  # the pictures U+2407 and U+240D cannot be read at the size of a row
        ("a\x1fb\x1b[31m", "a⟦US⟧b⟦ESC⟧[31m"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("<b>Erase done</b>", "<b>Erase done</b>"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_shown(stored: str, drawn: str) -> None:
    assert shown(stored) == drawn


@pytest.mark.parametrize(
    "stored",
    [
        "می\u200cخواهم",  # Persian: the joiner's absence would be a spelling mistake
        "क्\u200dष",  # Devanagari: asks for the half form
        "👩\u200d👩\u200d👧",
        "❤\ufe0f\u200d🔥",
        "1\ufe0f\u20e3",
        "葛\U000e0100",  # a variant of an ideograph, as in names
        "أين المبلغ المسترد للطلب 4655؟",
    ],
)
def test_what_shapes_text_is_left_alone(stored: str) -> None:
    assert shown(stored) == stored


def test_data_hidden_in_selectors_and_tags_is_seen() -> None:
    assert shown("a\ufe01b") == "a⟦VS2⟧b"
    assert shown("😀\U000e0101\U000e0102") == "😀⟦VS18⟧⟦VS19⟧"
    assert shown("x\U000e0041") == "x⟦TAG A⟧"


# Format characters with a sign of their own: Arabic, Syriac and Kaithi marks, Egyptian joiners, shorthand, music.
VISIBLE = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
VISIBLE |= {*range(0x13430, 0x13440), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B)}


def test_every_control_and_format_character_is_drawn() -> None:
    for code in set(range(0x110000)) - VISIBLE:
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp"):
            assert shown(f"a{chr(code)}b") != f"a{chr(code)}b", hex(code)


def test_bidi_controls_all_have_names() -> None:
    for code in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)):
        assert chr(code) in MARKS
    assert len(set(MARKS.values())) == len(MARKS)


def test_shown_takes_a_limited_part_of_a_long_text() -> None:
    assert shown("x" * 10_000_000) == "x" * 300
    assert shown("\0" * 5, limit=2) == "⟦NUL⟧⟦NUL⟧"


def test_isolate_keeps_the_text_whole() -> None:
    assert text.isolate("א(12)") == "\u2068א(12)\u2069"


def test_labels_and_tips_are_plain() -> None:
    assert text.label("R&D") == "R&&D"
    made = text.tip("<img src='http://192.0.2.7/p.png'>\n&")
    assert "<img" not in made
    assert made.startswith("<p")  # so that Qt takes the escaped signs back
    assert text.tip("") == ""


@pytest.mark.parametrize(
    ("n", "written"),
    [(0, "0"), (999, "999"), (1891, "1\u202f891"), (12345678, "12\u202f345\u202f678"), (-3895, "−3\u202f895")],
)
def test_number(n: int, written: str) -> None:
    assert text.number(n) == written


def test_counts_in_three_spellings() -> None:
    assert text.number(37) == "37"
    assert text.out_of(37, 1480) == "37 of 1\u202f480"
    assert text.at_least(5000) == "5\u202f000+"


@pytest.mark.parametrize(
    ("n", "written"),
    [
        (0, "0\u00a0bytes"),
        (1, "1\u00a0byte"),
        (999, "999\u00a0bytes"),
        (48_600, "48.6\u00a0KB"),
        (24_600_000, "24.6\u00a0MB"),
        (999_949, "999.9\u00a0KB"),
        (999_950, "1.0\u00a0MB"),
        (3 * 10**15, "3000.0\u00a0TB"),
    ],
)
def test_size(n: int, written: str) -> None:
    assert text.size(n) == written


def test_share_never_rounds_to_nothing_or_to_all() -> None:
    assert text.share(3895, 5440) == "72\u00a0%"  # 71.6
    assert text.share(0, 9) == "0\u00a0%"
    assert text.share(9, 9) == "100\u00a0%"
    assert text.share(1, 5440) == "<\u202f1\u00a0%"
    assert text.share(5439, 5440) == ">\u202f99\u00a0%"
    assert text.share(0, 0) == "–"


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (0.003, "3 ms"),
        (0.4, "0.4 s"),
        (2.0, "2 s"),
        (12.2, "12 s"),
        (130, "2 min 10 s"),
        (120, "2 min"),
        (3900, "1 h 5 min"),
    ],
)
def test_duration(seconds: float, written: str) -> None:
    assert text.duration(seconds).replace("\u00a0", " ") == written


def test_when_is_short_and_never_relative() -> None:
    now = datetime(2026, 7, 3, 15, 0, tzinfo=UTC)
    assert text.when(datetime(2026, 6, 30, 14, 42, tzinfo=UTC), now, BERLIN) == "30 Jun 16:42"
    assert text.when(datetime(2025, 6, 30, 14, 42, tzinfo=UTC), now, BERLIN) == "30 Jun 2025"
    assert text.when(datetime(1969, 12, 31, tzinfo=UTC), now, BERLIN) == "31 Dec 1969"


def test_the_year_is_the_zone_s() -> None:
    # 23:30 UTC on New Year's Eve is the new year in Berlin (UTC+1 in winter)
    now = datetime(2026, 7, 3, tzinfo=UTC)
    assert text.when(datetime(2025, 12, 31, 23, 30, tzinfo=UTC), now, BERLIN) == "1 Jan 00:30"
    assert text.when(datetime(2025, 12, 31, 23, 30, tzinfo=UTC), now, UTC) == "31 Dec 2025"


def test_when_full_names_the_zone() -> None:
    moment = datetime(2026, 6, 30, 14, 42, tzinfo=UTC)
    assert text.when_full(moment, BERLIN) == "30 Jun 2026, 16:42 CEST (UTC+2)"
    assert text.when_full(moment, UTC) == "30 Jun 2026, 14:42 UTC"
    west = timezone(-timedelta(hours=3, minutes=30))
    assert text.when_full(moment.replace(second=5), west) == "30 Jun 2026, 11:12:05 UTC−3:30"


def test_a_language_orders_a_date_as_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {
        "{day} {month} {year}": "{year}年{month}{day}日",
        "{date}, {time} {zone}": "{date} {time} {zone}",
        "Jun": "6月",
    }
    monkeypatch.setattr(i18n, "_words", Spoken(said))
    moment = datetime(2026, 6, 30, 14, 42, tzinfo=UTC)
    assert text.day(moment, BERLIN) == "2026年6月30日"
    assert text.when_full(moment, UTC) == "2026年6月30日 14:42 UTC"


def test_a_language_writes_units_as_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"{n}\u00a0KB": "{n}千字节", "{n} of {total}": "{total}中的{n}", "{n}\u00a0min {s}\u00a0s": "{n}分{s}秒"}
    monkeypatch.setattr(i18n, "_words", Spoken(said))
    assert text.size(48_600) == "48.6千字节"
    assert text.size_out_of(9_000, 48_600) == "48.6中的9.0千字节"
    assert text.duration(130) == "2分10秒"


def test_a_part_of_a_size() -> None:
    assert text.size_out_of(9_000, 48_600) == "9.0 of 48.6\u00a0KB"
    assert text.size_out_of(312, 48_600) == "312\u00a0bytes of 48.6\u00a0KB"
    assert text.size_out_of(1, 312) == "1 of 312\u00a0bytes"


def test_choices_are_joined() -> None:
    assert text.either([]) == ""
    assert text.either(["refunds"]) == "refunds"
    assert text.either(["refunds", "{n}", "tax"]) == "refunds or {n} or tax"


def test_utc_for_tooltips() -> None:
    assert text.utc(datetime(2026, 6, 30, 16, 42, 5, tzinfo=BERLIN)) == "2026-06-30 14:42:05 UTC"


def test_the_ends_of_time_can_be_shown() -> None:
    east, west = timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))
    for moment in (datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)):
        for zone in (east, west):
            assert text.when_full(moment, zone)


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="zone"):
        text.utc(datetime(2026, 1, 1))


@pytest.mark.parametrize(
    ("name", "drawn"), [("a.db", "a.db"), ("זיכרון.db", "\u2068זיכרון.db\u2069"), ("a\u202eb", "a⟦RLO⟧b")]
)
def test_a_name_in_a_sentence_keeps_to_its_own_direction(name: str, drawn: str) -> None:
    assert inline(name) == drawn
