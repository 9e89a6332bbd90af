"""What conversion tells of itself: levels of the log, and converted functions as Python."""

from __future__ import annotations

import logging
import sys
from typing import Any

from argosy.foundation.errors import DtypeError, UsageError
from argosy.jit.state import state

__all__ = ["TranslatorLogger", "get_verbosity", "set_code_level", "set_verbosity"]

_logger = logging.getLogger("paddle.jit")


class TranslatorLogger:
    """The log of conversion; ``get_instance`` gives the one there is."""

    @property
    def logger(self) -> logging.Logger:
        return _logger

    logger_name = _logger.name

    @property
    def verbosity_level(self) -> int:
        return state.verbosity

    @verbosity_level.setter
    def verbosity_level(self, level: int) -> None:
        state.verbosity = _checked("set_verbosity", level)

    @property
    def transformed_code_level(self) -> int:
        return state.code_level

    def log(self, level: int, msg: str, *args: Any) -> None:
        """Write a message if the log is as verbose as ``level``."""
        if level <= state.verbosity:
            _write(logging.INFO, msg % args if args else msg)

    def warn(self, msg: str, *args: Any) -> None:
        _logger.warning(msg, *args)

    def error(self, msg: str, *args: Any) -> None:
        _logger.error(msg, *args)

    def log_transformed_code(self, name: str, text: str) -> None:
        """Show a converted function if that was asked for."""
        if state.code_level >= 0:
            _write(logging.INFO, f"After the conversion of {name}:\n{text}")


def _write(level: int, text: str) -> None:
    _logger.log(level, text)
    if state.logs_to_stdout:
        sys.stdout.write(f"{text}\n")


def _checked(name: str, level: Any) -> int:
    if isinstance(level, bool) or not isinstance(level, int):
        raise DtypeError(f"{name}: level must be an integer, but received {type(level).__name__}")
    if level < 0:
        raise UsageError(f"{name}: level must be 0 or more, but received {level}")
    return level


translator_logger = TranslatorLogger()


def set_verbosity(level: int = 0, also_to_stdout: bool = False) -> None:
    """Say how much conversion tells of itself: 0 nothing, more with each level."""
    state.verbosity = _checked("set_verbosity", level)
    _set_stdout("set_verbosity", also_to_stdout)


def set_code_level(level: int = 100, also_to_stdout: bool = False) -> None:
    """Show converted functions as Python when they are recorded; there is one stage, so any
    ``level`` shows it.
    """
    state.code_level = _checked("set_code_level", level)
    _set_stdout("set_code_level", also_to_stdout)


def get_verbosity() -> int:
    return state.verbosity


def _set_stdout(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise BadFlag(
            f"{name}: also_to_stdout must be True or False, but received {type(value).__name__}"
        )
    state.logs_to_stdout = value
    if _logger.level == logging.NOTSET and (state.verbosity or state.code_level >= 0):
        _logger.setLevel(logging.INFO)


class BadFlag(DtypeError, AssertionError):
    """A switch that is neither True nor False."""
