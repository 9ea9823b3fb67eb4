"""What the item viewer is made of."""
