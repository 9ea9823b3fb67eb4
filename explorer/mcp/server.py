"""The tools as a server of the Model Context Protocol: names, schemas and errors pass as they are."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server import Server, ServerRequestContext

import explorer
from explorer.contract import TinyMemoryError
from explorer.tools import WRITE_TOOL_NAMES, MemoryTools

log = logging.getLogger(__name__)

NAME = "tinymemory"

_Context = ServerRequestContext[Any]


async def _as_it_is() -> None:
    """For a memory that nothing can take away."""


def memory_server(
    tools: MemoryTools, hide: Callable[[str], str] = str, check: Callable[[], Awaitable[object]] = _as_it_is
) -> Server[Any]:
    """A server of exactly `tools`. A refusal is a result that says so in a sentence.

    `hide` takes out of such a sentence what a client must not see, such as where the memory's file is. `check` raises
    where what was just read is not the memory any more, so that the client does not get it.
    """

    async def list_tools(context: _Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        listed = [
            types.Tool(name=spec.name, description=spec.description, input_schema=spec.parameters)
            for spec in tools.specs()
        ]
        return types.ListToolsResult(tools=listed)

    async def call_tool(context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            answer = await tools.call(params.name, params.arguments)
            if params.name not in WRITE_TOOL_NAMES:  # what was written is
                await check()
            return _result(answer)
        except TinyMemoryError as error:
            return _result(hide(error.text), is_error=True)
        except Exception as error:
            # Only its kind: the text of an error that nobody expected may quote anything.
            log.exception("a call failed in an unforeseen way")
            return _result(f"the call failed in an unforeseen way ({type(error).__name__})", is_error=True)

    return Server(NAME, version=explorer.__version__, on_list_tools=list_tools, on_call_tool=call_tool)


def _result(text: str, *, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)
