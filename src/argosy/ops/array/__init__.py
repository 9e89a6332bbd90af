"""Arrays as such: making them, their shape, parts and order."""
