"""The group of one rank: every collective is a copy or nothing, with the checks of the others."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from argosy.foundation.errors import CollectiveMismatch, CommError, UsageError
from argosy.runtime.comm import arguments
from argosy.runtime.comm.backend import Backend, ReduceOp


class LoopbackBackend(Backend):
    """Rank 0 of 1. A combination over one rank is the value itself, whatever the operation."""

    kind = "loopback"
    rank = 0
    world_size = 1

    def __init__(self) -> None:
        self._is_closed = False

    def agree(self, kind: str, dtype: torch.dtype | None, count: int, detail: int) -> None:
        """As ``ShmBackend.agree``: one rank agrees with itself."""
        self._check_open()

    def all_reduce(self, tensor: torch.Tensor, op: ReduceOp) -> None:
        self._check_open()
        arguments.check_reducible("all_reduce", op, tensor.dtype)

    def broadcast(self, tensor: torch.Tensor, src: int) -> None:
        self._check_open()
        arguments.check_root("broadcast", "src", src, 1)

    def reduce(self, tensor: torch.Tensor, dst: int, op: ReduceOp) -> None:
        self._check_open()
        arguments.check_root("reduce", "dst", dst, 1)
        arguments.check_reducible("reduce", op, tensor.dtype)

    def all_gather(self, outputs: Sequence[torch.Tensor], tensor: torch.Tensor) -> None:
        self._check_open()
        arguments.check_parts("all_gather", outputs, tensor, 1)
        _copy(outputs[0], tensor)

    def gather(
        self, outputs: Sequence[torch.Tensor] | None, tensor: torch.Tensor, dst: int
    ) -> None:
        self._check_open()
        arguments.check_root("gather", "dst", dst, 1)
        if outputs is None:
            raise UsageError("gather: rank 0 receives and must pass the list of 1 tensors to fill")
        arguments.check_parts("gather", outputs, tensor, 1)
        _copy(outputs[0], tensor)

    def scatter(
        self, tensor: torch.Tensor, inputs: Sequence[torch.Tensor] | None, src: int
    ) -> None:
        self._check_open()
        arguments.check_root("scatter", "src", src, 1)
        if inputs is None:
            raise UsageError("scatter: rank 0 sends and must pass the list of 1 tensors")
        arguments.check_parts("scatter", inputs, tensor, 1)
        _copy(tensor, inputs[0])

    def reduce_scatter(
        self, tensor: torch.Tensor, inputs: Sequence[torch.Tensor], op: ReduceOp
    ) -> None:
        self._check_open()
        arguments.check_parts("reduce_scatter", inputs, tensor, 1)
        arguments.check_reducible("reduce_scatter", op, tensor.dtype)
        _copy(tensor, inputs[0])

    def all_to_all(self, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]) -> None:
        self._check_open()
        arguments.check_exchange(outputs, inputs, 1)
        if outputs[0].numel() != inputs[0].numel():
            raise CollectiveMismatch(
                f"all_to_all: rank 0 passed an output of {outputs[0].numel()} elements, but is "
                f"sent {inputs[0].numel()}"
            )
        _copy(outputs[0], inputs[0])

    def send(self, tensor: torch.Tensor, dst: int, tag: int = 0) -> None:
        self._check_open()
        arguments.check_peer("send", "dst", dst, 0, 1)

    def recv(self, tensor: torch.Tensor, src: int) -> None:
        self._check_open()
        arguments.check_peer("recv", "src", src, 0, 1)

    def barrier(self) -> None:
        self._check_open()

    def close(self) -> None:
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            raise CommError("the group is closed")


def _copy(target: torch.Tensor, source: torch.Tensor) -> None:
    target.detach().copy_(source.detach().reshape(target.shape))
