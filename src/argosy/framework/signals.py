"""Handlers of signals."""

from __future__ import annotations


def disable_signal_handler() -> None:
    """Take back the handlers that Paddle installs when it is imported, which print a stack when the
    process fails. None are installed here, so those of the script and of other libraries stay.

    Example:
        >>> paddle.disable_signal_handler()
    """
