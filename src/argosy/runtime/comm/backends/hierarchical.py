"""Collectives across hosts: shared memory inside each host, gloo between the hosts' first ranks.

A reduction is made inside each host first, then between the first ranks, and handed out inside each
host again, so only one tensor per host travels over the network. What cannot be split like this
(``all_to_all``, ``scatter``, ...) goes through a gloo group of all ranks. Sums are in rank order
inside a host; between hosts gloo decides, so results of different kinds agree up to rounding.

Gradients in buckets go between the first ranks by a thread (``freight.py``), parcel by parcel, from
the moment at which the host's mean is there: the rank computes on.

Before any of it, the ranks of a host compare in shared memory what they are about to call, and the
first ranks of the hosts among themselves (``mesh.py``): different collectives are an error with all
sides, on every rank, before gloo gets data that it does not expect. What is small travels with that
comparison, without gloo.

When a part of the group breaks, this rank leaves the others too: an error on one host reaches all.
What broke it is in the store before anybody leaves, so all can say it.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeAlias

import torch

from argosy.foundation.errors import ArgosyError, CollectiveMismatch, CommError, PeerLost
from argosy.runtime.comm import arguments, fingerprint, forks
from argosy.runtime.comm.backend import Backend, PlainBucket, ReduceOp
from argosy.runtime.comm.backends.cargo import Cargo
from argosy.runtime.comm.backends.factor_cargo import FactorCargo, digest_of_products
from argosy.runtime.comm.backends.freight import Freight
from argosy.runtime.comm.backends.hierarchical_bucket import (
    FactoredHierarchicalBucket,
    HierarchicalBucket,
)
from argosy.runtime.comm.backends.loopback import LoopbackBackend
from argosy.runtime.comm.backends.mesh import Mesh
from argosy.runtime.comm.backends.shm.backend import ShmBackend
from argosy.runtime.comm.backends.shm.board import Seat
from argosy.runtime.comm.backends.shm.care import poll
from argosy.runtime.comm.backends.torch_pg import TorchBackend, combine
from argosy.runtime.comm.bucket import Bucket, FactoredBucket
from argosy.runtime.comm.codec import Codec
from argosy.runtime.comm.factors import is_gain

_P = ParamSpec("_P")
_Method: TypeAlias = "Callable[Concatenate[HierarchicalBackend, _P], None]"

# A bucket that is sent early hides behind the rest of backward, one that is small costs a message
# and a turn of the thread: between namespaces at 1 Gb/s 4 MB take 34 ms, a turn less than 0.1 ms.
_BUCKET_BYTES = 4 << 20
_HALVES = (torch.float16, torch.bfloat16)
_WIDE = (torch.float32, torch.float64)
_VERDICT_S = (
    2.0  # for which a rank waits for what the other hosts say, before it tells its own side
)


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
            cause = self._cause_of(error)
            self._break(cause)
            if cause is error:
                raise
            raise cause from error

    return call  # type: ignore[return-value]  # functools.wraps names the first argument


class HierarchicalBackend(Backend):
    """One rank's end. ``hosts_of_ranks`` has the host of every rank, as any string that is the same
    for ranks that share memory.

    ``address`` is the one that the other hosts reach this one by. Threads: as for the backends it
    is made of.
    """

    kind = "hierarchical"
    most_bucket_bytes = _BUCKET_BYTES

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
        self.timeout_s = timeout_s
        self._error: ArgosyError | None = None  # set once
        self._is_forked = False
        self._seat = seat
        mine = self._hosts[rank]
        self._host_names = list(dict.fromkeys(self._hosts))  # in the order of their first ranks
        self._neighbours = [r for r, host in enumerate(self._hosts) if host == mine]
        self._leaders = [self._hosts.index(host) for host in self._host_names]
        self._host_index = self._host_names.index(mine)
        self._store = store
        self._number = 0
        self._num_places = 0  # of cargoes
        # digests of the products of this host, once somebody has asked
        self._products_by_threads: dict[int, int] = {}
        self._activity = ""
        self._told: list[int] = []
        self._unheard: tuple[str, list[int]] | None = None  # what ``_confirm_later`` left
        self._parts: list[Backend] = []
        # on the first rank of each host, if there are several
        self._mesh: Mesh | None = None
        self._freight: Freight | None = None
        try:
            self._local = self._make_local(store, timeout_s, shm_options)
            self._keep(self._local)
            self._all = TorchBackend(
                "gloo",
                f"{name}-all",
                rank,
                self.world_size,
                store,
                timeout_s,
                address,
                agree=self._agree_everywhere,
                seat=seat,
            )
            self._keep(self._all)
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

    def _make_local(
        self, store: Any, timeout_s: float, options: dict[str, Any]
    ) -> ShmBackend | LoopbackBackend:
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
        seat = self._seat_of(self._leaders)
        place, size = self._host_index, len(self._leaders)
        self._mesh = Mesh(self.name, place, size, store, timeout_s, address, seat)
        self._freight = Freight(self.name, place, size, store, timeout_s, address, seat)
        name = f"{self.name}-hosts"
        return TorchBackend(
            "gloo", name, place, size, store, timeout_s, address, agree=_agreed, seat=seat
        )

    def set_timeout(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        for part in self._parts:
            part.set_timeout(timeout_s)
        for link in (self._mesh, self._freight):
            if link is not None:
                link.timeout_s = timeout_s

    # -- agreement
    # ----------------------------------------------------------------------------------------------

    def _begin(
        self,
        kind: str,
        dtype: torch.dtype | None = None,
        count: int = 0,
        detail: int = 0,
        sizes: Sequence[int] = (),
    ) -> None:
        """Compare this collective inside the host, and tell the other hosts about it; what they
        say is read by ``_confirm``, after other work.
        """
        self._open(kind)
        rows = self._local.agree(kind, dtype, count, detail)
        is_split = rows is not None
        if rows is not None:
            for row in rows:
                row[0] = self._number  # that of the whole group
        elif sizes:
            head = fingerprint.fields_of(self._number, kind, dtype, count, detail)
            rows = [head + row for row in self._sizes_here(sizes)]
        else:
            rows = [fingerprint.fields_of(self._number, kind, dtype, count, detail)]
        self._tell(rows)
        if is_split and self._mesh is None:
            raise self._verdict(rows)

    def _open(self, kind: str) -> None:
        self._number += 1
        self._activity = f"{kind} #{self._number}"

    def _tell(self, rows: list[list[int]]) -> None:
        """Tell the other hosts the rows of this one's ranks, one row if they are alike."""
        if self._mesh is not None:
            self._told = [len(rows), *(value for row in rows for value in row)]
            self._mesh.tell(self._activity, self._told)

    def _sizes_here(self, sizes: Sequence[int]) -> list[list[int]]:
        mine = torch.tensor(sizes)
        every = [torch.empty_like(mine) for _ in self._neighbours]
        self._local.all_gather(every, mine)
        return [row.tolist() for row in every]

    def _confirm(self) -> None:
        """On the first rank of a host: wait until all hosts are about to begin this collective."""
        self._hear_unheard()
        told, self._told = self._told, []
        if self._mesh is not None and told:  # else confirmed already
            self._compare(self._mesh, self._activity, told)

    def _confirm_later(self) -> None:
        """In place of ``_confirm``, for a collective whose results are here: the other hosts may
        come later, and what they say is compared at the next one.
        """
        self._hear_unheard()
        told, self._told = self._told, []
        if self._mesh is not None and told:
            self._unheard = self._activity, told

    def _hear_unheard(self) -> None:
        if self._mesh is not None and self._unheard is not None:
            (activity, told), self._unheard = self._unheard, None
            self._compare(self._mesh, activity, told)

    def _compare(self, mesh: Mesh, activity: str, told: list[int]) -> None:
        """Hear what all hosts told about a collective: an error unless they told the same."""
        heard = mesh.hear(activity)
        if told[0] == 1 and all(row == told for row in heard.values()):
            return
        heard[self._host_index] = told
        rows: list[list[int]] = [[] for _ in self._hosts]
        for host, (count, *values) in heard.items():
            members = [r for r, name in enumerate(self._hosts) if name == self._host_names[host]]
            width = len(values) // count
            for i, rank in enumerate(members):
                at = (i if count > 1 else 0) * width
                rows[rank] = values[at : at + width]
        if problem := fingerprint.problem_of(rows):
            raise CollectiveMismatch(f"{activity} on group {self.name!r}: {problem}")

    def _agree_everywhere(
        self,
        kind: str,
        dtype: torch.dtype | None = None,
        count: int = 0,
        detail: int = 0,
        sizes: Sequence[int] = (),
    ) -> None:
        """Return when all ranks of all hosts are about to begin this collective."""
        self._begin(kind, dtype, count, detail, sizes)
        self._confirm()
        self._local.barrier()

    def _verdict(self, rows: list[list[int]]) -> CollectiveMismatch:
        """The error where the ranks of this host differ, on all but the first, which asks the other
        hosts.
        """
        with contextlib.suppress(CommError):
            if poll(lambda: self._store.check([self._ended_key]), limit_s=_VERDICT_S):
                said = json.loads(self._store.get(self._ended_key))
                if said["error"] == CollectiveMismatch.__name__:
                    return CollectiveMismatch(said["text"])
        here = dict(zip(self._neighbours, rows, strict=True))
        problem = fingerprint.disagreement(here)
        return CollectiveMismatch(
            f"{self._activity} on group {self.name!r}: ranks called different collectives.\n  "
            f"{problem}"
        )

    @property
    def _ended_key(self) -> str:
        return f"argosy/ended/{self.name}"

    def _cause_of(self, error: CommError) -> CommError:
        """What has ended the group: ``error``, or that which made another rank leave first."""
        if self._error is not None:  # closed by another thread
            return error
        mine = {"error": type(error).__name__, "text": str(error), "rank": self._job_rank}
        with contextlib.suppress(CommError):  # the store may be what has gone
            said = json.loads(self._store.compare_set(self._ended_key, "", json.dumps(mine)))
            if said == mine or not isinstance(error, PeerLost):
                return error
            if said["error"] == CollectiveMismatch.__name__:
                return CollectiveMismatch(said["text"])
            return PeerLost(
                f"rank {self._job_rank} was in {self._activity} of group {self.name!r} when rank "
                f"{said['rank']} gave up: {said['text']}"
            )
        return error

    # -- collectives that are split
    # -----------------------------------------------------------------------------

    @_call
    def all_reduce(self, tensor: torch.Tensor, op: ReduceOp) -> None:
        arguments.check_reducible("all_reduce", op, tensor.dtype)
        self._begin("all_reduce", tensor.dtype, tensor.numel(), int(op))
        total = self._combine(tensor, op)
        self._local.broadcast(total, 0)
        self._store_result(tensor, total, op)

    @_call
    def reduce(self, tensor: torch.Tensor, dst: int, op: ReduceOp) -> None:
        arguments.check_root("reduce", "dst", dst, self.world_size)
        arguments.check_reducible("reduce", op, tensor.dtype)
        detail = fingerprint.reduction_to(op, dst)
        self._agree_everywhere("reduce", tensor.dtype, tensor.numel(), detail)
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
            torch.float32 if tensor.dtype in _HALVES else tensor.dtype,
            copy=True,
            memory_format=torch.contiguous_format,
        )
        step = ReduceOp.SUM if op is ReduceOp.AVG else op
        self._local.reduce(total, 0, step)
        self._combine_between(total, step)
        return total

    def _combine_between(self, tensor: torch.Tensor, op: ReduceOp) -> None:
        """On the first rank of each host: combine ``tensor`` of all hosts, and leave the result in
        it.
        """
        if self._between is None:
            return
        if self._mesh is not None and self._mesh.carries(tensor):
            self._mesh.post(tensor)
            self._confirm()
            combine(tensor, self._mesh.collect(self._activity, tensor), op)
        else:
            self._confirm()
            self._between.all_reduce(tensor, op)

    def _store_result(self, tensor: torch.Tensor, total: torch.Tensor, op: ReduceOp) -> None:
        if op is ReduceOp.AVG:
            mode = None if total.is_floating_point() or total.is_complex() else "trunc"
            total = torch.div(total, self.world_size, rounding_mode=mode)
        tensor.detach().copy_(total)

    @_call
    def broadcast(self, tensor: torch.Tensor, src: int) -> None:
        arguments.check_root("broadcast", "src", src, self.world_size)
        self._agree_everywhere("broadcast", tensor.dtype, tensor.numel(), src)
        source = self._hosts[src]
        if source == self._hosts[self.rank]:
            self._local.broadcast(tensor, self._neighbours.index(src))
        if self._between is not None:
            self._between.broadcast(tensor, self._host_names.index(source))
        if source != self._hosts[self.rank]:
            self._local.broadcast(tensor, 0)

    @_call
    def barrier(self) -> None:
        self._agree_everywhere("barrier")

    def make_bucket(self, numel: int, dtype: torch.dtype) -> Bucket:
        if dtype in _HALVES:
            return PlainBucket(self, torch.zeros(numel, dtype=dtype))
        return self._made_bucket(numel, dtype, None, 0)

    def make_coded_bucket(
        self, numel: int, dtype: torch.dtype, codec: Codec, num_exact: int = 0
    ) -> Bucket | None:
        return self._made_bucket(numel, dtype, codec, num_exact)

    def _made_bucket(
        self, numel: int, dtype: torch.dtype, codec: Codec | None, num_exact: int
    ) -> HierarchicalBucket:
        local = self._local.make_bucket(numel, dtype)
        place = self._next_place()
        if self._freight is not None:
            self._freight.add(self._cargo(place, local.tensor, codec, num_exact))
        return HierarchicalBucket(self, local, place)

    def _next_place(self) -> int:
        self._num_places += 1
        return self._num_places - 1

    def _cargo(
        self, place: int, values: torch.Tensor, codec: Codec | None = None, num_exact: int = 0
    ) -> Cargo:
        weights = [self._hosts.count(name) / self.world_size for name in self._host_names]
        return Cargo(place, values, self._host_index, weights, codec, num_exact)

    def why_no_factors(self) -> str:
        if self._freight is None or len(self._host_names) < self.world_size:
            return "there are hosts with several ranks"
        num_threads = torch.get_num_threads()
        if num_threads not in self._products_by_threads:
            self._products_by_threads[num_threads] = digest_of_products()
        mine = torch.tensor([self._products_by_threads[num_threads], num_threads])
        every = [torch.empty_like(mine) for _ in self._hosts]
        self.all_gather(every, mine)
        digests, threads = zip(*(one.tolist() for one in every), strict=True)
        if len(set(threads)) > 1:
            numbers = " and ".join(map(str, sorted(set(threads))))
            return f"the hosts compute with {numbers} threads: set OMP_NUM_THREADS alike on all"
        return "" if len(set(digests)) == 1 else "the hosts' processors round products differently"

    def takes_factors(self, shape: tuple[int, int], dtype: torch.dtype) -> bool:
        return dtype in _WIDE and is_gain(shape, len(self._host_names))

    def make_factored_bucket(
        self, numel: int, dtype: torch.dtype, shape: tuple[int, int]
    ) -> FactoredBucket:
        assert self._freight is not None
        local = self._local.make_bucket(numel, dtype)
        whole = self._cargo(self._next_place(), local.tensor)
        factors = FactorCargo(
            self._next_place(), shape, dtype, self._host_index, len(self._host_names)
        )
        self._freight.add(whole)
        self._freight.add(factors)
        return FactoredHierarchicalBucket(self, local, whole.place, factors, shape)

    # -- what its buckets ask
    # ----------------------------------------------------------------------------------------------

    def has_host_mean(self, bucket: Bucket) -> bool:
        return len(self._neighbours) == 1 or bucket.is_complete()

    def send_bucket(self, place: int) -> None:
        if self._freight is not None and self._error is None:
            try:
                self._freight.start(place)
            except BaseException as error:
                self._give_up(error)
                raise

    def is_over(self, place: int) -> bool:
        return self._freight is not None and self._freight.is_over(place)

    def drop_bucket(self, place: int) -> None:
        if self._freight is not None:
            self._freight.drop(place)

    @_call
    def finish_buckets(self, buckets: Sequence[HierarchicalBucket]) -> None:
        try:
            self._finish_buckets(buckets)
        except CommError:
            raise
        except BaseException as error:  # the others have been told half a round
            self._give_up(error)
            raise

    def _give_up(self, error: BaseException) -> None:
        """Break the group in the middle of an exchange that is not complete and cannot be taken up
        again, since ``error`` has stopped it.
        """
        cause = CommError(f"{self._activity} was given up: {error!r}")
        self._cause_of(cause)  # the others can say it
        self._break(cause)

    def _finish_buckets(self, buckets: Sequence[HierarchicalBucket]) -> None:
        self._open("average of gradients")
        # of all together: what is in each its message says for itself
        count, first = sum(bucket.tensor.numel() for bucket in buckets), buckets[0]
        row = fingerprint.fields_of(self._number, "bucket", first.tensor.dtype, count, first.place)
        self._tell([row])
        for bucket in buckets:
            bucket.finish_here()
        places = [place for bucket in buckets for place in bucket.under_way]
        if self._freight is not None and self._freight.attend(places):
            self._confirm_later()
        else:
            self._confirm()
        if self._freight is not None:
            self._freight.expect(places)
            for bucket in buckets:  # all of them first: what they send then is on its way together
                if bucket.heralds:
                    self._wait_at(bucket.heralds)
                    bucket.settle()
                    self._freight.expect([p for p in bucket.under_way if p not in places])
        for bucket in buckets:
            self._wait_at(bucket.under_way)
            self._local.broadcast(bucket.tensor, 0)

    def _wait_at(self, places: Sequence[int]) -> None:
        if self._freight is not None:
            for place in places:
                self._freight.wait(place, self._activity)

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

    @property
    def tagged(self) -> TorchBackend:
        """The part through which all ranks reach each other by messages with tags."""
        return self._all

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
        if self._mesh is not None:
            self._mesh.leave()
        if self._freight is not None:
            self._freight.close()

    def close(self) -> None:
        """Leave the group: calls of other threads end with CommError, the other ranks' with
        PeerLost.
        """
        self._break(CommError("it was closed"))
        if self._mesh is not None:
            self._mesh.close()


def _agreed(
    kind: str, dtype: torch.dtype | None, count: int, detail: int, sizes: Sequence[int]
) -> None:
    """The ranks have agreed already, in the larger group."""
