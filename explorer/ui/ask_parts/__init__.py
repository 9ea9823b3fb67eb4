"""The parts of the Ask panel."""
