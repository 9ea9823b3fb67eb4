"""What a model is told of each tool: its name, what it is for, and the JSON Schema of its arguments.

Source: memory-v2, "Tools". Names and schemas are a promise: tests/tools/tool_contracts.json holds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from explorer.contract import Facet, FetchMode, ItemKind, LearningKind, Role, SourceKind
from explorer.contract.query import MAX_GET_IDS

Schema = dict[str, Any]

RECALL = "memory_recall"
FETCH = "memory_fetch"
LIST = "memory_list"
GET = "memory_get"
EXPLORE = "memory_explore"
STORE = "memory_store"
FORGET = "memory_forget"

TOOL_NAMES = (RECALL, FETCH, LIST, GET, EXPLORE, STORE, FORGET)
WRITE_TOOL_NAMES = (STORE, FORGET)

DEFAULT_LIMIT = 10
MAX_LIMIT = 50
MAX_IDS = MAX_GET_IDS
DEFAULT_LEARNING = LearningKind.FACT
DEFAULT_CONFIDENCE = 0.800000011920929
"""The 32-bit float nearest to 0.8, written as the double it is."""
FACETS = tuple(facet for facet in Facet if facet is not Facet.NAMESPACE)


@dataclass(frozen=True)
class ToolSpec:
    """One tool as any model's interface takes it; `parameters` is a JSON Schema of an object."""

    name: str
    description: str
    parameters: Schema

    def as_dict(self) -> Schema:
        return {"name": self.name, "description": self.description, "parameters": self.parameters}

    def as_mcp(self) -> Schema:
        """As the Model Context Protocol lists a tool."""
        return {"name": self.name, "description": self.description, "inputSchema": self.parameters}

    def as_openai(self) -> Schema:
        return {"type": "function", "function": self.as_dict()}

    def as_anthropic(self) -> Schema:
        return {"name": self.name, "description": self.description, "input_schema": self.parameters}


def default_mode(modes: Sequence[FetchMode]) -> FetchMode:
    """The mode of a fetch that names none: hybrid where the engine serves it, else its first."""
    return FetchMode.HYBRID if FetchMode.HYBRID in modes else modes[0]


def specs(modes: Sequence[FetchMode], *, writes: bool) -> list[ToolSpec]:
    """The tools of an engine that serves `modes`, in their order; without modes there is no fetch."""
    made = [_recall(), *([_fetch(modes)] if modes else []), _list(), _get(), _explore(), _store(), _forget()]
    return [spec for spec in made if writes or spec.name not in WRITE_TOOL_NAMES]


def _recall() -> ToolSpec:
    return ToolSpec(
        RECALL,
        "Ask long-term memory a question and get an answer that cites the memories it rests on. "
        "Try this first whenever something from earlier may help.",
        _object(
            {
                "question": _text("What you want to know, as a full question."),
                "filter": _filter("Answer only from memories that meet all of these conditions."),
                "limit": _limit("How many memories the answer may cite at most."),
                "instructions": _text("How the answer should be written, such as its length or form."),
            },
            "question",
        ),
    )


def _fetch(modes: Sequence[FetchMode]) -> ToolSpec:
    return ToolSpec(
        FETCH,
        "Search memory and get the matching memories themselves, the best match first. Use it when you need "
        "what was stored rather than an answer; pass next_cursor back as cursor to read on.",
        _object(
            {
                "query": _text("The words or the meaning to search for."),
                "mode": {
                    **_enum("How to search.", modes),
                    "default": default_mode(modes).value,
                },
                "filter": _filter("Search only memories that meet all of these conditions."),
                "limit": _limit("How many memories to return at most."),
                "cursor": _cursor(),
            },
            "query",
        ),
    )


def _list() -> ToolSpec:
    return ToolSpec(
        LIST,
        "Go through stored memories page by page, without a query.",
        _object(
            {
                "filter": _filter("List only memories that meet all of these conditions."),
                "limit": _limit("How many memories a page holds at most."),
                "cursor": _cursor(),
            }
        ),
    )


def _get() -> ToolSpec:
    return ToolSpec(
        GET,
        "Read memories whole, by their ids. An id that you cannot see is reported as missing.",
        _object({"ids": _ids("The ids of the memories to read, as another tool returned them.")}, "ids"),
    )


def _explore() -> ToolSpec:
    return ToolSpec(
        EXPLORE,
        "Count memories by the values of one facet, the most frequent value first. "
        "Use it to see what is there before you filter by it.",
        _object(
            {
                "facet": _enum("By what to count.", FACETS),
                "filter": _filter("Count only memories that meet all of these conditions."),
                "limit": _limit("How many values to return at most."),
            },
            "facet",
        ),
    )


def _store() -> ToolSpec:
    learning = _object(
        {
            "text": _text("The statement to keep; it must make sense on its own."),
            "learning_kind": {
                **_enum("What sort of statement it is.", LearningKind),
                "default": DEFAULT_LEARNING.value,
            },
            "confidence": {
                "type": "number",
                "description": "How sure you are of it, from 0 to 1.",
                "minimum": 0.0,
                "maximum": 1.0,
                "default": DEFAULT_CONFIDENCE,
            },
            "evidence": _text("What the statement rests on."),
        },
        "text",
        description="A single statement worth remembering: a preference, a fact, a way to do something.",
    )
    document = _object(
        {"title": _text("What the text is called."), "text": _text("The text to keep, whole.")},
        "text",
        description="A longer text to keep as it is.",
    )
    turn = _object(
        {"role": _enum("Who said it.", Role), "text": _text("What was said.")},
        "role",
        "text",
        description="One message of the conversation.",
    )
    turns = {"type": "array", "description": "The messages, the earliest first.", "items": turn, "minItems": 1}
    conversation = _object({"turns": turns}, "turns", description="A conversation to keep, message by message.")
    return ToolSpec(
        STORE,
        "Keep one memory: pass exactly one of learning, document or conversation. "
        "Storing the same memory again changes nothing.",
        _object(
            {
                "learning": learning,
                "document": document,
                "conversation": conversation,
                "tags": _texts("Words by which to find the memory again."),
            }
        ),
    )


def _forget() -> ToolSpec:
    return ToolSpec(
        FORGET,
        "Forget memories: pass either ids or a filter with at least one condition, never both. "
        "An id that you cannot see is skipped and reported.",
        _object(
            {
                "ids": _ids("The ids of the memories to forget."),
                "filter": _filter("Forget every memory that meets all of these conditions; set at least one."),
            }
        ),
    )


# --- pieces of schemas


def _object(properties: dict[str, Schema], *required: str, description: str | None = None) -> Schema:
    return {
        "type": "object",
        **({} if description is None else {"description": description}),
        "properties": properties,
        **({"required": list(required)} if required else {}),
        "additionalProperties": False,
    }


def _text(description: str) -> Schema:
    return {"type": "string", "description": description}


def _texts(description: str) -> Schema:
    return {"type": "array", "description": description, "items": {"type": "string"}}


def _enum(description: str, values: Sequence[Any] | type[Any]) -> Schema:
    return {"type": "string", "description": description, "enum": [value.value for value in values]}


def _enums(description: str, values: type[Any]) -> Schema:
    return {
        "type": "array",
        "description": description,
        "items": {"type": "string", "enum": [value.value for value in values]},
    }


def _time(description: str) -> Schema:
    return {"type": "string", "description": description, "format": "date-time"}


def _limit(description: str) -> Schema:
    return {
        "type": "integer",
        "description": description,
        "minimum": 1,
        "maximum": MAX_LIMIT,
        "default": DEFAULT_LIMIT,
    }


def _cursor() -> Schema:
    return _text("Where to read on: the next_cursor of the page before, with everything else as it was.")


def _ids(description: str) -> Schema:
    return {
        "type": "array",
        "description": description,
        "items": {"type": "string"},
        "minItems": 1,
        "maxItems": MAX_IDS,
    }


def _filter(description: str) -> Schema:
    return _object(
        {
            "kinds": _enums("Only these kinds of memory; none given means all.", ItemKind),
            "sources": _enums("Only memories that came from these kinds of source; none given means all.", SourceKind),
            "tags_any": _texts("Only memories with at least one of these tags."),
            "workspace": _text("Only memories of exactly this workspace."),
            "repo": _text("Only memories of exactly this repository."),
            "url": _text("Only memories from exactly this address."),
            "thread_id": _text("Only memories of exactly this thread."),
            "agent_id": _text("Only memories of exactly this agent."),
            "folder": _text("Only memories from this folder or one below it."),
            "file_path": _text("Only memories from this file, or from below this path."),
            "observed_after": _time("Only memories observed at this time or later (RFC 3339 with an offset)."),
            "observed_before": _time("Only memories observed before this time (RFC 3339 with an offset)."),
        },
        description=description,
    )
