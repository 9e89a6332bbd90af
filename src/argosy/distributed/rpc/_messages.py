"""A call as bytes: the function by module and name, arguments and results as objects travel.

Arguments and results are numbers, strings, containers, arrays and Tensors, read by a pickle machine
that runs no code; an instance of another class is refused until ``add_safe_globals`` admits it.
What runs is what the name says in the process that is called: a function of a module that this
process has imported itself. The standard library's are not called, but for plain computations.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any

import torch

from argosy.distributed.communication.objects import decode, encode
from argosy.foundation.errors import CommError, UsageError

_PLAIN_MODULES = ("math", "operator")
_PLAIN_BUILTINS = frozenset({
    "abs", "all", "any", "bool", "complex", "divmod", "float", "int", "len", "list", "max", "min",
    "pow", "range", "repr", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "zip",
})  # fmt: skip


class RemoteError(CommError):
    """The function raised in the process that it was called in."""


def request(function: Callable[..., Any], args: Any, kwargs: Any) -> bytes:
    """The call of ``function``, which must be found by its module and name."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not module or not name or "<" in name:
        raise UsageError(
            f"rpc: {function!r} cannot be called in another process, because it has no name of a "
            "module; define it at the top of one"
        )
    return _bytes([module, name, tuple(args or ()), dict(kwargs or {})])


def answer(message: bytes) -> bytes:
    """Do what a request asks for, and return the result, or the error, as a message."""
    try:
        module, name, args, kwargs = _value(message)
        return _bytes([True, _find(module, name)(*args, **kwargs)])
    except Exception as error:
        return _bytes([False, f"{type(error).__name__}: {error}", traceback.format_exc()])


def result(message: bytes, worker: str) -> Any:
    """What came back; RemoteError if the function raised there."""
    succeeded, *rest = _value(message)
    if succeeded:
        return rest[0]
    said, trace = rest
    raise RemoteError(f"rpc: on worker {worker!r}: {said}\n{trace}")


def _find(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module)
    if found is None:
        raise UsageError(f"rpc: the called process has not imported {module!r}")
    first, *rest = name.split(".")
    if not _is_open(module.partition(".")[0], first):
        raise UsageError(f"rpc: {module}.{name} is not called for others: define a function")
    found = getattr(found, first)
    for part in rest:
        if not isinstance(found, type):  # not through a module, to what that has
            raise UsageError(f"rpc: {name!r} of {module} is no function of its, nor of its classes")
        found = getattr(found, part)
    if getattr(found, "__module__", None) != module or isinstance(found, type(sys)):
        raise UsageError(f"rpc: {name!r} is not defined in {module}")
    return found


def _is_open(package: str, name: str) -> bool:
    """Whether functions of a module are called for others."""
    if package == "builtins":
        return name in _PLAIN_BUILTINS
    return package in _PLAIN_MODULES or package not in sys.stdlib_module_names


def _bytes(value: Any) -> bytes:
    return encode(value).numpy().tobytes()


def _value(message: bytes) -> Any:
    return decode("rpc", torch.frombuffer(bytearray(message), dtype=torch.uint8))
