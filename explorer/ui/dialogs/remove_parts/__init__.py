"""The parts of the dialog that forgets and erases."""
