"""``fluid.wrapped_decorator``: Python's own decorator keeps signatures."""

from contextlib import contextmanager as signature_safe_contextmanager

__all__ = ["signature_safe_contextmanager"]
