"""Updates of programs that were read from files: torch's fused kernels walk raw memory and compare
no sizes.

The optimizers of a script make their own accumulators, which fit. A file may name any variables, so
its updates are compared each time before they run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

from argosy.foundation.errors import ProgramError
from argosy.ops.table import Op
from argosy.tensor.engine import describe


def guarded(op: Op, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, which stands for ``op``, with a look at what it is given if it would not look
    itself.
    """
    if not op.traits.is_fused:
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
    shapes, dtype = [param.shape for param in params], params[0].dtype
    for name in op.traits.alike:
        tensors = lists.pop(name, [])
        if [t.numel() for t in tensors if isinstance(t, torch.Tensor)] != [1] * len(params):
            raise ProgramError(
                f"{op.name}: {name} must hold one number for each of {len(params)} parameters, "
                f"not {_shown(tensors)}"
            )
    for name, tensors in lists.items():
        is_alike = all(isinstance(t, torch.Tensor) and t.dtype is dtype for t in tensors)
        if not is_alike or [t.shape for t in tensors] != shapes:
            raise ProgramError(
                f"{op.name}: {name} must be like the parameters: {_shown(tensors)} beside "
                f"{_shown(params)}"
            )
        # An expanded tensor has fewer elements in memory than in its shape. Gradients are copied if
        # need be.
        if name != "grads" and not all(t.is_contiguous() for t in tensors):
            raise ProgramError(f"{op.name}: {name} must be contiguous: {_shown(tensors)}")


def _shown(tensors: list[Any]) -> str:
    return ", ".join(describe(t) for t in tensors[:4]) + (", ..." if len(tensors) > 4 else "")
