"""`tinymemory tools`."""

from __future__ import annotations

import json

import pytest

from explorer.tools import TOOL_NAMES, WRITE_TOOL_NAMES


@pytest.mark.parametrize(
    ("form", "path"),
    [
        ("plain", ["parameters"]),
        ("mcp", ["inputSchema"]),
        ("openai", ["function", "parameters"]),
        ("anthropic", ["input_schema"]),
    ],
)
def test_each_form_holds_each_tool(run, db, form, path):
    ran = run("tools", "--format", form, "--json")
    assert (ran.status, ran.err, len(ran.lines)) == (0, "", 1)
    tools = json.loads(ran.out)
    assert [tool["function"]["name"] if form == "openai" else tool["name"] for tool in tools] == list(TOOL_NAMES)
    for tool in tools:
        schema = tool
        for key in path:
            schema = schema[key]
        assert schema["type"] == "object"


def test_without_writes_there_are_only_reads(run, db):
    ran = run("tools", "--read-only")
    names = [tool["name"] for tool in json.loads(ran.out)]
    assert names == [name for name in TOOL_NAMES if name not in WRITE_TOOL_NAMES]
    assert len(ran.lines) > 100, "it is laid out for reading"
