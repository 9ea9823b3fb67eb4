"""The tools against their vectors: which arguments pass, what reaches the engine, and how each refusal is worded.

The vectors stay outside the repository, in the shared folder; without it the other tests of the tools stand alone.
"""

from __future__ import annotations

import json
import re
import struct
from typing import Any

import pytest

from explorer.contract import InvalidRequest, Namespace, Reach, Timestamp, TinyMemoryError, Unsupported
from explorer.tools import TOOL_NAMES, MemoryTools, ToolScope
from tests.contract.vectors import SHARED
from tests.tools.recording import RecordingEngine

FILE = SHARED / "spec" / "vectors" / "tools.json"
NOW = Timestamp.parse("2026-11-30T12:00:00Z")
KINDS: dict[str, type[TinyMemoryError]] = {"InvalidRequest": InvalidRequest, "Unsupported": Unsupported}

Case = dict[str, Any]


def cases() -> list[Any]:
    if not FILE.is_file():
        own: Case = {
            "tool": "memory_list",
            "arguments": None,
            "calls": {"list": {"filter": {}, "limit": 10}},
        }
        return [pytest.param(own, id="own")]
    made = json.loads(FILE.read_text("utf-8"))["cases"]
    return [pytest.param(case, id=f"{place}-{case['tool']}") for place, case in enumerate(made)]


def arguments_of(case: Case) -> Any:
    if "arguments_generator" not in case:
        return case["arguments"]
    (times,) = re.findall(r"\d+", case["arguments_generator"])
    return {"ids": ["x"] * int(times)}


def as_32_bit(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: as_32_bit(part) for key, part in value.items()}
    if isinstance(value, list):
        return [as_32_bit(part) for part in value]
    return struct.pack("<f", value) if isinstance(value, float) else value


@pytest.mark.parametrize("case", cases())
async def test_a_call_is_made_or_refused_as_its_vector_says(case):
    engine = RecordingEngine(case.get("engine", "reference"), case.get("modes"))
    reach = Reach.model_validate(case["reach"]) if "reach" in case else None
    scope = ToolScope(Namespace.parse(case.get("place", "root")), reach, case.get("writes", True))
    tools = MemoryTools(engine, scope, clock=lambda: NOW)

    if "error" in case:
        with pytest.raises(TinyMemoryError) as raised:
            await tools.call(case["tool"], arguments_of(case))
        assert type(raised.value) is KINDS[case["error"]["kind"]]
        assert raised.value.text == case["error"]["message"]
        assert engine.calls == []
        return

    assert json.loads(await tools.call(case["tool"], arguments_of(case)))
    wanted = json.loads(json.dumps(case["calls"]).replace("<now>", NOW.text))
    wanted.pop("then", None)
    assert as_32_bit(dict(engine.calls)) == as_32_bit(wanted)
    assert len(engine.calls) == len(wanted)


def test_every_tool_has_a_vector():
    if FILE.is_file():
        assert {case.values[0]["tool"] for case in cases()} >= set(TOOL_NAMES)
