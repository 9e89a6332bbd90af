"""Data parallelism for a plain ``torch.nn.Module``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from argosy.runtime.comm.group import Group
from argosy.runtime.parallel import agreement
from argosy.runtime.parallel.anchor import map_tensors, tensors_in
from argosy.runtime.parallel.broadcast import broadcast_values
from argosy.runtime.parallel.exchange import AveragedGradients, GradientExchange
from argosy.runtime.parallel.linear import LinearsAtHome
from argosy.runtime.parallel.reducer import Reducer, ReducerOptions
from argosy.runtime.parallel.sharding.sharded_reducer import ShardedReducer


class DataParallelModule(torch.nn.Module):
    """Wraps ``module``: forward is the module's, backward leaves averaged gradients. ``state_dict``
    has the module's own names.

    Without a group (one process) it only wraps. ``exchange`` is another way in which gradients
    become common to the ranks.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        group: Group | None,
        options: ReducerOptions,
        *,
        exchange: GradientExchange | None = None,
    ) -> None:
        super().__init__()
        self.module = module
        self.grad_need_sync = True
        if exchange is None and group is not None:
            exchange = AveragedGradients(group, options)
        self._exchange = exchange
        self._reducer: Reducer | ShardedReducer | None = None
        if group is not None:
            everything = [*module.named_parameters(), *module.named_buffers()]
            group.run(
                agreement.check_same,
                [agreement.describe(n, t) for n, t in everything],
                group.transport,
            )
            group.run(broadcast_values, [t for _, t in everything], group.transport, 0)
            self.init_reducer()

    def init_reducer(self) -> None:
        """Hook the reducer onto the trainable parameters; again after parameters were added or
        frozen.
        """
        if self._reducer is not None:
            self._reducer.close()
        if self._exchange is None:
            return
        sparse_ids = {
            id(layer.weight)
            for layer in self.module.modules()
            if isinstance(layer, (torch.nn.Embedding, torch.nn.EmbeddingBag)) and layer.sparse
        }
        named = [
            (name, p)
            for name, p in self.module.named_parameters()
            if p.requires_grad and not getattr(p, "no_sync", False)
        ]
        self._reducer = self._exchange.make_reducer(
            [p for _, p in named],
            [n for n, _ in named],
            [id(p) in sparse_ids for _, p in named],
        )
        self._linears = LinearsAtHome(self.module)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        reducer = self._reducer
        if reducer is None or not torch.is_grad_enabled():
            return self.module(*inputs, **kwargs)
        with self._linears.running():
            outputs = self.module(*inputs, **kwargs)
        tensors = tensors_in(outputs, torch.Tensor)
        if self.grad_need_sync and reducer.needs_anchor(tensors):
            outputs = map_tensors(outputs, torch.Tensor, reducer.anchored)
        reducer.prepare(tensors, self.grad_need_sync)
        return outputs

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Only accumulate inside the block; the first forward and backward outside averages the
        total.
        """
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
        if self._reducer is not None:
            self._reducer.close()
            self._reducer = None
