"""``paddle.set_flags`` and ``get_flags``.

Paddle's flags tune its own kernels and allocators. They are stored and given back; those with a
counterpart in torch set it, and those that would change results and have none are refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from argosy.foundation import env
from argosy.foundation.errors import DtypeError, NotSupported, UsageError, nearest
from argosy.foundation.process_state import register
from argosy.framework.flag_table import DEFAULTS, Flag
from argosy.framework.numerics import watch

__all__ = ["set_flags", "get_flags"]

_REFUSED_WHEN_TRUE = {
    "FLAGS_set_to_1d": "0-d tensors stay 0-d",
}


def _set_deterministic(value: Any) -> None:
    torch.backends.cudnn.deterministic = bool(value)


def _set_exhaustive_search(value: Any) -> None:
    torch.backends.cudnn.benchmark = bool(value)


_EFFECTS: dict[str, Callable[[Any], None]] = {
    "FLAGS_check_nan_inf": lambda value: watch(bool(value)),
    "FLAGS_cudnn_deterministic": _set_deterministic,
    "FLAGS_cudnn_exhaustive_search": _set_exhaustive_search,
}


class _Flags:
    """Current values; read from the environment at first use."""

    def __init__(self) -> None:
        self._known: dict[str, Flag] | None = None

    def reset(self) -> None:
        """Forget every value that was set; the environment counts again."""
        self._known = None
        for name, effect in _EFFECTS.items():
            effect(DEFAULTS[name])

    @property
    def values(self) -> dict[str, Flag]:
        if self._known is None:
            self._known = dict(DEFAULTS)
            for name, text in env.flags().items():
                if name in DEFAULTS:
                    self._read_environment(name, text)
        return self._known

    def _read_environment(self, name: str, text: str) -> None:
        try:
            self.set(name, parse(text, type(DEFAULTS[name])))
        except (ValueError, NotSupported) as error:
            warnings.warn(
                f"the environment variable {name}={text} has no effect: {error}", stacklevel=4
            )

    def set(self, name: str, value: Any) -> None:
        kind = type(DEFAULTS[name])
        if not isinstance(value, str if kind is str else (bool, int, float)):
            raise FlagTypeError(
                f"set_flags: {name} holds a {kind.__name__}, but received {value!r}"
            )
        if value and name in _REFUSED_WHEN_TRUE:
            raise NotSupported(
                f"set_flags: {name}={value} is not supported; {_REFUSED_WHEN_TRUE[name]}"
            )
        if name in _EFFECTS:
            _EFFECTS[name](value)
        self.values[name] = kind(value)


class FlagTypeError(UsageError, RuntimeError):
    """A flag was given a value of another type."""


flags = _Flags()
register("flags", flags, state=lambda: flags._known or DEFAULTS, reset=flags.reset)


def parse(text: str, kind: type) -> Any:
    """Read the text of an environment variable as a flag's type."""
    if kind is bool:
        word = text.strip().lower()
        if word not in ("1", "0", "true", "false", "t", "f", "yes", "no", "y", "n", ""):
            raise UsageError(f"expected true or false, but found {text!r}")
        return word in ("1", "true", "t", "yes", "y")
    return kind(text)


def _check_known(call: str, name: Any) -> None:
    if name not in DEFAULTS:
        raise UsageError(f"{call}: Flag {name} is not known.{nearest(str(name), DEFAULTS)}")


# the parameters are called `flags` in Paddle, as is the holder here
_holder = flags


def set_flags(flags: dict[str, Flag]) -> None:
    """Set flags by their full names, such as ``{"FLAGS_cudnn_deterministic": True}``."""
    if not isinstance(flags, dict):
        raise DtypeError(f"set_flags: flags should be a dict, but received {type(flags).__name__}")
    for name in flags:
        _check_known("set_flags", name)
    for name, value in flags.items():
        _holder.set(name, value)


def get_flags(flags: str | Sequence[str]) -> dict[str, Flag]:
    """The values of one flag or of several, by name.

    Example:
        >>> paddle.get_flags("FLAGS_check_nan_inf")
        {'FLAGS_check_nan_inf': False}
    """
    if isinstance(flags, str):
        flags = [flags]
    if not isinstance(flags, (list, tuple)):
        raise DtypeError(
            "get_flags: flags should be a string, a list or a tuple, but received "
            f"{type(flags).__name__}"
        )
    for name in flags:
        _check_known("get_flags", name)
    return {name: _holder.values[name] for name in flags}


def _begin() -> None:
    """Let those flags of the environment that change what torch does count from the start."""
    for name, text in env.flags().items():
        if name in _EFFECTS:
            _holder._read_environment(name, text)


_begin()
