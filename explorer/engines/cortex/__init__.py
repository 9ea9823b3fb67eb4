"""CortexDB by its own API and behind the TinyHumans backend: one engine, two wires.

Only descriptors and builders are here: what speaks HTTP is imported when an engine is built.
"""
