"""Paddle's own program files: read into programs, and written of them."""
