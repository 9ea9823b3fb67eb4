"""The parts of the dialog that moves and copies."""
