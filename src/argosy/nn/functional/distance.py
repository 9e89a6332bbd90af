"""Placeholder."""

__all__: list[str] = []
