"""Data parallelism for a plain ``torch.nn.Module``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from argosy.runtime.comm.backend import Backend
from argosy.runtime.parallel.broadcast import broadcast_values
from argosy.runtime.parallel.reducer import Reducer, ReducerOptions


def tensors_in(value: Any) -> list[torch.Tensor]:
    """The tensors in what a forward returned."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [t for item in value.values() for t in tensors_in(item)]
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in tensors_in(item)]
    return []


class DataParallelModule(torch.nn.Module):
    """Wraps ``module``: forward is the module's, backward leaves averaged gradients. ``state_dict`` has the module's own names."""

    def __init__(self, module: torch.nn.Module, backend: Backend, options: ReducerOptions) -> None:
        super().__init__()
        self.module = module
        self.grad_need_sync = True
        broadcast_values([*module.parameters(), *module.buffers()], backend, 0)
        named = [(name, p) for name, p in module.named_parameters() if p.requires_grad and not getattr(p, "no_sync", False)]
        sparse_ids = {
            id(layer.weight)
            for layer in module.modules()
            if isinstance(layer, (torch.nn.Embedding, torch.nn.EmbeddingBag)) and layer.sparse
        }
        self._reducer = Reducer([p for _, p in named], [n for n, _ in named], [id(p) in sparse_ids for _, p in named], backend, options)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        outputs = self.module(*inputs, **kwargs)
        if torch.is_grad_enabled():
            self._reducer.is_sync_enabled = self.grad_need_sync
            self._reducer.prepare(tensors_in(outputs))
        return outputs

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Only accumulate inside the block; the first backward outside averages the total."""
        before, self.grad_need_sync = self.grad_need_sync, False
        try:
            yield
        finally:
            self.grad_need_sync = before

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        return self.module.state_dict(*args, **kwargs)

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        return self.module.load_state_dict(*args, **kwargs)

    def close(self) -> None:
        """Detach the reducer from the parameters."""
        self._reducer.close()
