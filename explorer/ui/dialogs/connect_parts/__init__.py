"""The parts of the connections dialog: its cards, its further settings, its test, and the words for what it met."""
