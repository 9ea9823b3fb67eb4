"""What is kept of an item besides its text: one dictionary-coded value per field, its tags and its time.

The numbers of `Field` and the layout of a record are part of the file format: a change needs a migration.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from explorer.contract import Facet, StoreItem, Timestamp, TurnRange

MISSING = 0
"""The code of a field without a value; dictionaries begin at 1."""

UNDATED = -(2**63)
"""The second of an item without `observed_at`: before every real one, so that it sorts last among the newest."""


class Field(IntEnum):
    """A column of the file. All but TAG hold one value an item; COMMIT and TURNS are no facets, only filters."""

    KIND = 0
    SOURCE = 1
    SOURCE_ID = 2
    WORKSPACE = 3
    FOLDER = 4
    FILE_PATH = 5
    LANGUAGE = 6
    REPO = 7
    COMMIT = 8
    URL = 9
    THREAD = 10
    TURNS = 11
    AGENT = 12
    TOOL_CALL = 13
    NAMESPACE = 14
    TAG = 15


SINGLE = tuple(field for field in Field if field is not Field.TAG)

FIELD_OF_FACET = {facet: Field[facet.name] for facet in Facet}

RECORD = np.dtype(
    [
        ("codes", "<u4", (len(SINGLE),)),
        ("seconds", "<i8"),
        ("nanoseconds", "<u4"),
        ("length", "<u4"),  # words, emoji and unspaced characters of the text: see `tokens.Terms.length`
        ("terms", "<u4"),  # different terms that the index has of it: how many lists a removal has to find it in
    ]
)

_PACKED = struct.Struct(f"<{len(SINGLE)}IqIII")  # the same for one item, many times faster
assert _PACKED.size == RECORD.itemsize

Codes = npt.NDArray[np.uint32]


def turns_text(turns: TurnRange) -> str:
    """A range of turns as the dictionary holds it."""
    return f"{turns.first}..{turns.last}"


def values_of(item: StoreItem) -> list[str | None]:
    """The item's value of each field in `SINGLE`, None where it has none."""
    meta = item.meta
    return [
        item.item_kind.value,
        meta.source.kind.value,
        meta.source.id,
        meta.workspace,
        meta.folder,
        meta.file_path,
        meta.language,
        meta.repo,
        meta.commit,
        meta.url,
        meta.thread_id,
        None if meta.turns is None else turns_text(meta.turns),
        meta.agent_id,
        None if meta.tool_call is None else meta.tool_call.name,
        str(meta.namespace),
    ]


def split_time(moment: Timestamp | None) -> tuple[int, int]:
    """Seconds since 1970 and nanoseconds within the second; `UNDATED` for None.

    Two numbers, because the nanoseconds of the years 1 to 9999 do not fit 64 bits.
    """
    return (UNDATED, 0) if moment is None else divmod(moment.unix_ns, 1_000_000_000)


def pack_record(codes: Iterable[int], seconds: int, nanoseconds: int, length: int, terms: int) -> bytes:
    """One `RECORD` as the file holds it; `codes` in the order of `SINGLE`."""
    return _PACKED.pack(*codes, seconds, nanoseconds, length, terms)
