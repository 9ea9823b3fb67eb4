"""TinyMemory Explorer: browse, search, edit and erase what agents remember."""

__version__ = "0.1.0"
