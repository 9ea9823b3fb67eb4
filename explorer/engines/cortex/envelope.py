"""One item as the events that the server holds of it, and back.

Source: cortex, sections 1, 2.3 and 3.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import Field, ValidationError

from explorer.contract import (
    Conversation,
    Document,
    DocumentBody,
    InvalidRequest,
    ItemId,
    ItemKind,
    Learning,
    LearningKind,
    MemoryMeta,
    MetaFilter,
    Role,
    StoreItem,
    Timestamp,
    ToolCallRef,
    Turn,
    wire,
)
from explorer.contract.model import F32, U32, Count, Model, Text
from explorer.engines.cortex.chunks import LIMIT, PAGE_BREAK, SECTION_RESERVE, Piece, cut
from explorer.engines.cortex.digests import is_digest_of, path_digest, path_digests
from explorer.engines.cortex.labels import MAX_LABEL_BYTES, MAX_LABELS, lookup_labels, place_labels, sent_id

IN_LABELS = 3
_IN_TEXT = 2
_PART = "tm:e:"
_SLICE = 240
_MOST = 2**32 - 1
_NUMBERS = tuple(f"{number:02}:" for number in range(MAX_LABELS))
"""Of the parts, as they are written."""
_LATER_PART = re.compile(r',"(?:turn|chunk)":\{"index":[1-9]')  # inside a JSON string no quote stands bare
_MAX_DIGITS = 9  # of a part's number
_ABSOLUTE = re.compile(r"[/~\\]|[A-Za-z]:")
_LAST_STEP = re.compile(r"[^/\\]*\Z")

_MODALITIES = {
    ItemKind.DOCUMENT: "document",
    ItemKind.CONVERSATION: "conversation",
    ItemKind.LEARNING: "observation",
}


class TurnPart(Model):
    """Which turn of its conversation an event is; `index` counts from zero."""

    LEFT_OUT: ClassVar[dict[str, Any]] = {"tool_calls": []}

    index: U32
    count: U32
    role: Role
    at: Timestamp | None = None
    tool_calls: list[ToolCallRef] = Field(default_factory=list)


class ChunkPart(Model):
    """Which piece of its document an event is; `index` counts from zero, `pages` from one with both ends included."""

    index: U32
    count: U32
    pages: tuple[U32, U32] | None = None
    section: Text | None = None


class Envelope(Model):
    """What an event says of the item that it is, or is a part of."""

    LEFT_OUT: ClassVar[dict[str, Any]] = {"fp": [], "fd": []}

    v: Count
    id: Text
    kind: ItemKind
    text: Text
    """The event's own text."""
    meta: MemoryMeta
    """Without local paths, and with phone numbers redacted."""
    ws: Text | None = None
    fp: list[Text] = Field(default_factory=list)
    fd: list[Text] = Field(default_factory=list)
    title: Text | None = None
    mime: Text | None = None
    learning_kind: LearningKind | None = None
    confidence: F32 | None = None
    evidence: Text | None = None
    turn: TurnPart | None = None
    chunk: ChunkPart | None = None

    @property
    def part(self) -> int | None:
        """The index of the turn or piece; None where the event is the whole item."""
        part = self._part
        return part.index if part is not None else None

    @property
    def parts(self) -> int | None:
        """Of how many turns or pieces the item is, as this event has it."""
        part = self._part
        return part.count if part is not None else None

    @property
    def _part(self) -> TurnPart | ChunkPart | None:
        if self.kind is ItemKind.CONVERSATION:
            return self.turn
        return self.chunk if self.kind is ItemKind.DOCUMENT else None

    def matches(self, filter: MetaFilter) -> bool:
        """Whether the filter admits the item; paths that were not sent are compared by their digests."""
        if filter.workspace is None and filter.file_path is None and filter.folder is None:
            return filter.matches(self.kind, self.meta)
        settled: dict[str, None] = {}
        if filter.workspace is not None and self.ws is not None:
            if not is_digest_of(self.ws, filter.workspace):
                return False
            settled["workspace"] = None
        if filter.file_path is not None and _holds_path(self.fp, filter.file_path):
            settled["file_path"] = None
        if filter.folder is not None and _holds_path(self.fd, filter.folder):
            settled["folder"] = None
        return filter.model_copy(update=settled).matches(self.kind, self.meta)

    def located_meta(self) -> MemoryMeta:
        """The metadata with tags that say where in its document the piece is."""
        if self.kind is not ItemKind.DOCUMENT or self.chunk is None:
            return self.meta
        places = place_labels(self.chunk.pages, self.chunk.section)
        return self.meta.model_copy(update={"tags": [*self.meta.tags, *places]}) if places else self.meta


def _holds_path(digests: Sequence[str], wanted: str) -> bool:
    return any(is_digest_of(held, form) for form in {wanted, wanted.rstrip("/")} for held in digests)


@dataclass(frozen=True, slots=True)
class Event:
    """One event to write.

    `observed_at` is RFC 3339 as the server writes it; `derives` is False where nothing may be derived from the
    text; `part` is the index of the turn or piece, None where the event is the whole item; `actor` is the id of
    whoever was observed.
    """

    modality: str
    role: str
    text: str = field(repr=False)
    labels: tuple[str, ...] = field(repr=False)
    observed_at: str | None
    derives: bool
    part: int | None
    actor: str | None = None


def lay_out(item: StoreItem, id: ItemId) -> list[Event]:
    """The item's events, in order.

    Raises InvalidRequest for a document that is still a URI, and for an event that the server would refuse as
    too long.
    """
    base = _envelope(item, id)
    if isinstance(item, Conversation):
        count = len(item.turns)
        return [_turn_event(base, index, count, turn) for index, turn in enumerate(item.turns)]
    if isinstance(item, Document):
        return [_event(made) for made in _pieces(base)]
    return [_event(base)]


def lay_out_whole(item: StoreItem, id: ItemId) -> Event:
    """A document or learning as one event, however long. Raises InvalidRequest where the server takes none so long."""
    return _event(_envelope(item, id))


def lay_out_pieces(item: StoreItem, id: ItemId, pieces: Mapping[int, Piece], count: int) -> list[Event]:
    """Some pieces, by their number, of a document that is cut into `count`, otherwise than `lay_out` cuts it."""
    base = _envelope(item, id)
    return [_event(_piece(base, index, count, piece)) for index, piece in pieces.items()]


def _envelope(item: StoreItem, id: ItemId) -> Envelope:
    """The envelope of the item's only event, or what those of its parts have in common."""
    meta = item.meta
    is_local = meta.workspace is not None and _ABSOLUTE.match(meta.workspace) is not None
    sent = {
        "file_path": _last_step(meta.file_path),
        "folder": None,
        "workspace": None if is_local else meta.workspace,
        "thread_id": sent_id(meta.thread_id),
        "source": meta.source.model_copy(update={"id": sent_id(meta.source.id)}),
    }
    own: dict[str, Any] = {}
    if isinstance(item, Document):
        if item.body.text is None:
            item.check()  # which says what to do about it
        own = {"title": item.title, "mime": item.mime, "text": item.body.text}
    elif isinstance(item, Learning):
        own = {
            "text": item.text,
            "learning_kind": item.kind,
            "confidence": item.confidence,
            "evidence": item.evidence,
        }
    return Envelope(
        v=_IN_TEXT,
        id=id,
        kind=item.item_kind,
        text=own.pop("text", ""),
        meta=meta.model_copy(update=sent),
        ws=path_digest(meta.workspace) if is_local and meta.workspace is not None else None,
        fp=[] if meta.file_path is None else path_digests(meta.file_path),
        fd=[] if meta.folder is None else path_digests(meta.folder),
        **own,
    )


def _last_step(path: str | None) -> str | None:
    if path is None:
        return None
    found = _LAST_STEP.search(path)
    return (found.group() or None) if found is not None else None


def _pieces(base: Envelope) -> list[Envelope]:
    text = base.text
    pages = (_MOST, _MOST) if PAGE_BREAK in text else None
    probe = base.model_copy(update={"text": "", "chunk": ChunkPart(index=_MOST, count=_MOST, pages=pages)})
    made = cut(text, _length(probe) + SECTION_RESERVE)
    if made is None or len(made) == 1:
        return [base]
    return [_piece(base, index, len(made), piece) for index, piece in enumerate(made)]


def _piece(base: Envelope, index: int, count: int, piece: Piece) -> Envelope:
    chunk = ChunkPart(index=index, count=count, pages=piece.pages, section=piece.section)
    return base.model_copy(update={"text": piece.text, "chunk": chunk})


def _turn_event(base: Envelope, index: int, count: int, turn: Turn) -> Event:
    part = TurnPart(index=index, count=count, role=turn.role, at=turn.at, tool_calls=turn.tool_calls)
    return _event(base.model_copy(update={"text": turn.text, "turn": part}))


def _length(envelope: Envelope) -> int:
    return len(envelope.model_dump_json().encode("utf-8"))


def _event(envelope: Envelope) -> Event:
    """The event of one envelope: in labels where they hold it, else in its text."""
    as_text = envelope.model_dump_json()
    size = len(as_text.encode("utf-8"))
    if size > LIMIT:
        raise InvalidRequest(
            f"one event of the {envelope.kind.value} is {size} bytes long; the server takes at most 1 MiB (1048576 "
            f"bytes) with what is sent beside it, so that {LIMIT} is the limit here"
        )
    meta, turn = envelope.meta, envelope.turn
    labels = lookup_labels(envelope.id, meta, envelope.ws)
    text = as_text
    if envelope.text:
        bare = envelope.model_copy(update={"v": IN_LABELS, "text": ""}).model_dump_json()
        full = [*labels, *_readable(envelope), *_sliced(bare)]
        if len(full) <= MAX_LABELS:
            labels, text = full, envelope.text
    at = turn.at if turn is not None and turn.at is not None else meta.observed_at
    return Event(
        modality=_MODALITIES[envelope.kind],
        role=str(turn.role if turn is not None else Role.USER),
        text=text,
        labels=tuple(labels),
        observed_at=None if at is None else f"{at.text.removesuffix('Z')}+00:00",
        derives=meta.derive is not False and (turn is None or turn.role is not Role.TOOL),
        part=envelope.part,
        actor=None if meta.observed_actor is None else meta.observed_actor.id,
    )


def _readable(envelope: Envelope) -> list[str]:
    labels = [f"kind:{envelope.kind.value}"]
    if envelope.meta.file_path is not None:
        labels.append(f"file:{envelope.meta.file_path}")
    if envelope.chunk is not None:
        labels += place_labels(envelope.chunk.pages, envelope.chunk.section)
    return [label for label in labels if len(label.encode("utf-8")) <= MAX_LABEL_BYTES]


def _sliced(text: str) -> list[str]:
    """`text` in labels that each hold whole characters of it."""
    data = text.encode("utf-8")
    labels: list[str] = []
    start = 0
    while start < len(data):
        end = start + _SLICE
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end -= 1
        labels.append(f"{_PART}{len(labels):02}:{data[start:end].decode('utf-8')}")
        start = end
    return labels


def decode(text: str, labels: Sequence[str]) -> Envelope | None:
    """What the event with this text and these labels says of an item; None where it is someone else's."""
    joined = joined_labels(labels)
    if joined is not None:
        found = _read(joined, IN_LABELS, text)
        if found is not None:
            return found
    if text[:1] not in ("{", "[", " ", "\t", "\n", "\r"):
        return None
    found = _read(text, _IN_TEXT)
    if found is None and text.startswith("["):
        _, mark, rest = text.partition("] ")  # an older recall put who spoke before the text
        found = _read(rest, _IN_TEXT) if mark else None
    return found


def continues(labels: Sequence[str]) -> bool:
    """Whether an event is, if any, a later part of an item: told without decoding it. False tells nothing."""
    joined = joined_labels(labels)
    return joined is not None and _LATER_PART.search(joined) is not None


def joined_labels(labels: Sequence[str]) -> str | None:
    """The text that the part labels hold between them; None where one is missing or is none of ours."""
    parts = [label[len(_PART) :] for label in labels if label.startswith(_PART)]
    if len(parts) <= len(_NUMBERS) and all(map(str.startswith, parts, _NUMBERS)):
        return "".join([part[len(_NUMBERS[0]) :] for part in parts]) if parts else None
    slices: dict[int, str] = {}
    for part in parts:
        number, colon, slice_ = part.partition(":")
        if not colon or not number.isascii() or not number.isdigit() or len(number) > _MAX_DIGITS:
            return None
        at = int(number)
        if at in slices:
            return None
        slices[at] = slice_
    if max(slices) != len(slices) - 1:
        return None
    return "".join(slices[at] for at in range(len(slices)))


def _read(json: str, version: int, text: str | None = None) -> Envelope | None:
    """The envelope of this version in `json`; `text` is its text where that is kept elsewhere."""
    try:
        value = wire.loads(json)
        if not isinstance(value, dict) or value.get("v") != version or not isinstance(value.get("text"), str):
            return None
        if text is not None:
            value["text"] = text
        return Envelope.model_validate(value)
    except (wire.WireError, ValidationError):
        return None


def rebuild(envelopes: Sequence[Envelope]) -> StoreItem | None:
    """The item that these envelopes, all of one id, make up; None where parts of it are missing.

    Of a conversation only no turn at all counts as missing.
    """
    if not envelopes:
        return None
    first = envelopes[0]
    if first.kind is ItemKind.LEARNING:
        return Learning(
            text=first.text,
            kind=first.learning_kind or LearningKind.OTHER,
            confidence=first.confidence or 0.0,
            evidence=first.evidence,
            meta=first.meta,
        )
    if first.kind is ItemKind.CONVERSATION:
        return _conversation(envelopes)
    whole = next((envelope for envelope in envelopes if envelope.part is None), None)
    if whole is not None:
        return _document(whole, whole.text)
    text = _concatenated(envelopes)
    return None if text is None else _document(first, text)


def _conversation(envelopes: Sequence[Envelope]) -> Conversation | None:
    turns: dict[int, Turn] = {}
    for envelope in envelopes:
        turn = envelope.turn
        if turn is not None and turn.index not in turns:
            turns[turn.index] = Turn(role=turn.role, text=envelope.text, at=turn.at, tool_calls=turn.tool_calls)
    if not turns:
        return None
    return Conversation(turns=[turns[index] for index in sorted(turns)], meta=envelopes[0].meta)


def _concatenated(envelopes: Sequence[Envelope]) -> str | None:
    """The text of a document in pieces; None unless they agree how many there are, and each is there."""
    counts = {envelope.parts for envelope in envelopes}
    pieces: dict[int, str] = {}
    for envelope in envelopes:
        pieces.setdefault(envelope.part or 0, envelope.text)
    if len(counts) != 1 or counts != {len(pieces)} or max(pieces) != len(pieces) - 1:
        return None
    return "".join(pieces[index] for index in range(len(pieces)))


def _document(envelope: Envelope, text: str) -> Document:
    return Document(title=envelope.title, body=DocumentBody(text=text), mime=envelope.mime, meta=envelope.meta)


def newer_id(item: StoreItem) -> ItemId | None:
    """The id under the newer rule, by which the id of a tool call is no part of it; None where it is the same."""
    call = item.meta.tool_call
    if call is None or call.id is None:
        return None
    meta = item.meta.model_copy(update={"tool_call": call.model_copy(update={"id": None})})
    return item.model_copy(update={"meta": meta}).fingerprint()
