"""Whole items as the file holds them: their wire form, as bytes."""

from __future__ import annotations

from pydantic import TypeAdapter, ValidationError

from explorer.contract import Conversation, Document, Learning
from explorer.contract.items import AnyItem
from explorer.contract.model import reason
from explorer.engines.sqlite.failures import Contradiction

Item = Document | Conversation | Learning

_ITEM: TypeAdapter[Item] = TypeAdapter(AnyItem)


def read_payload(payload: bytes, name: str) -> Item:
    """The item; `name` is what the error calls it. Raises Contradiction where it cannot be read.

    Not by `parse_item`: what this program wrote needs no look for repeated keys, which takes most of its time.
    """
    try:
        return _ITEM.validate_json(payload)
    except ValidationError as error:
        raise Contradiction(f"the content of item {name} cannot be read ({reason(error)})") from error
