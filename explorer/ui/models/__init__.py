"""Qt models: they answer from what they hold, at once, and ask for the rest by signal."""
