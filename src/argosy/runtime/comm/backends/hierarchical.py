"""Collectives across hosts: shared memory inside each host, gloo between the hosts' first ranks.

A reduction is made inside each host first, then between the first ranks, and handed out inside each
host again, so only one tensor per host travels over the network. What cannot be split like this
(``all_to_all``, ``scatter``, ...) goes through a gloo group of all ranks. Sums are in rank order
inside a host; between hosts gloo decides, so results of different kinds agree up to rounding.

When a part of the group breaks, this rank leaves the others too: an error on one host reaches all.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeAlias

import torch

from argosy.foundation.errors import ArgosyError, CommError
from argosy.runtime.comm import arguments, forks
from argosy.runtime.comm.backend import Backend, PlainBucket, ReduceOp
from argosy.runtime.comm.backends.loopback import LoopbackBackend
from argosy.runtime.comm.backends.shm.backend import ShmBackend
from argosy.runtime.comm.backends.shm.board import Seat
from argosy.runtime.comm.backends.torch_pg import TorchBackend
from argosy.runtime.comm.bucket import Bucket

_P = ParamSpec("_P")
_Method: TypeAlias = "Callable[Concatenate[HierarchicalBackend, _P], None]"

_HALVES = (torch.float16, torch.bfloat16)


def _call(method: _Method[_P]) -> _Method[_P]:
    """Make ``method`` refuse to start on a broken group, and break the whole group when a part of
    it breaks.
    """

    @functools.wraps(method)
    def call(self: HierarchicalBackend, *args: _P.args, **kwargs: _P.kwargs) -> None:
        if self._error is not None:
            if self._is_forked:
                raise forks.refusal(method.__name__, self._job_rank, self.name)
            raise type(self._error)(f"group {self.name!r} cannot be used any more: {self._error}")
        try:
            method(self, *args, **kwargs)
        except CommError as error:
            self._break(error)
            raise

    return call  # type: ignore[return-value]  # functools.wraps names the first argument


class HierarchicalBackend(Backend):
    """One rank's end. ``hosts_of_ranks`` has the host of every rank, as any string that is the same
    for ranks that share memory.

    ``address`` is the one that the other hosts reach this one by. Threads: as for the backends it
    is made of.
    """

    kind = "hierarchical"

    def __init__(
        self,
        name: str,
        rank: int,
        hosts_of_ranks: Sequence[str],
        store: Any,
        timeout_s: float = 1800.0,
        address: str = "127.0.0.1",
        seat: Seat | None = None,
        **shm_options: Any,
    ) -> None:
        self.name = name
        self.rank = rank
        self.world_size = len(hosts_of_ranks)
        self._hosts = list(hosts_of_ranks)
        self._error: ArgosyError | None = None  # set once
        self._is_forked = False
        self._seat = seat
        mine = self._hosts[rank]
        self._host_names = list(dict.fromkeys(self._hosts))  # in the order of their first ranks
        self._neighbours = [r for r, host in enumerate(self._hosts) if host == mine]
        self._leaders = [self._hosts.index(host) for host in self._host_names]
        self._host_index = self._host_names.index(mine)
        self._parts: list[Backend] = []
        try:
            self._local = self._keep(self._make_local(store, timeout_s, shm_options))
            self._all = self._keep(
                TorchBackend(
                    "gloo",
                    f"{name}-all",
                    rank,
                    self.world_size,
                    store,
                    timeout_s,
                    address,
                    seat=seat,
                )
            )
            self._between: Backend | None = None  # on the first rank of each host
            if rank == self._leaders[self._host_index]:
                self._between = self._keep(self._make_between(store, timeout_s, address))
        except BaseException:
            self.close()
            raise
        forks.register(self)

    def on_forked(self) -> None:
        """The parts let go of what they share by themselves."""
        self._is_forked = True
        self._error = forks.refusal("the group", self._job_rank, self.name)

    @property
    def _job_rank(self) -> int:
        return self.rank if self._seat is None else self._seat.ranks[self.rank]

    def _keep(self, part: Backend) -> Backend:
        self._parts.append(part)
        return part

    def _make_local(self, store: Any, timeout_s: float, options: dict[str, Any]) -> Backend:
        if len(self._neighbours) == 1:
            return LoopbackBackend()
        name = f"{self.name}-host{self._host_index}"
        place, size = self._neighbours.index(self.rank), len(self._neighbours)
        return ShmBackend(
            name, place, size, store, timeout_s, seat=self._seat_of(self._neighbours), **options
        )

    def _seat_of(self, members: Sequence[int]) -> Seat | None:
        return self._seat and Seat(self._seat.board, [self._seat.ranks[r] for r in members])

    def _make_between(self, store: Any, timeout_s: float, address: str) -> Backend:
        if len(self._leaders) == 1:
            return LoopbackBackend()
        return TorchBackend(
            "gloo",
            f"{self.name}-hosts",
            self._host_index,
            len(self._leaders),
            store,
            timeout_s,
            address,
            seat=self._seat_of(self._leaders),
        )

    # -- collectives that are split
    # -----------------------------------------------------------------------------

    @_call
    def all_reduce(self, tensor: torch.Tensor, op: ReduceOp) -> None:
        arguments.check_reducible("all_reduce", op, tensor.dtype)
        total = self._combine(tensor, op)
        self._local.broadcast(total, 0)
        self._store_result(tensor, total, op)

    @_call
    def reduce(self, tensor: torch.Tensor, dst: int, op: ReduceOp) -> None:
        arguments.check_root("reduce", "dst", dst, self.world_size)
        arguments.check_reducible("reduce", op, tensor.dtype)
        total = self._combine(tensor, op)
        if dst in self._neighbours:
            self._local.broadcast(total, 0)
            if self.rank == dst:
                self._store_result(tensor, total, op)

    def _combine(self, tensor: torch.Tensor, op: ReduceOp) -> torch.Tensor:
        """A tensor which, on the first rank of each host, has the combination over all; halves are
        summed in float32 and rounded once, in the end.
        """
        total = tensor.detach().to(
            torch.float32 if tensor.dtype in _HALVES else tensor.dtype, copy=True
        )
        step = ReduceOp.SUM if op is ReduceOp.AVG else op
        self._local.reduce(total, 0, step)
        if self._between is not None:
            self._between.all_reduce(total, step)
        return total

    def _store_result(self, tensor: torch.Tensor, total: torch.Tensor, op: ReduceOp) -> None:
        if op is ReduceOp.AVG:
            mode = None if total.is_floating_point() or total.is_complex() else "trunc"
            total = torch.div(total, self.world_size, rounding_mode=mode)
        tensor.detach().copy_(total)

    @_call
    def broadcast(self, tensor: torch.Tensor, src: int) -> None:
        arguments.check_root("broadcast", "src", src, self.world_size)
        source = self._hosts[src]
        if source == self._hosts[self.rank]:
            self._local.broadcast(tensor, self._neighbours.index(src))
        if self._between is not None:
            self._between.broadcast(tensor, self._host_names.index(source))
        if source != self._hosts[self.rank]:
            self._local.broadcast(tensor, 0)

    @_call
    def barrier(self) -> None:
        self._local.barrier()
        if self._between is not None:
            self._between.barrier()
        self._local.barrier()

    def make_bucket(self, numel: int, dtype: torch.dtype) -> Bucket:
        if dtype in _HALVES:
            return PlainBucket(self, torch.zeros(numel, dtype=dtype))
        return _HierarchicalBucket(self, self._local.make_bucket(numel, dtype))

    @_call
    def finish_bucket(self, bucket: Bucket) -> None:
        """Turn the mean over this host into the mean over all."""
        bucket.finish()
        if self._between is not None:
            bucket.tensor.mul_(len(self._neighbours) / self.world_size)
            self._between.all_reduce(bucket.tensor, ReduceOp.SUM)
        self._local.broadcast(bucket.tensor, 0)

    # -- collectives over all ranks
    # -----------------------------------------------------------------------------

    @_call
    def all_gather(self, outputs: Sequence[torch.Tensor], tensor: torch.Tensor) -> None:
        self._all.all_gather(outputs, tensor)

    @_call
    def gather(
        self, outputs: Sequence[torch.Tensor] | None, tensor: torch.Tensor, dst: int
    ) -> None:
        self._all.gather(outputs, tensor, dst)

    @_call
    def scatter(
        self, tensor: torch.Tensor, inputs: Sequence[torch.Tensor] | None, src: int
    ) -> None:
        self._all.scatter(tensor, inputs, src)

    @_call
    def reduce_scatter(
        self, tensor: torch.Tensor, inputs: Sequence[torch.Tensor], op: ReduceOp
    ) -> None:
        self._all.reduce_scatter(tensor, inputs, op)

    @_call
    def all_to_all(self, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]) -> None:
        self._all.all_to_all(outputs, inputs)

    # -- point to point
    # -----------------------------------------------------------------------------------------

    @_call
    def send(self, tensor: torch.Tensor, dst: int) -> None:
        arguments.check_peer("send", "dst", dst, self.rank, self.world_size)
        part, place = self._route(dst)
        part.send(tensor, place)

    @_call
    def recv(self, tensor: torch.Tensor, src: int) -> None:
        arguments.check_peer("recv", "src", src, self.rank, self.world_size)
        part, place = self._route(src)
        part.recv(tensor, place)

    def _route(self, peer: int) -> tuple[Backend, int]:
        """The group through which ``peer`` is reached, and its rank there."""
        return (
            (self._local, self._neighbours.index(peer))
            if peer in self._neighbours
            else (self._all, peer)
        )

    # -- the end
    # ----------------------------------------------------------------------------------------------

    def _break(self, error: CommError) -> None:
        if self._error is None:
            self._error = error
        for part in self._parts:
            part.close()

    def close(self) -> None:
        """Leave the group: calls of other threads end with CommError, the other ranks' with
        PeerLost.
        """
        self._break(CommError("it was closed"))


class _HierarchicalBucket(Bucket):
    """A bucket in the memory of this host; the mean over the host is made there while other work
    goes on.
    """

    def __init__(self, owner: HierarchicalBackend, local: Bucket) -> None:
        self._owner = owner
        self._bucket = local
        self.tensor = local.tensor

    def publish(self) -> None:
        self._bucket.publish()

    def progress(self) -> bool:
        return self._bucket.progress()

    def finish(self) -> None:
        self._owner.finish_bucket(self._bucket)

    def close(self) -> None:
        self.tensor = torch.empty(0)
        self._bucket.close()
