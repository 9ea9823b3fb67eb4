"""Items that the tests of the commands share, one way or another different in every field of a filter."""

from __future__ import annotations

from typing import NamedTuple

from explorer.contract import (
    Conversation,
    Document,
    DocumentBody,
    Learning,
    LearningKind,
    MemoryMeta,
    Namespace,
    Role,
    SourceKind,
    SourceRef,
    StoreItem,
    Timestamp,
    ToolCallRef,
    Turn,
    TurnRange,
)


class Ran(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


def meta(at: str = "root", **fields: object) -> MemoryMeta:
    return MemoryMeta(namespace=Namespace.parse(at), **fields)  # type: ignore[arg-type]


def learning(text: str, at: str = "root", **fields: object) -> Learning:
    return Learning(text=text, kind=LearningKind.FACT, confidence=0.8, meta=meta(at, **fields))


HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202egnp.exe\u202c \x9b31m end\x00\x7f"

ITEMS: list[StoreItem] = [
    learning("likes window seats", workspace="w", language="en", tags=["travel", "seat"]),
    learning("mag Gangplätze", "team:acme", language="de", repo="acme/api", commit="c0ffee", tags=["travel"]),
    learning(
        "deploys on Fridays",
        "team:acme/agent:writer",
        url="https://a.example/x",
        thread_id="thread-1",
        agent_id="writer",
        tool_call=ToolCallRef(name="deploy", id="call-1"),
        turns=TurnRange(first=4, last=5),
        observed_at=Timestamp.parse("2026-10-04T00:00:00Z"),
    ),
    Document(
        title="Handbook",
        body=DocumentBody(text="first line\nsecond\tline"),
        mime="text/plain",
        meta=meta(
            "team:acme",
            folder="/data/docs",
            file_path="/data/docs/handbook.md",
            source=SourceRef(kind=SourceKind.FILE, id="docs"),
            observed_at=Timestamp.parse("2026-10-05T12:30:00.123456789Z"),
        ),
    ),
    Conversation(
        turns=[
            Turn(role=Role.USER, text="今日は東京です", at=Timestamp.parse("2026-10-03T23:59:59Z")),
            Turn(role=Role.ASSISTANT, text="مرحبا"),
        ],
        meta=meta("user:dana", workspace="", observed_at=Timestamp.parse("2026-10-03T23:59:59.999999999Z")),
    ),
    learning(HOSTILE, "user:dana", tags=["\x1b[31mred", "evil\u202etag"]),
    learning("in a box", "team:acme/service:cron"),
    learning("in a box below", "team:acme/service:cron/agent:x"),
]
