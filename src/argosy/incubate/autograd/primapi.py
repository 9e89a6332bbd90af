"""Derivatives in programs."""

from __future__ import annotations

from typing import Any, NoReturn

from argosy.foundation.errors import NotSupported
from argosy.static import gradients

__all__ = ["forward_grad", "grad", "to_prim"]


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None) -> Any:
    """The gradients of ``outputs`` with respect to ``inputs``, as one variable if ``inputs`` is
    one.
    """
    found = gradients(outputs, inputs, grad_outputs)
    return found if isinstance(inputs, (list, tuple)) else found[0]


def forward_grad(outputs: Any, inputs: Any, grad_inputs: Any = None) -> NoReturn:
    """Not supported: programs have derivatives in reverse only."""
    raise NotSupported(
        "paddle.incubate.autograd.forward_grad: derivatives in forward mode are not supported; "
        "call paddle.static.gradients"
    )


def to_prim(*args: Any, **kwargs: Any) -> NoReturn:
    """Not supported: operators are computed as they were recorded."""
    raise NotSupported(
        "paddle.incubate.autograd.primapi.to_prim: operators are not broken into primitive ones; "
        "run the program as it is, the values are the same"
    )
