"""Engines on the double, in each layout of each wire, and what to put into them."""

from __future__ import annotations

from typing import Any

from explorer.contract import (
    Conversation,
    Document,
    DocumentBody,
    ItemKind,
    Learning,
    LearningKind,
    MemoryMeta,
    Namespace,
    Role,
    SourceKind,
    SourceRef,
    Turn,
)
from explorer.engines.config import EngineSettings, StaticCredential
from explorer.engines.cortex import DIRECT, HOSTED
from explorer.engines.cortex.direct import DirectWire
from explorer.engines.cortex.engine import CortexEngine
from explorer.engines.cortex.hosted import HostedWire
from explorer.engines.cortex.settings import CortexSettings
from explorer.engines.cortex.transport import Timing
from tests.doubles.cortexdb import CortexDouble

LAYOUTS: dict[str, tuple[bool, dict[str, Any]]] = {
    "direct-legacy": (False, {}),
    "direct-scope_root": (False, {"scope_root": "org:42"}),
    "hosted-legacy": (True, {}),
    "hosted-scope_root": (True, {"scope_root": "org:42"}),
    "hosted-tenant_root": (True, {"tenant_root": True}),
}
"""Each layout of each wire: whether it is the hosted one, and the settings. Direct has no tenant root."""

QUICK = Timing(retry_s=0.001, poll_s=0.001, most_poll_s=0.01, pause_s=0.01, listed_s=2.0, ranked_s=1.0)


def opened(double: CortexDouble, *, hosted: bool = False, token: str | None = None, **settings: Any) -> CortexEngine:
    checked = CortexSettings.of(EngineSettings(endpoint=double.endpoint, **settings), hosted=hosted)
    kind = HostedWire if hosted else DirectWire
    wire = kind(checked, StaticCredential(token or double.token), QUICK)
    descriptor = (HOSTED if hosted else DIRECT).model_copy(update={"consolidation": checked.consolidation})
    return CortexEngine(wire, checked, descriptor)


def at(path: str) -> Namespace:
    return Namespace.parse(path)


def meta(namespace: str = "", **fields: Any) -> MemoryMeta:
    if "source_id" in fields:
        fields["source"] = SourceRef(kind=SourceKind.FILE, id=fields.pop("source_id"))
    return MemoryMeta(namespace=at(namespace), **fields)


def fact(text: str, namespace: str = "", **fields: Any) -> Learning:
    return Learning(text=text, kind=LearningKind.FACT, confidence=0.5, meta=meta(namespace, **fields))


def note(text: str, namespace: str = "", title: str | None = None, **fields: Any) -> Document:
    return Document(title=title, body=DocumentBody(text=text), meta=meta(namespace, **fields))


def talk(*texts: str, namespace: str = "", **fields: Any) -> Conversation:
    roles = (Role.USER, Role.ASSISTANT)
    turns = [Turn(role=roles[index % 2], text=text) for index, text in enumerate(texts)]
    return Conversation(turns=turns, meta=meta(namespace, **fields))


def scope_of(engine: CortexEngine, item: Document | Conversation | Learning) -> str:
    """The path that an item is sent to."""
    return engine._settings.layout.path(item.meta.namespace, item.item_kind)


def kinds(*names: str) -> list[ItemKind]:
    return [ItemKind(name) for name in names]
