"""The three kinds of item, their ids and their rendered text.

Source: memory-v2, "Items"; contract, sections on the fingerprint and `render_text`.
"""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NewType

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from explorer.contract import wire
from explorer.contract.errors import InvalidRequest
from explorer.contract.meta import NO_IDENTITY, ItemKind, MemoryMeta, ToolCallRef
from explorer.contract.model import F32, Model, Text, is_blank, reason
from explorer.contract.timestamp import Timestamp

ItemId = NewType("ItemId", str)
"""40 lowercase hex digits where this project made it; an engine may hold others. A bare string in JSON."""


class LearningKind(StrEnum):
    PREFERENCE = "preference"
    FACT = "fact"
    PROCEDURE = "procedure"
    CORRECTION = "correction"
    OTHER = "other"


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class StoreItem(Model):
    """What `store` takes: a Document, a Conversation or a Learning, with its metadata."""

    if TYPE_CHECKING:  # each kind declares it itself: a field of the base would come first on the wire
        meta: MemoryMeta

    @property
    @abstractmethod
    def item_kind(self) -> ItemKind: ...

    @abstractmethod
    def check(self) -> None:
        """Raise InvalidRequest where an engine must refuse the item."""

    @abstractmethod
    def render_text(self) -> str:
        """The item as one text: what is searched, and what `Hit.text` holds."""

    @property
    def confidence_or_none(self) -> float | None:
        """A learning's confidence; None for the other kinds."""
        return None

    def fingerprint(self) -> ItemId:
        """The item's id: the first 20 bytes, in hex, of the SHA-256 of its wire form without what is no part of it."""
        id, _ = self.written()
        return id

    def written(self) -> tuple[ItemId, bytes]:
        """The item's id and its wire form in UTF-8, which have most of the work in common."""
        form = self.model_dump(mode="json", by_alias=True)
        meta = form.pop("meta")  # the last key of each kind
        begin = wire.dumps(form).removesuffix("}") + ',"meta":'
        bare = {name: value for name, value in meta.items() if name not in NO_IDENTITY}
        hashed = hashlib.sha256(f"{begin}{wire.dumps(bare)}}}".encode()).digest()
        return ItemId(hashed[:20].hex()), f"{begin}{wire.dumps(meta)}}}".encode()


class DocumentBody(Model):
    """Either the text, or a URI that a source must resolve before the document is stored."""

    text: Text | None = None
    uri: Text | None = None

    @model_validator(mode="after")
    def _holds_one(self) -> DocumentBody:
        if (self.text is None) == (self.uri is None):
            raise ValueError("a document body holds either a text or a uri")
        return self


class Document(StoreItem):
    type: Literal["document"] = "document"
    title: Text | None = None
    body: DocumentBody
    mime: Text | None = None
    meta: MemoryMeta = Field(default_factory=MemoryMeta)

    @property
    def item_kind(self) -> ItemKind:
        return ItemKind.DOCUMENT

    def check(self) -> None:
        if self.body.text is None:
            raise InvalidRequest("document body is an unresolved uri; resolve it through a source first")
        if is_blank(self.body.text):
            raise InvalidRequest("document body must not be empty")

    def render_text(self) -> str:
        body = self.body.text if self.body.text is not None else self.body.uri or ""
        return body if self.title is None or is_blank(self.title) else f"# {self.title}\n\n{body}"


class Turn(Model):
    """One message of a conversation."""

    LEFT_OUT: ClassVar[dict[str, Any]] = {"tool_calls": []}

    role: Role
    text: Text
    at: Timestamp | None = None
    tool_calls: list[ToolCallRef] = Field(default_factory=list)

    def render_text(self) -> str:
        line = f"{self.role}: {self.text}"
        if not self.tool_calls:
            return line
        calls = ", ".join(c.name if c.id is None else f"{c.name} ({c.id})" for c in self.tool_calls)
        return f"{line} [tools: {calls}]"


class Conversation(StoreItem):
    type: Literal["conversation"] = "conversation"
    turns: list[Turn]
    meta: MemoryMeta = Field(default_factory=MemoryMeta)

    @property
    def item_kind(self) -> ItemKind:
        return ItemKind.CONVERSATION

    def check(self) -> None:
        if not self.turns:
            raise InvalidRequest("conversation must have at least one turn")
        if any(is_blank(turn.text) for turn in self.turns):
            raise InvalidRequest("conversation turns must not be empty")

    def render_text(self) -> str:
        return "\n".join(turn.render_text() for turn in self.turns)


class Learning(StoreItem):
    """A statement that an agent keeps, how sure it is (0 to 1) and what it rests on."""

    type: Literal["learning"] = "learning"
    text: Text
    kind: LearningKind
    confidence: F32
    evidence: Text | None = None
    meta: MemoryMeta = Field(default_factory=MemoryMeta)

    @property
    def item_kind(self) -> ItemKind:
        return ItemKind.LEARNING

    @property
    def confidence_or_none(self) -> float | None:
        return self.confidence

    def check(self) -> None:
        if is_blank(self.text):
            raise InvalidRequest("learning text must not be empty")
        if not 0.0 <= self.confidence <= 1.0:  # also true for NaN
            raise InvalidRequest(f"learning confidence {_plain(self.confidence)} is outside 0.0..=1.0")

    def render_text(self) -> str:
        return self.text


def _plain(value: float) -> str:
    """A number as Rust displays it: never an exponent, no fraction where it is zero."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return str(value)
    digits = f"{Decimal(repr(value)):f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


AnyItem = Annotated[Document | Conversation | Learning, Field(discriminator="type")]
"""A field that holds any of the three, told apart by `type`."""

_ITEM: TypeAdapter[Document | Conversation | Learning] = TypeAdapter(AnyItem)


def parse_item(json: str | bytes) -> StoreItem:
    """Read one item from its wire form. Raises InvalidRequest with where and what is wrong.

    The item's own rules (`check`) are not applied: they belong to storing.
    """
    try:
        return _ITEM.validate_python(wire.loads(json))
    except wire.WireError as error:
        raise InvalidRequest(str(error)) from error
    except ValidationError as error:
        raise InvalidRequest(reason(error)) from error


def dump_item(item: StoreItem) -> str:
    """The item's wire form: compact JSON, keys in the contract's order."""
    return item.model_dump_json()
