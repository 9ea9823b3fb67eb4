"""Whole items as the file holds them: their wire form, compressed where that makes it smaller.

What is compressed is a zlib stream (RFC 1950), which cannot begin as JSON does: a payload tells by itself which it is.
"""

from __future__ import annotations

import zlib

from pydantic import TypeAdapter, ValidationError

from explorer.contract import Conversation, Document, InvalidRequest, Learning
from explorer.contract.items import AnyItem
from explorer.contract.model import reason
from explorer.engines.sqlite.failures import Contradiction

Item = Document | Conversation | Learning

_ITEM: TypeAdapter[Item] = TypeAdapter(AnyItem)

MOST_BYTES = 256_000_000
"""Of one item's wire form. A file may hold a few bytes that unpack to any number: no more of them are unpacked."""

_JSON_BEGINS = b"{"


def to_payload(written: bytes) -> bytes:
    """The payload that holds an item's wire form. Raises InvalidRequest where that has more than `MOST_BYTES`."""
    if len(written) > MOST_BYTES:
        raise InvalidRequest(
            f"the item is larger than the {MOST_BYTES:,} bytes that this engine stores in one; split it into parts"
        )
    packed = zlib.compress(written)
    return packed if len(packed) < len(written) else written


def read_payload(payload: object, name: str) -> Item:
    """The item; `name` is what the error calls it. Raises Contradiction where it cannot be read.

    Not by `parse_item`: what this program wrote needs no look for repeated keys, which takes most of its time.
    """
    if not isinstance(payload, bytes):
        raise Contradiction(f"the content of item {name} is missing")
    try:
        return _ITEM.validate_json(payload if payload.startswith(_JSON_BEGINS) else _unpacked(payload, name))
    except zlib.error as error:
        raise Contradiction(f"the content of item {name} cannot be read ({error})") from error
    except ValidationError as error:
        raise Contradiction(f"the content of item {name} cannot be read ({reason(error)})") from error


def _unpacked(payload: bytes, name: str) -> bytes:
    """The wire form in a zlib stream, which is whole, with nothing behind it."""
    stream = zlib.decompressobj()
    written = stream.decompress(payload, MOST_BYTES + 1)
    if len(written) > MOST_BYTES:
        raise Contradiction(f"the content of item {name} cannot be read (it has more than {MOST_BYTES:,} bytes)")
    if not stream.eof or stream.unused_data:
        raise Contradiction(f"the content of item {name} cannot be read (it ends in the wrong place)")
    return written
