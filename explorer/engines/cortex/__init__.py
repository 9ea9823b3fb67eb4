"""CortexDB, over its own API or behind the TinyHumans backend."""
