"""The only reader of the process environment."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping

from argosy.foundation.errors import ConfigError


def flags() -> dict[str, str]:
    """The ``FLAGS_*`` variables that are set, as strings."""
    return {name: value for name, value in os.environ.items() if name.startswith("FLAGS_")}


def home() -> str:
    """The folder that ``paddle.dataset`` and friends cache files in."""
    return os.path.expanduser(os.environ.get("PADDLE_HOME", "~/.cache/paddle"))


_TOLD = ("PADDLE_TRAINERS_NUM", "PADDLE_TRAINER_ENDPOINTS", "PADDLE_PSERVERS_IP_PORT_LIST")
_descriptions: list[Callable[[], None]] = []


def describe_by(complete: Callable[[], None]) -> None:
    """Ask ``complete`` for Paddle's variables of this process where no launcher of Paddle has set
    them, before they are read.
    """
    _descriptions.append(complete)


def describe() -> None:
    """Complete the variables that say who this process is."""
    # an operator of Kubernetes lists PADDLE_TRAINERS, and leaves the rest to be completed
    if "PADDLE_TRAINERS" in os.environ or not any(name in os.environ for name in _TOLD):
        for complete in _descriptions:
            complete()


def rank() -> int:
    """This process's number among the trainers, 0 where none is set."""
    describe()
    return _integer("PADDLE_TRAINER_ID", 0)


def world_size() -> int:
    """How many trainers there are, 1 where none is set."""
    describe()
    return _integer("PADDLE_TRAINERS_NUM", 1)


def _integer(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    try:
        return int(text) if text else default
    except ValueError:
        raise ConfigError(
            f"the environment variable {name} must be an integer, but is {text!r}"
        ) from None


def get(name: str, default: str = "") -> str:
    """A variable's text; an unset one reads as ``default``."""
    return os.environ.get(name, default)


def missing(names: tuple[str, ...]) -> list[str]:
    """Those of ``names`` that are not set."""
    return [name for name in names if name not in os.environ]


def integer(name: str, default: int) -> int:
    """A variable as an integer; what is not one is an error that names it."""
    return _integer(name, default)


def seconds(name: str, default: float) -> float:
    """A variable as a number of seconds, more than 0; ``inf`` is one."""
    text = os.environ.get(name, "")
    try:
        value = float(text) if text else default
    except ValueError:
        value = math.nan
    if not value > 0:
        raise ConfigError(
            f"the environment variable {name} must be a number of seconds, but is {text!r}"
        )
    return value


def everything() -> dict[str, str]:
    """A copy of the environment, for a process to be started; never to be printed."""
    return dict(os.environ)


def replace(variables: Mapping[str, str]) -> None:
    """Make the environment of this process exactly ``variables``."""
    os.environ.clear()
    os.environ.update(variables)


def update(variables: Mapping[str, str]) -> None:
    """Set variables of this process, for libraries that read their settings there."""
    os.environ.update(variables)


def remove(name: str) -> None:
    """Make a variable one that is not set."""
    os.environ.pop(name, None)


def select(names: tuple[str, ...]) -> dict[str, str]:
    """Those of ``names`` that are set to something, with their text."""
    return {name: os.environ[name] for name in names if os.environ.get(name)}
