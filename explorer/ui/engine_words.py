"""The engines that come with the program, in the user's language; others are named as they name themselves."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from explorer.contract import Detail, EngineDescriptor
from explorer.i18n import mark, tr

OURS: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "reference": (
            mark("Reference (in-memory)"),
            mark("Reference"),
            mark("Holds everything in memory until the program ends; for tests and for trying things out."),
        ),
        "sqlite": (
            mark("SQLite file"),
            mark("SQLite"),
            mark("One file on this computer; needs no service, no key and no network."),
        ),
        "cortexdb": (
            mark("CortexDB"),
            mark("CortexDB"),
            mark("CortexDB's own API: an append-only log with ranked recall and answers that rest on what is stored."),
        ),
        "tinyhumans": (
            mark("TinyHumans"),
            mark("TinyHumans"),
            mark("CortexDB hosted by the TinyHumans backend, billed to the account that is signed in."),
        ),
    }
)
"""Label, the label where there is little room, and description, by the engine's id; English as its descriptor says."""


def engine_label(engine: EngineDescriptor) -> str:
    ours = OURS.get(engine.id)
    return tr(ours[0]) if ours is not None else engine.label


def engine_name(engine: EngineDescriptor) -> str:
    """The label where there is little room."""
    ours = OURS.get(engine.id)
    return tr(ours[1]) if ours is not None else engine.label


def engine_description(engine: EngineDescriptor) -> str:
    ours = OURS.get(engine.id)
    return tr(ours[2]) if ours is not None else engine.description


_DETAILS = (mark("Events of other programs"),)
"""What our own engines tell of a connection, by its English name."""


def detail_name(detail: Detail) -> str:
    return tr(detail.name) if detail.name in _DETAILS else detail.name
