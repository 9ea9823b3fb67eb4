"""Places in a listing or a ranking, as opaque texts that stay good while items come and go.

A cursor names the last item shown by its sort key, not by a count, so that nothing shifts under it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from typing import NamedTuple

from explorer.contract import InvalidRequest

_DIGEST = 8
_LISTED = struct.Struct(f">c{_DIGEST}sqIq")
_RANKED = struct.Struct(f">c{_DIGEST}sq?fq")
_SHOWN = 60  # characters of a bad cursor that its error repeats


class ListPlace(NamedTuple):
    """The sort key of an item among the newest first: larger is earlier."""

    second: int
    nanosecond: int
    row: int


class RankPlace(NamedTuple):
    """The sort key of a hit: larger is earlier. `is_hinted`: the item falls in the days that the request refers to."""

    is_hinted: bool
    score: float
    row: int


def digest(question: str) -> bytes:
    """By which a question is known without its words."""
    return hashlib.sha256(question.encode("utf-8", "surrogatepass")).digest()[:_DIGEST]


def _write(packed: bytes) -> str:
    return base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")


def _read(cursor: str, form: struct.Struct, kind: bytes, question: str) -> tuple[int, ...]:
    try:
        packed = base64.b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        mark, said, *place = form.unpack(packed)
    except (UnicodeEncodeError, binascii.Error, struct.error) as error:
        raise _unknown(cursor) from error
    if mark != kind or _write(packed) != cursor:
        raise _unknown(cursor)
    if said != digest(question):
        raise InvalidRequest("the cursor belongs to another filter or query; start again without one")
    return tuple(place)


def _unknown(cursor: str) -> InvalidRequest:
    return InvalidRequest(f"unknown cursor `{cursor[:_SHOWN]}`")


def write_list(question: str, place: ListPlace) -> str:
    """A cursor after `place` in the listing that `question` (a filter's canonical text) asks for."""
    return _write(_LISTED.pack(b"L", digest(question), *place))


def read_list(question: str, cursor: str) -> ListPlace:
    """Raises InvalidRequest for a text that is no cursor, or one of another listing."""
    return ListPlace(*_read(cursor, _LISTED, b"L", question))


def write_rank(question: str, number: int, place: RankPlace) -> str:
    """A cursor after `place` in a ranking, which its maker knows by `number`."""
    return _write(_RANKED.pack(b"F", digest(question), number, *place))


def read_rank(question: str, cursor: str) -> tuple[int, RankPlace]:
    """A ranking's number and place. Raises InvalidRequest for a text that is no cursor, or one of another query."""
    number, is_hinted, score, row = _read(cursor, _RANKED, b"F", question)
    return number, RankPlace(bool(is_hinted), float(score), row)
