"""The memory tools for any client of the Model Context Protocol, over standard streams or loopback HTTP.

`config` stands alone; the other modules need the official SDK, which the optional extra `mcp` installs.
"""
