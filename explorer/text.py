"""Stored text, numbers and times in the program's words. Free of Qt."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import reduce
from types import MappingProxyType

from explorer.i18n import mark, mark_n, tr, tr_in, tr_n

NARROW = "\u202f"  # narrow no-break space: between groups of digits
NO_BREAK = "\u00a0"  # between a number and its unit
MINUS = "\u2212"
DASH = "–"  # "does not apply"

# fmt: off
MONTHS = (
    # Translators: the months, short, as they stand in a date
    mark("Jan"), mark("Feb"), mark("Mar"), mark("Apr"), mark("May"), mark("Jun"),
    mark("Jul"), mark("Aug"), mark("Sep"), mark("Oct"), mark("Nov"), mark("Dec"),
)
# fmt: on

NOUNS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "character": mark_n("{n} character", "{n} characters"),
        "day": mark_n("{n} day", "{n} days"),
        "hit": mark_n("{n} hit", "{n} hits"),
        "item": mark_n("{n} item", "{n} items"),
        "job": mark_n("{n} job", "{n} jobs"),
        "line": mark_n("{n} line", "{n} lines"),
        "node": mark_n("{n} node", "{n} nodes"),
        "value": mark_n("{n} value", "{n} values"),
    }
)

# What the contract's closed sets are called: kinds of items and of learnings, sources, who takes part, ways to search.
_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "document": mark("document"),
        "conversation": mark("conversation"),
        "learning": mark("learning"),
        "preference": mark("preference"),
        "fact": mark("fact"),
        "procedure": mark("procedure"),
        "correction": mark("correction"),
        "other": mark("other"),
        "folder": mark("folder"),
        "file": mark("file"),
        "link": mark("link"),
        "github": mark("github"),
        "rss": mark("rss"),
        "agent": mark("agent"),
        # Translators: an item was brought in by an import
        "import": mark("import"),
        "user": mark("user"),
        "assistant": mark("assistant"),
        "system": mark("system"),
        "tool": mark("tool"),
        # Translators: this and the next two are ways to search
        "keyword": mark("keyword"),
        "vector": mark("vector"),
        "hybrid": mark("hybrid"),
    }
)

_SIZES = (mark("{n}\u00a0KB"), mark("{n}\u00a0MB"), mark("{n}\u00a0GB"), mark("{n}\u00a0TB"))

# Controls by their short names, U+0000 onwards; tab and line feed are no marks: they are drawn as spaces.
# fmt: off
_C0 = (
    "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "HT", "LF", "VT", "FF", "CR", "SO", "SI",
    "DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US",
)
# C1 controls by theirs, U+0080 onwards (ISO 6429; the names of U+0080, 81, 84 and 99 are the usual aliases).
_C1 = (
    "PAD", "HOP", "BPH", "NBH", "IND", "NEL", "SSA", "ESA", "HTS", "HTJ", "VTS", "PLD", "PLU", "RI", "SS2", "SS3",
    "DCS", "PU1", "PU2", "STS", "CCH", "MW", "SPA", "EPA", "SOS", "SGCI", "SCI", "CSI", "ST", "OSC", "PM", "APC",
)
# fmt: on

# Characters that are not seen, or that move what is seen, by the short names of the Unicode charts.
MARKS: Mapping[str, str] = MappingProxyType(
    {
        **{chr(code): name for code, name in enumerate(_C0) if name not in ("HT", "LF")},
        "\x7f": "DEL",
        **{chr(0x80 + at): name for at, name in enumerate(_C1)},
        "\u00ad": "SHY",
        "\u034f": "CGJ",
        "\u061c": "ALM",
        "\u115f": "HCF",
        "\u1160": "HJF",
        "\u17b4": "KIVAQ",
        "\u17b5": "KIVAA",
        "\u180b": "FVS1",
        "\u180c": "FVS2",
        "\u180d": "FVS3",
        "\u180e": "MVS",
        "\u180f": "FVS4",
        "\u200b": "ZWSP",
        "\u200c": "ZWNJ",
        "\u200d": "ZWJ",
        "\u200e": "LRM",
        "\u200f": "RLM",
        "\u2028": "LSEP",
        "\u2029": "PSEP",
        "\u202a": "LRE",
        "\u202b": "RLE",
        "\u202c": "PDF",
        "\u202d": "LRO",
        "\u202e": "RLO",
        "\u2060": "WJ",
        "\u2061": "FA",
        "\u2062": "IT",
        "\u2063": "IS",
        "\u2064": "IP",
        "\u2066": "LRI",
        "\u2067": "RLI",
        "\u2068": "FSI",
        "\u2069": "PDI",
        "\u206a": "ISS",
        "\u206b": "ASS",
        "\u206c": "IAFS",
        "\u206d": "AAFS",
        "\u206e": "NADS",
        "\u206f": "NODS",
        "\u3164": "HF",
        "\ufeff": "BOM",
        "\uffa0": "HWHF",
        "\ufff9": "IAA",
        "\ufffa": "IAS",
        "\ufffb": "IAT",
        "\U000e0001": "LTAG",
        **{chr(0xE0020 + at): f"TAG {chr(0x20 + at)}" for at in range(0x5F)},
        "\U000e007f": "CTAG",
    }
)
_JOINERS = "\u200c\u200d"
# Every character that may be drawn as something else.
_ODD = re.compile(f"[\n\t{re.escape(''.join(MARKS))}\ufe00-\ufe0f\U000e0100-\U000e01ef\ud800-\udfff\ufffe\uffff]")


def shown(text: str, limit: int = 300) -> str:
    """One line, safe to draw; never an identity.

    Takes the first `limit` characters. Line breaks and tabs become spaces, other controls and what is not seen their
    names in ⟦⟧ (the pictures from U+2400 on are too small to read in a row), and a lone surrogate U+FFFD.
    """
    text = text[:limit]
    if (text.isascii() and text.isprintable()) or _ODD.search(text) is None:  # nearly every cell
        return text
    return "".join(_shown_char(text, at, char) for at, char in enumerate(text))


def _shown_char(text: str, at: int, char: str) -> str:
    if char in "\n\t":
        return " "
    if name := mark_at(text, at):
        return f"⟦{name}⟧"
    if "\ud800" <= char <= "\udfff" or char in "\ufffe\uffff":
        return "\ufffd"
    return char


def mark_at(text: str, at: int) -> str | None:
    """The name by which the hidden character at `at` is drawn; None where the character speaks for itself.

    Joiners and variation selectors do that where they shape the letter or picture before them: Persian words, Indic
    clusters, families of emoji. Elsewhere, as inside a Latin word, they hide something.
    """
    char = text[at]
    if char in _JOINERS:
        return None if _is_shaped(text[at - 1 : at]) and _is_shaped(text[at + 1 : at + 2]) else MARKS[char]
    if "\ufe00" <= char <= "\ufe0f":
        before = text[at - 1 : at]
        return None if _is_shaped(before) or _is_picture(before) else f"VS{ord(char) - 0xFE00 + 1}"
    if "\U000e0100" <= char <= "\U000e01ef":
        return None if _is_ideograph(text[at - 1 : at]) else f"VS{ord(char) - 0xE0100 + 17}"
    return MARKS.get(char)


def _is_shaped(char: str) -> bool:
    """Whether a joiner beside `char` does something: scripts whose letters join or stack, and emoji."""
    if not char:
        return False
    category = unicodedata.category(char)
    if "\u0600" <= char <= "\u109f" or "\u1780" <= char <= "\u18af":
        return category[0] in "LM"
    return char == "\ufe0f" or category == "So" or "\U0001f000" <= char < "\U000e0000"


def _is_picture(char: str) -> bool:
    """Whether `char` has a form as text and one as emoji: signs, and the keys of a telephone."""
    if not char:
        return False
    return char in "#*0123456789" or unicodedata.category(char)[0] == "S" or "\u203c" <= char <= "\u2049"


def _is_ideograph(char: str) -> bool:
    return "\u3400" <= char <= "\u9fff" or "\uf900" <= char <= "\ufaff" or "\U00020000" <= char <= "\U0003ffff"


def isolate(text: str) -> str:
    """`text` between FSI and PDI, so that its direction cannot reach what stands beside it."""
    return f"\u2068{text}\u2069"


def inline(text: str, limit: int = 300) -> str:
    """`text` as `shown` has it, for the middle of a sentence: isolated where it holds what runs from right to left."""
    drawn = shown(text, limit)
    return isolate(drawn) if any(unicodedata.bidirectional(char) in ("R", "AL", "AN") for char in drawn) else drawn


def label(text: str) -> str:
    """`text` for a button, a tab or a menu, where a lone & would vanish into a shortcut."""
    return text.replace("&", "&&")


def tip(text: str) -> str:
    """`text` for a tooltip, where Qt takes what looks like HTML for HTML: drawn as it is written."""
    return f"<p style='white-space: pre-wrap'>{html.escape(text)}</p>" if text else ""


def number(n: int) -> str:
    """`n` with narrow no-break spaces between groups of three digits, from four digits on; a true minus sign."""
    return f"{n:,}".replace(",", NARROW).replace("-", MINUS)


def at_least(n: int) -> str:
    """A count that is known only from below: `5 000+`."""
    return f"{number(n)}+"


def counted(n: int, noun: str, is_least: bool = False) -> str:
    """A count with its noun, one of `NOUNS`: `1 item`, `1 891 items`; `5 000+ items` where more may be there."""
    one, many = NOUNS[noun]
    return tr_n(one, many, max(n, 2) if is_least else n, n=at_least(n) if is_least else number(n))


def sentence(said: str) -> str:
    """The text of an error as a sentence: its first letter raised and nothing else, what is odd in it shown."""
    said = shown(said, 600).strip().removesuffix(".")
    return full_stop(f"{said[:1].upper()}{said[1:]}") if said else ""


def full_stop(said: str) -> str:
    """`said` as a sentence that ends."""
    return tr("{said}.", said=said)


def named(name: str, said: str) -> str:
    """`Page: 3 to 5`."""
    return tr("{name}: {said}", name=name, said=said)


def listed(parts: Iterable[str]) -> str:
    """`a, b, c`, without those that are empty."""
    return reduce(lambda some, one: tr("{some}, {one}", some=some, one=one) if some else one, filter(None, parts), "")


def word(value: str) -> str:
    """The word for a value of the contract's enums: a kind, a source, a role; one that is not known as it is."""
    return tr(_WORDS[value]) if value in _WORDS else value


def and_more(n: int) -> str:
    """The end of a list that is not written whole: `and 12 more`."""
    return tr_n("and {n} more", "and {n} more", n, n=number(n))


def out_of(n: int, total: int) -> str:
    """`37 of 148`."""
    return tr("{n} of {total}", n=number(n), total=number(total))


def from_to(first: str, last: str) -> str:
    """`3 to 6`; `3` where both ends are the same."""
    return first if first == last else tr("{first} to {last}", first=first, last=last)


def either(choices: Iterable[str]) -> str:
    """`refunds or billing or tax`; nothing of none."""
    return reduce(lambda some, one: tr("{some} or {one}", some=some, one=one) if some else one, choices, "")


def in_quotes(said: str) -> str:
    """`“refunds”`."""
    return tr("“{text}”", text=said)


def share(part: float, whole: float) -> str:
    """`part` of `whole` in percent: `72 %`; never `0 %` for something nor `100 %` for less than all; – of nothing."""
    if whole == 0:
        return DASH
    percent = 100 * part / whole
    if 0 < percent < 1:
        return f"<{NARROW}1{NO_BREAK}%"
    if 99 < percent < 100:
        return f">{NARROW}99{NO_BREAK}%"
    return f"{number(round(percent))}{NO_BREAK}%"


def size(size_bytes: int) -> str:
    """Bytes for a person, in powers of 1000: `312 bytes`, `48.6 KB`, `24.6 MB`."""
    n, power = _scaled(size_bytes)
    return _sized(n, power, size_bytes)


def size_out_of(part_bytes: int, whole_bytes: int) -> str:
    """`9.0 of 48.6 KB`, `312 bytes of 48.6 KB`."""
    (part, part_power), (whole, power) = _scaled(part_bytes), _scaled(whole_bytes)
    if part_power == power:
        return _sized(tr("{n} of {total}", n=part, total=whole), power, whole_bytes)
    return tr("{n} of {total}", n=size(part_bytes), total=size(whole_bytes))


def _scaled(size_bytes: int) -> tuple[str, int]:
    """The number that is written of a size, and the power of 1000 that it counts."""
    if abs(size_bytes) < 1000:
        return number(size_bytes), 0
    value, power = size_bytes / 1000, 1
    while abs(value) >= 999.95 and power < len(_SIZES):
        value, power = value / 1000, power + 1
    return decimals(value, 1), power


def _sized(n: str, power: int, size_bytes: int) -> str:
    """A number of `_scaled` with its unit."""
    if power:
        return tr(_SIZES[power - 1], n=n)
    return tr_n("{n}\u00a0byte", "{n}\u00a0bytes", size_bytes, n=n)


def duration(duration_s: float) -> str:
    """`3 ms`, `0.4 s`, `12 s`, `2 min 10 s`, `1 h 5 min`."""
    if duration_s < 0.1:
        return tr("{n}\u00a0ms", n=max(0, round(duration_s * 1000)))
    if duration_s < 9.95:
        return tr("{n}\u00a0s", n=decimals(duration_s, 1 if round(duration_s, 1) % 1 else 0))
    whole_s = round(duration_s)
    if whole_s < 60:
        return tr("{n}\u00a0s", n=whole_s)
    if whole_s < 3600:
        minutes, rest = divmod(whole_s, 60)
        return tr("{n}\u00a0min {s}\u00a0s", n=minutes, s=rest) if rest else tr("{n}\u00a0min", n=minutes)
    hours, minutes = divmod(round(duration_s / 60), 60)
    if minutes:
        return tr("{n}\u00a0h {min}\u00a0min", n=number(hours), min=minutes)
    return tr("{n}\u00a0h", n=number(hours))


def confidence(value: float) -> str:
    """`0.92`."""
    return decimals(value, 2)


def decimals(value: float, digits: int) -> str:
    """`0.918`, with so many digits after the point; a true minus sign."""
    # Translators: between the whole number and its decimals
    return f"{value:.{digits}f}".replace("-", MINUS).replace(".", tr_in("decimal mark", "."))


def _local(dt: datetime, tz: tzinfo) -> datetime:
    if dt.tzinfo is None:
        raise ValueError("a time without a zone")
    try:
        return dt.astimezone(tz)
    except OverflowError:  # the first and last hours of year 1 and 9999 have no time in some zones
        return dt.astimezone(UTC) if dt.utcoffset() else dt


def month(at: int) -> str:
    """The short name of a month, from 1: `Jun`."""
    return tr(MONTHS[at - 1])


def day_and_month(day: object, at: int) -> str:
    """`30 Jun`. The month is counted from 1, here and below; the others are written as they are given."""
    return tr("{day} {month}", day=day, month=month(at))


def day_and_time(day: object, at: int, clock: str) -> str:
    """`30 Jun 16:42`."""
    return tr("{day} {month} {time}", day=day, month=month(at), time=clock)


def date_in_full(day: object, at: int, year: object) -> str:
    """`30 Jun 2026`."""
    return tr("{day} {month} {year}", day=day, month=month(at), year=year)


def when(dt: datetime, now: datetime, tz: tzinfo) -> str:
    """Short: `30 Jun 16:42` in `now`'s year, `30 Jun 2025` in any other. All times are timezone-aware."""
    local = _local(dt, tz)
    if local.year == _local(now, tz).year:
        return day_and_time(local.day, local.month, f"{local:%H:%M}")
    return date_in_full(local.day, local.month, local.year)


def day(dt: datetime, tz: tzinfo) -> str:
    """The day alone: `30 Jun 2026`."""
    local = _local(dt, tz)
    return date_in_full(local.day, local.month, local.year)


def day_before(dt: datetime, tz: tzinfo) -> str:
    """The last day that a time left open ends: of midnight, the day before."""
    local = _local(dt, tz)
    return day(local - timedelta(days=1) if local.date() > date.min else local, tz)


def is_midnight(dt: datetime, tz: tzinfo) -> bool:
    """Whether a day begins at this time."""
    return _local(dt, tz).time() == time.min


def when_full(dt: datetime, tz: tzinfo) -> str:
    """In full, with the zone's name and offset where they say different things: `30 Jun 2026, 16:42 CEST (UTC+2)`."""
    local = _local(dt, tz)
    clock = f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"
    offset = zone_offset(local)
    name = local.tzname() or ""
    is_name = name.isalpha() and name != "UTC"
    zone = f"{name} ({offset})" if is_name else offset
    date_words = date_in_full(local.day, local.month, local.year)
    return tr("{date}, {time} {zone}", date=date_words, time=clock, zone=zone)


def zone_offset(dt: datetime) -> str:
    """`UTC`, `UTC+2`, `UTC−3:30`."""
    seconds = round((dt.utcoffset() or UTC.utcoffset(None)).total_seconds())
    if seconds == 0:
        return "UTC"
    hours, minutes = divmod(abs(seconds) // 60, 60)
    sign = "+" if seconds > 0 else MINUS
    return f"UTC{sign}{hours}" + (f":{minutes:02}" if minutes else "")


def utc(dt: datetime) -> str:
    """For tooltips: `2026-06-30 14:42:05 UTC`."""
    return f"{_local(dt, UTC).replace(tzinfo=None).isoformat(' ', 'seconds')} UTC"
