"""Switching the recording of gradients on and off.

The state is torch's own, per thread, so torch code inside these contexts obeys them too.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch


class _KeepsSignature:
    """As a decorator, leaves the signature of a function visible to ``inspect.getfullargspec``."""

    def __call__(self, orig_func: Any) -> Any:
        wrapped = super().__call__(orig_func)  # type: ignore[misc]
        if inspect.isfunction(wrapped):
            wrapped.__signature__ = inspect.signature(orig_func)  # type: ignore[attr-defined]
        return wrapped


class no_grad(_KeepsSignature, torch.no_grad):
    """Record nothing for backward: as a context, or as a decorator of a function or generator.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0], stop_gradient=False)
        >>> with paddle.no_grad():
        ...     y = x * 2
        >>> y.stop_gradient
        True
    """


class enable_grad(_KeepsSignature, torch.enable_grad):
    """Record for backward again inside ``no_grad``: as a context or decorator."""


class set_grad_enabled(_KeepsSignature, torch.set_grad_enabled):
    """Switch recording on or off: at once when called, and until the end of the block when used as
    a context.
    """


def is_grad_enabled() -> bool:
    """Whether operations are recorded for backward."""
    return torch.is_grad_enabled()
