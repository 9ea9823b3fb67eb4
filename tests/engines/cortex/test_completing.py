"""What is written beside the pieces that another program wrote of a document."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.contract import Conflict, Document, DocumentBody, ItemId, MemoryMeta
from explorer.engines.cortex.chunks import LIMIT, Piece
from explorer.engines.cortex.completing import missing_events
from explorer.engines.cortex.envelope import Envelope, Event, decode, lay_out, lay_out_pieces, rebuild

LONG = "".join(f"# Part {n}\n" + "some words of it\n" * 10_000 for n in range(4))


def document(text: str) -> Document:
    return Document(title="Book", body=DocumentBody(text=text), meta=MemoryMeta(tags=["t"]))


def read(events: Sequence[Event]) -> list[Envelope]:
    found = [decode(event.text, event.labels) for event in events]
    return [envelope for envelope in found if envelope is not None]


def written(item: Document, texts: dict[int, str], count: int) -> list[Envelope]:
    return read(lay_out_pieces(item, item.fingerprint(), pieces_of(texts), count))


def pieces_of(texts: dict[int, str]) -> dict[int, Piece]:
    return {number: Piece(text, None, None) for number, text in texts.items()}


def missing(item: Document, held: Sequence[Envelope]) -> list[Envelope]:
    id = item.fingerprint()
    return read(missing_events(item, id, lay_out(item, id), held))


def sliced(text: str, places: int) -> dict[int, str]:
    """The text cut after the characters whose bits are set, or after the first."""
    ends = [place for place in range(1, len(text)) if places >> place & 1] or [1]
    return {number: text[start:end] for number, (start, end) in enumerate(pairwise([0, *ends, len(text)]))}


MASKS = st.integers(0, 2**20 - 1)


@st.composite
def cuts(draw: st.DrawFn) -> tuple[str, dict[int, str], dict[int, str], set[int]]:
    """A text that repeats itself, how it is cut here, how elsewhere, and which pieces of that are held."""
    text = draw(st.text("ab\n\fé", min_size=1, max_size=19)) + "b"
    own, other, held = sliced(text, draw(MASKS)), sliced(text, draw(MASKS)), draw(MASKS)
    numbers = {number for number in other if held >> number & 1}
    return text, own, other, numbers or {0}


@settings(deadline=None)
@given(cuts())
def test_what_is_added_makes_the_document_whole_with_what_is_held(
    cut: tuple[str, dict[int, str], dict[int, str], set[int]],
) -> None:
    text, own, other, numbers = cut
    item = document(text)
    held = written(item, {number: other[number] for number in numbers}, len(other))
    events = lay_out_pieces(item, item.fingerprint(), pieces_of(own), len(own))
    added = read(missing_events(item, item.fingerprint(), events, held))
    assert rebuild([*held, *added]) == item
    assert not missing_events(item, item.fingerprint(), events, [*held, *added])
    assert {envelope.part for envelope in added} == other.keys() - numbers
    assert all(envelope.text for envelope in added)


def test_what_is_cut_alike_is_completed_with_the_pieces_that_are_not_there() -> None:
    item = document(LONG)
    own = read(lay_out(item, item.fingerprint()))
    assert missing(item, own[1:2]) == [own[0], *own[2:]]


def test_pieces_of_two_cuts_are_left_aside_for_the_whole_document() -> None:
    item = document(LONG)
    held = written(item, {0: LONG[:9]}, 2) + written(item, {1: LONG[9:20]}, 3)
    (whole,) = missing(item, held)
    assert whole.chunk is None
    assert rebuild([*held, whole]) == item


@pytest.mark.parametrize("texts", [{0: "other words"}, {1: LONG[:40]}, {2: "no end of it"}, {5: LONG[:9]}])
def test_pieces_that_are_not_of_the_text_are_left_aside_for_the_whole_document(texts: dict[int, str]) -> None:
    item = document(LONG)
    held = written(item, texts, 3)
    (whole,) = missing(item, held)
    assert whole.chunk is None
    assert not missing(item, [*held, whole])


def test_where_the_whole_is_too_long_for_one_event_the_pieces_are_a_conflict() -> None:
    item = document(LONG + "x" * LIMIT)
    with pytest.raises(Conflict, match=f"{item.fingerprint()} that do not fit together; forget it"):
        missing(item, written(item, {0: "other words"}, 3))


def test_a_short_document_that_was_cut_is_written_whole() -> None:
    item = document("short")
    (whole,) = missing(item, written(item, {0: "sh"}, 2))
    assert whole.chunk is None


def test_a_whole_event_settles_it_whatever_it_holds() -> None:
    item = document("short")
    (whole,) = read(lay_out(document("other"), ItemId("id")))
    assert not missing(item, [whole])
