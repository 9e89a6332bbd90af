"""Updates of programs that were read from files: torch's fused kernels walk raw memory and compare no sizes.

The optimizers of a script make their own accumulators, which fit. A file may name any variables, so its updates are compared each time
before they run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

from argosy.foundation.errors import ProgramError
from argosy.ops.table import Op

_FUSED = frozenset({"adam_", "adamw_", "momentum_", "sgd_"})  # ops that call a fused kernel


def guarded(op: Op, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, which stands for ``op``, with a look at what it is given if it would not look itself."""
    if op.name not in _FUSED:
        return function
    signature = inspect.signature(op.fn)

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        _require_fitting(op, given)
        return function(*args, **kwargs)

    return run


def _require_fitting(op: Op, given: dict[str, Any]) -> None:
    params = given["params"]
    if not params:
        raise ProgramError(f"{op.name}: there is no parameter to update")
    lists = {name: value for name, value in given.items() if isinstance(value, list)}
    if given.get("amsgrad") is not True:
        lists = {name: value for name, value in lists.items() if name != "moment2_maxs" or value}
    for name, tensors in lists.items():
        if len(tensors) != len(params):
            raise ProgramError(f"{op.name}: {len(params)} params, but {len(tensors)} {name}")
        for param, tensor in zip(params, tensors, strict=True):
            if not isinstance(tensor, torch.Tensor):
                raise ProgramError(f"{op.name}: {name} must be tensors, but one is a {type(tensor).__name__}")
            is_alike = tensor.shape == param.shape and tensor.dtype is param.dtype and tensor.device == param.device
            if not is_alike or not (tensor.is_contiguous() or name == "grads"):
                raise ProgramError(
                    f"{op.name}: {name} must be like the parameters, but one is {tensor.dtype}{list(tensor.shape)} "
                    f"beside {param.dtype}{list(param.shape)}"
                )
