"""The constructor of ``paddle.base.core.eager.Tensor``: Tensor takes its forms too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import UsageError
from argosy.foundation.places import Place, to_place
from argosy.tensor._core.convert import to_raw
from argosy.tensor._core.defaults import defaults

_OF_ARRAY = ("value", "place", "persistable", "zero_copy", "name", "stop_gradient")
_OF_TENSOR = ("value", "place", "name", "stop_gradient")
_OF_SHAPE = ("dtype", "dims", "name", "type", "persistable")
_OF_BLOCK = ("block", "type", "shape", "name", "dtype", "lod_level")
_INNER_ONLY = {"value", "dims", "name", "type", "persistable", "zero_copy"}


def is_inner(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether these are arguments of C++'s constructor, or those of a program's variable, not data
    with a dtype.
    """
    if hasattr(args[0] if args else kwargs.get("block"), "declare"):
        return True
    if len(args) > 1 and (isinstance(args[0], dtypes.DType) or isinstance(args[1], Place)):
        return True
    return not (args or "data" in kwargs) or not _INNER_ONLY.isdisjoint(kwargs)


def construct(tensor: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Fill a new Tensor: uninitialised, of a shape, or with the values of an array or a tensor.

    With a block of a program it becomes a variable of that.
    """
    block: Any = args[0] if args else kwargs.get("block")
    if hasattr(block, "declare"):
        given = {**dict(zip(_OF_BLOCK, args, strict=False)), **kwargs}
        del given["block"]
        block.declare(tensor, **given)
        return
    first = args[0] if args else kwargs.get("value")
    if isinstance(first, dtypes.DType) or "dims" in kwargs:
        names: tuple[str, ...] = _OF_SHAPE
    elif first is None or isinstance(first, np.ndarray):
        names = _OF_ARRAY
    else:
        names = _OF_TENSOR
    unknown = set(kwargs) - set(names)
    if unknown or len(args) > len(names):
        raise UsageError(
            f"Tensor: expected at most the arguments {', '.join(names)}, but received "
            f"{len(args)} positional ones and {sorted(kwargs)}"
        )
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    if first is None or "dims" in given:
        kind = dtypes.to_torch(given.get("dtype") or "float32")
        tensor.raw = torch.empty(tuple(given.get("dims") or (0,)), dtype=kind)
        mark_uninitialised(tensor)
    else:
        tensor.raw = _raw_values(first, given.get("place"), bool(given.get("zero_copy")))
    if given.get("name"):
        tensor.name = given["name"]
    if given.get("persistable", getattr(first, "persistable", False)):
        tensor.persistable = True
    if given.get("stop_gradient") is False:
        tensor.stop_gradient = False


def _raw_values(value: Any, place: Any, shares_memory: bool) -> torch.Tensor:
    device = defaults.device if place is None else to_place(place).device
    if shares_memory and isinstance(value, np.ndarray) and device.type == "cpu":
        return torch.from_numpy(value)
    return to_raw(value, place=place)


def mark_uninitialised(tensor: Any) -> None:
    """Call the tensor uninitialised until it holds another one."""
    tensor.__dict__["_uninitialised"] = tensor.raw


def is_initialised(tensor: Any) -> bool:
    """Whether the tensor was given a value."""
    return tensor.__dict__.get("_uninitialised") is not tensor.raw


def unfilled(shape: Any, dtype: Any) -> torch.Tensor:
    """A tensor for a parameter that has no values yet."""
    for what, value in (("shape", shape), ("dtype", dtype)):
        if value is None:
            raise UsageError(f"Parameter: The {what} of Parameter should not be None")
    extents = [int(n) for n in shape]
    if any(n < 0 for n in extents):
        raise UsageError(
            "Parameter: Each dimension of shape for Parameter must be greater than 0, but received "
            f"{extents}"
        )
    return torch.empty(extents, dtype=dtypes.to_torch(dtype), device=defaults.device)
