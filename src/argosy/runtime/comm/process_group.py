"""``group.process_group``: the collectives of one group under the names of Paddle's C++ class, for
scripts that call them without ``paddle.distributed``.

Ranks are those of the group. A tensor is torch's, or an object that holds one as ``raw``. Every
call returns a task with ``wait()``; with ``sync_op`` it has run before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from argosy.runtime.comm.backend import Backend, ReduceOp
from argosy.runtime.comm.work import Work

__all__ = ["ProcessGroup"]


def _raw(tensor: Any) -> torch.Tensor:
    raw: torch.Tensor = getattr(tensor, "raw", tensor)
    return raw.detach()


def _raws(tensors: Any, count: int) -> list[torch.Tensor]:
    """The tensors of a list, or the equal parts of one tensor along its first axis."""
    if isinstance(tensors, (list, tuple)):
        return [_raw(tensor) for tensor in tensors]
    return list(_raw(tensors).chunk(count))


class Communicator(Protocol):
    """What is asked of a group."""

    rank: int
    nranks: int
    transport: Backend

    @property
    def backend(self) -> str: ...
    def run(self, call: Callable[..., Any], *args: Any) -> Any: ...
    def submit(self, call: Callable[..., Any], *args: Any) -> Work: ...
    def message(
        self, what: str, peer: int, is_async: bool, call: Callable[..., Any], *args: Any
    ) -> Work: ...


class ProcessGroup:
    """The collectives of ``group``."""

    def __init__(self, group: Communicator) -> None:
        self._group = group

    @property
    def _transport(self) -> Backend:
        return self._group.transport

    def rank(self) -> int:
        """This process's rank in the group."""
        return self._group.rank

    def size(self) -> int:
        """How many ranks the group has."""
        return self._group.nranks

    def name(self) -> str:
        """The kind of the transport in capitals."""
        return self._group.backend

    def _start(self, sync_op: bool, call: Callable[..., Any], *args: Any) -> Work:
        if not sync_op:
            return self._group.submit(call, *args)
        self._group.run(call, *args)
        return Work.completed(what=call.__name__)

    def all_reduce(self, tensor: Any, op: int = ReduceOp.SUM, sync_op: bool = True) -> Work:
        """Combine ``tensor`` of all ranks, on each."""
        return self._start(sync_op, self._transport.all_reduce, _raw(tensor), ReduceOp(op))

    allreduce = all_reduce

    def reduce(self, tensor: Any, dst: int, op: int = ReduceOp.SUM, sync_op: bool = True) -> Work:
        """Combine ``tensor`` of all ranks on rank ``dst``."""
        return self._start(sync_op, self._transport.reduce, _raw(tensor), dst, ReduceOp(op))

    def broadcast(self, tensor: Any, src: int, sync_op: bool = True) -> Work:
        """Copy the ``tensor`` of rank ``src`` to all."""
        return self._start(sync_op, self._transport.broadcast, _raw(tensor), src)

    def all_gather(self, out: Any, tensor: Any, sync_op: bool = True) -> Work:
        """Collect ``tensor`` of all ranks in a list; or in a tensor, which then comes second."""
        if not isinstance(out, (list, tuple)):
            out, tensor = tensor, out
        return self.all_gather_into_tensor(out, tensor, sync_op)

    def all_gather_into_tensor(self, out: Any, tensor: Any, sync_op: bool = True) -> Work:
        """Collect ``tensor`` of all ranks one after another in ``out``."""
        parts = _raws(out, self.size())
        return self._start(sync_op, self._transport.all_gather, parts, _raw(tensor))

    def gather(self, tensor: Any, out: Sequence[Any], dst: int, sync_op: bool = True) -> Work:
        """Collect ``tensor`` of all ranks in the list ``out`` of rank ``dst``."""
        parts = _raws(out, self.size()) if self.rank() == dst else None
        return self._start(sync_op, self._transport.gather, parts, _raw(tensor), dst)

    def scatter(self, first: Any, second: Any, src: int, sync_op: bool = True) -> Work:
        """Give each rank its part of what rank ``src`` has: ``scatter(out, parts, src)`` with a
        list, ``scatter(whole, out, src)`` with one tensor.
        """
        is_list = isinstance(second, (list, tuple))
        out, whole = (first, second) if is_list else (second, first)
        return self.scatter_tensor(out, whole, src, sync_op)

    def scatter_tensor(self, out: Any, whole: Any, src: int, sync_op: bool = True) -> Work:
        """Give each rank its part, along the first axis, of ``whole`` of rank ``src``."""
        parts = _raws(whole, self.size()) if self.rank() == src else None
        return self._start(sync_op, self._transport.scatter, _raw(out), parts, src)

    def reduce_scatter(
        self, out: Any, whole: Any, op: int = ReduceOp.SUM, sync_op: bool = True
    ) -> Work:
        """Combine ``whole`` of all ranks and leave each its part in ``out``."""
        parts = _raws(whole, self.size())
        return self._start(sync_op, self._transport.reduce_scatter, _raw(out), parts, ReduceOp(op))

    reduce_scatter_tensor = reduce_scatter

    def all_to_all(self, out: Any, whole: Any, sync_op: bool = True) -> Work:
        """Send the r-th part to rank r, and collect what the ranks sent here."""
        outs, parts = _raws(out, self.size()), _raws(whole, self.size())
        return self._start(sync_op, self._transport.all_to_all, outs, parts)

    all_to_all_tensor = all_to_all

    def send(self, tensor: Any, dst: int, sync_op: bool = True) -> Work:
        """Hand ``tensor`` to rank ``dst``."""
        call = self._transport.send
        return self._group.message("send", dst, not sync_op, call, _raw(tensor), dst)

    def recv(self, tensor: Any, src: int, sync_op: bool = True) -> Work:
        """Fill ``tensor`` with what rank ``src`` sends."""
        call = self._transport.recv
        return self._group.message("recv", src, not sync_op, call, _raw(tensor), src)

    def barrier(self, device_id: int = -1) -> Work:
        """Wait until every rank is here."""
        return self._start(True, self._transport.barrier)
