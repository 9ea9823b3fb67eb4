from __future__ import annotations

import hashlib
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.contract import Document, DocumentBody, InvalidRequest, parse_item
from explorer.engines.cortex.chunks import LIMIT, Piece, budget, cut, escaped_length
from explorer.engines.cortex.envelope import decode, lay_out, rebuild
from tests.contract import strategies
from tests.engines.cortex.vectors import VECTORS, written_out


def shown(piece: Piece) -> dict[str, Any]:
    made: dict[str, Any] = {"text": piece.text}
    if piece.pages is not None:
        made["pages"] = list(piece.pages)
    if piece.section is not None:
        made["section"] = piece.section
    return made


@pytest.mark.parametrize("vector", VECTORS["cuts"], ids=lambda vector: json.dumps(vector["text"])[:40])
def test_where_a_text_is_cut(vector: dict[str, Any]) -> None:
    pieces = cut(vector["text"], vector["overhead"], vector["target"], vector["limit"])
    assert (None if pieces is None else list(map(shown, pieces))) == vector["pieces"]


@pytest.mark.parametrize("vector", VECTORS["documents"], ids=lambda vector: vector["name"])
def test_documents_at_the_real_limits(vector: dict[str, Any]) -> None:
    item = parse_item(json.dumps(written_out(vector["item"])))
    assert isinstance(item, Document)
    text = item.body.text or ""
    assert (len(text), escaped_length(text)) == (vector["text_chars"], vector["text_escaped_bytes"])
    assert budget(vector["overhead"]) == vector["pack"]
    if "error" in vector:
        with pytest.raises(InvalidRequest, match=r"document is .* bytes long.* 1 MiB"):
            lay_out(item, item.fingerprint())
        return
    envelopes = [decode(event.text, event.labels) for event in lay_out(item, item.fingerprint())]
    for envelope, wanted in zip(envelopes, vector["pieces"], strict=True):
        assert envelope is not None
        data = envelope.text.encode("utf-8")
        assert (len(data), escaped_length(envelope.text)) == (wanted["bytes"], wanted["escaped"])
        assert hashlib.sha256(data).hexdigest() == wanted["sha256"]
        chunk = envelope.chunk
        assert (chunk is not None) == vector["chunked"]
        if chunk is not None:
            pages = None if chunk.pages is None else list(chunk.pages)
            assert (pages, chunk.section) == (wanted.get("pages"), wanted.get("section"))


def test_a_piece_of_a_document_without_room_for_labels_is_cut_as_any_other() -> None:
    item = Document.model_validate(
        {"title": "é" * 8000, "body": {"text": "words and words\n" * 40_000}, "meta": {"file_path": "/a/b.txt"}}
    )
    events = lay_out(item, item.fingerprint())
    assert len(events) > 1
    assert all(event.text.startswith('{"v":2,') for event in events)
    envelopes = [decode(event.text, event.labels) for event in events]
    back = rebuild([envelope for envelope in envelopes if envelope is not None])
    assert isinstance(back, Document)
    assert (back.body, back.title) == (item.body, item.title)


parts = ["# A\n", "## B ##\n", "text\n", "\n", "\n\n", "\f", " ", "日本語", "x" * 9, '"', "\x01"]
bodies = st.text('ab# \n\f\r\t"\\\x01é日😀', max_size=80) | st.lists(st.sampled_from(parts), max_size=30).map("".join)


@strategies.many_examples
@given(bodies, st.integers(0, 40), st.integers(0, 12), st.integers(0, 60))
def test_pieces_make_up_the_text_and_keep_the_budget(text: str, target: int, overhead: int, more: int) -> None:
    limit = target + more
    pack = budget(overhead, target, limit)
    pieces = cut(text, overhead, target, limit)
    if pieces is None or pack is None:
        assert pieces is pack is None
        assert limit - overhead < 6
        return
    assert "".join(piece.text for piece in pieces) == text
    if pieces != [Piece(text, None, None)]:
        assert all(piece.text and escaped_length(piece.text) <= pack <= limit - overhead for piece in pieces)
        if target:  # no two neighbours would have fitted into one piece
            assert all(escaped_length(before.text + after.text) > pack for before, after in pairwise(pieces))
        pages = [page for piece in pieces for page in (piece.pages or ())]
        assert pages == sorted(pages)
        assert all((piece.pages is not None) == ("\f" in text) for piece in pieces)
        assert not pages or pages[-1] <= text.count("\f") + 1
    assert all(piece.section is None or 0 < len(piece.section) <= 120 for piece in pieces)


@strategies.some_examples
@given(st.text(max_size=30) | st.text('\0\x1f\b\t\n\f\r"\\\x7f\u2028日😀', max_size=20))
def test_the_length_inside_json(text: str) -> None:
    assert escaped_length(text) == len(json.dumps(text, ensure_ascii=False).encode("utf-8")) - 2


def test_headings_in_one_line_are_found_in_time() -> None:
    # Page breaks begin lines of their own for headings, but only a newline ends a title.
    text = "\f# a" * 60_000
    pieces = cut(text, 0, 1000, LIMIT)
    assert pieces is not None
    assert "".join(piece.text for piece in pieces) == text
    assert all(piece.section == "a" + "\f# a" * 29 + "\f# " for piece in pieces[:10])


def test_a_long_text_without_lines_is_cut_in_time() -> None:
    text = "日" * 1_500_000
    item = Document(body=DocumentBody(text=text))
    events = lay_out(item, item.fingerprint())
    assert "".join(event.text for event in events) == text
