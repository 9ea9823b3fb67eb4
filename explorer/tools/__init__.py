"""The memory tools: what a model may call, within a scope that its host fixes. Free of Qt."""

from explorer.tools.memory_tools import MemoryTools
from explorer.tools.scope import ToolScope
from explorer.tools.specs import TOOL_NAMES, WRITE_TOOL_NAMES, ToolSpec

__all__ = ["TOOL_NAMES", "WRITE_TOOL_NAMES", "MemoryTools", "ToolScope", "ToolSpec"]
