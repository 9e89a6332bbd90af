"""Paddle's messages, at its path."""
