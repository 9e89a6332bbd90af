"""A program on several places and in several processes."""
