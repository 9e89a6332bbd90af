"""Hooks on what backward keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from argosy.foundation.errors import DtypeError
from argosy.tensor.engine import Tensor, wrap


class saved_tensors_hooks:
    """Inside the block, keep ``pack_hook(tensor)`` for backward instead of each tensor;
    ``unpack_hook`` restores it.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([2.0], stop_gradient=False)
        >>> with paddle.autograd.saved_tensors_hooks(lambda t: t.numpy(), paddle.to_tensor):
        ...     y = x * x
        >>> y.backward()
        >>> x.grad.item()
        4.0
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook
        self._engine = torch.autograd.graph.saved_tensors_hooks(self._pack, self._unpack)

    def _pack(self, raw: torch.Tensor) -> Any:
        return self.pack_hook(wrap(raw))

    def _unpack(self, packed: Any) -> torch.Tensor:
        value = self.unpack_hook(packed)
        if not isinstance(value, Tensor):
            raise DtypeError(
                "saved_tensors_hooks: unpack_hook must return a Tensor, but returned "
                f"{type(value).__name__}"
            )
        return value.raw

    def __enter__(self) -> None:
        self._engine.__enter__()

    def __exit__(self, *args: object) -> None:
        self._engine.__exit__(*args)
