"""The parts of the context.md preview."""
