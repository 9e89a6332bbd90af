"""The log of ``fleet``: on stderr, unless the script has set up logging itself."""

from __future__ import annotations

import logging

from argosy.foundation.errors import UsageError
from argosy.foundation.process_state import register

__all__ = ["get_log_level_code", "get_log_level_name", "logger", "set_log_level"]

logger = logging.getLogger("argosy.fleet")


def _add_handler() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("fleet: %(levelname)s: %(message)s"))
    handler.addFilter(lambda record: not logging.getLogger().handlers)
    logger.addHandler(handler)


_add_handler()
register("level of the log", logger, attributes=("level",), reset=lambda: logger.setLevel(0))


def set_log_level(level: int | str) -> None:
    """Show messages from ``level`` on: a number or a name such as 'INFO'."""
    if isinstance(level, bool) or not isinstance(level, (int, str)):
        raise UsageError(f"set_log_level: level must be a number or a name, but is {level!r}")
    try:
        logger.setLevel(level if isinstance(level, int) else level.upper())
    except ValueError:
        raise UsageError(
            f"set_log_level: there is no level {level!r}; use DEBUG, INFO, WARNING or ERROR"
        ) from None


def get_log_level_code() -> int:
    """The level as a number."""
    return logger.getEffectiveLevel()


def get_log_level_name() -> str:
    """The level as a name."""
    return logging.getLevelName(get_log_level_code())
