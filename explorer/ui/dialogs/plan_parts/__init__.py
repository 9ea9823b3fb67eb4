"""What the dialogs of removals and of moves share: a plan in words and numbers, and how far its run is."""
