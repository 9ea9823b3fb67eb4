"""Names, descriptions and schemas of the tools are frozen: a model, or a host's allow-list, was written for them.

TINYMEMORY_WRITE_FIXTURES=1 writes the fixture anew, after a change that is meant.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer.contract import ItemKind, LearningKind, Role, SourceKind
from explorer.contract.reference import ReferenceEngine
from explorer.tools import TOOL_NAMES, WRITE_TOOL_NAMES, MemoryTools, ToolSpec
from tests.tools.recording import RecordingEngine

FIXTURE = Path(__file__).with_name("tool_contracts.json")


def schemas(value: Any) -> Iterator[dict[str, Any]]:
    """Every schema within one, itself included."""
    yield value
    for part in value.get("properties", {}).values():
        yield from schemas(part)
    if "items" in value:
        yield from schemas(value["items"])


def by_name(tools: MemoryTools) -> dict[str, ToolSpec]:
    return {spec.name: spec for spec in tools.specs()}


def test_specs_are_those_of_the_fixture():
    specs = [spec.as_dict() for spec in MemoryTools.new(ReferenceEngine()).specs()]
    text = json.dumps(specs, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    if os.environ.get("TINYMEMORY_WRITE_FIXTURES"):
        FIXTURE.write_text(text, "utf-8", newline="\n")
    assert text == FIXTURE.read_text("utf-8")


def test_specs_come_in_order_and_without_what_call_refuses():
    engine = ReferenceEngine()
    assert tuple(by_name(MemoryTools.new(engine))) == TOOL_NAMES
    reading = tuple(name for name in TOOL_NAMES if name not in WRITE_TOOL_NAMES)
    assert tuple(by_name(MemoryTools.new(engine).read_only())) == reading
    assert "memory_fetch" not in by_name(MemoryTools.new(RecordingEngine(modes=[])))


@pytest.mark.parametrize(
    ("modes", "default"),
    [(["keyword"], "keyword"), (["vector", "hybrid"], "hybrid"), (["vector", "keyword"], "vector")],
)
def test_fetch_offers_exactly_the_modes_of_the_engine(modes, default):
    spec = by_name(MemoryTools.new(RecordingEngine(modes=modes)))["memory_fetch"]
    mode = spec.parameters["properties"]["mode"]
    assert (mode["enum"], mode["default"]) == (modes, default)


def test_schemas_are_closed_described_and_whole():
    for spec in MemoryTools.new(ReferenceEngine()).specs():
        assert spec.description.strip()
        for schema in schemas(spec.parameters):
            assert not {"$schema", "$ref", "$defs"} & set(schema)
            if schema["type"] == "object":
                assert schema["additionalProperties"] is False
                assert schema.get("required") != []
                assert set(schema.get("required", [])) <= set(schema["properties"])
                assert not {"namespace", "reach"} & set(schema["properties"])
                assert all(part["description"].strip() for part in schema["properties"].values())


def test_closed_sets_are_those_of_the_contract():
    specs = by_name(MemoryTools.new(ReferenceEngine()))
    filter = specs["memory_list"].parameters["properties"]["filter"]["properties"]
    assert list(filter) == [
        *("kinds", "sources", "tags_any", "workspace", "repo", "url", "thread_id", "agent_id"),
        *("folder", "file_path", "observed_after", "observed_before"),
    ]
    assert filter["kinds"]["items"]["enum"] == [kind.value for kind in ItemKind]
    assert filter["sources"]["items"]["enum"] == [kind.value for kind in SourceKind]
    assert specs["memory_explore"].parameters["properties"]["facet"]["enum"] == [
        *("kind", "source", "source_id", "workspace", "folder", "file_path", "language"),
        *("repo", "url", "thread", "agent", "tool_call", "tag"),
    ]
    store = specs["memory_store"].parameters["properties"]
    assert store["learning"]["properties"]["learning_kind"]["enum"] == [kind.value for kind in LearningKind]
    assert store["conversation"]["properties"]["turns"]["items"]["properties"]["role"]["enum"] == [
        role.value for role in Role
    ]


def test_a_spec_fits_each_interface():
    (spec,) = [spec for spec in MemoryTools.new(ReferenceEngine()).specs() if spec.name == "memory_get"]
    assert list(spec.as_dict()) == ["name", "description", "parameters"]
    assert spec.as_mcp() == {"name": spec.name, "description": spec.description, "inputSchema": spec.parameters}
    assert spec.as_openai() == {"type": "function", "function": spec.as_dict()}
    assert spec.as_anthropic() == {
        "name": spec.name,
        "description": spec.description,
        "input_schema": spec.parameters,
    }
