"""Collectives over a process group of torch.distributed: gloo, nccl, mpi, ucc and those that others
registered.

The semantics are those of the other backends, whatever the group lacks: data that is only moved
travels as bytes, so every dtype can; reductions of dtypes that a group does not know are made in a
wider one (``_Wire``). Reductions of floats are not in rank order: results of different kinds agree
up to rounding.

Before ranks begin a collective of gloo they agree that it is the same one (``mesh.py``): different
ones are CollectiveMismatch with both sides, and whoever is late, gone or waits elsewhere is named
while the others wait there. Small reductions are made with what comes along then, without gloo.
Messages between two ranks have connections of their own (``letters.py``). In the other kinds of
groups a mismatch ends as the group has it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist

from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import (
    ArgosyError,
    CollectiveMismatch,
    CollectiveTimeout,
    CommError,
    PeerLost,
    UsageError,
)
from argosy.runtime.comm import arguments, fingerprint, forks
from argosy.runtime.comm.backend import STEP_BY_OP, Backend, ReduceOp, flattened
from argosy.runtime.comm.backends import torch_groups
from argosy.runtime.comm.backends.connections import Connections
from argosy.runtime.comm.backends.letters import Letters
from argosy.runtime.comm.backends.mesh import Mesh
from argosy.runtime.comm.backends.shm.board import Seat
from argosy.runtime.comm.backends.watched_store import WatchedStore

_CLOSE_S = 5.0
_TORCH_OP: dict[ReduceOp, Any] = {
    ReduceOp.SUM: dist.ReduceOp.SUM,
    ReduceOp.AVG: dist.ReduceOp.SUM,  # gloo has no mean; divided afterwards
    ReduceOp.MAX: dist.ReduceOp.MAX,
    ReduceOp.MIN: dist.ReduceOp.MIN,
    ReduceOp.PROD: dist.ReduceOp.PRODUCT,
    ReduceOp.BAND: dist.ReduceOp.BAND,
    ReduceOp.BOR: dist.ReduceOp.BOR,
    ReduceOp.BXOR: dist.ReduceOp.BXOR,
}
_TIMED_OUT = re.compile(r"timed out|timeout", re.IGNORECASE)
_LOST = re.compile(
    r"connection (closed|reset|refused|aborted)|closed by peer|broken pipe|remote "
    r"(peer|process)|socket error|peer .*closed|EOF",
    re.IGNORECASE,
)


# kind, dtype, number of elements, detail, sizes: returns when all ranks begin this collective
Agree = Callable[[str, torch.dtype | None, int, int, Sequence[int]], None]


class TorchBackend(Backend):
    """One rank's end of a process group, made through ``store`` and bound to the interface of
    ``address``.

    ``agree`` is called before each collective, by default the agreement of a gloo group among
    itself; whoever passes another sees to it that ranks agree.

    Collectives are called by one thread at a time; ``send`` and ``recv`` by one per peer and
    direction; ``close`` by any.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        rank: int,
        world_size: int,
        store: Any,
        timeout_s: float = 1800.0,
        address: str = "127.0.0.1",
        agree: Agree | None = None,
        seat: Seat | None = None,
    ) -> None:
        self.kind = kind
        self.name = name
        self.rank = rank
        self.world_size = world_size
        self.timeout_s = timeout_s
        self._agree = agree
        self._mesh: Mesh | None = None  # of a gloo group that agrees by itself
        self._letters: Letters | None = None  # of a gloo group
        self._number = 0
        self._error: ArgosyError | None = None  # set once
        self._is_forked = False
        self._seat = seat
        self._inside: list[None] = []  # one entry per call under way; append and pop are atomic
        self._device = torch_groups.wire_device(kind) if kind in torch_groups.available() else None
        # torch's group keeps the C++ half of a Python store alive, not the Python half
        self._store = (
            store
            if seat is None
            else WatchedStore(store, seat, f"joining of group {name!r} ({kind})")
        )
        part = f"argosy/{kind}/{name}"
        prefix = dist.PrefixStore(part, self._store)  # type: ignore[attr-defined]
        self._connections = Connections()
        self._group: Any = None
        try:
            with self._connections:
                self._group = torch_groups.make(kind, prefix, rank, world_size, timeout_s, address)
            if agree is None and kind == "gloo":
                self._mesh = Mesh(name, rank, world_size, store, timeout_s, address, seat)
                self._agree = self._agree_in_mesh
            if kind == "gloo":
                self._letters = Letters(name, rank, world_size, store, timeout_s, address, seat)
        except ArgosyError:
            self.close()
            raise
        except RuntimeError as error:
            raise self._translate("joining", error) from error
        forks.register(self)

    def set_timeout(self, timeout_s: float) -> None:
        """For the agreement before a collective; the group's own limit stays."""
        self.timeout_s = timeout_s
        for part in (self._mesh, self._letters):
            if part is not None:
                part.timeout_s = timeout_s

    # -- running
    # ----------------------------------------------------------------------------------------------

    def _collective(
        self,
        kind: str,
        tensor: torch.Tensor | None,
        start: Callable[[], Any] | None,
        detail: int = 0,
        sizes: Sequence[int] = (),
    ) -> None:
        self._number += 1
        activity = f"{kind} #{self._number}"
        agree = self._agree
        if agree is not None:
            dtype, count = (None, 0) if tensor is None else (tensor.dtype, tensor.numel())
            count = 0 if sizes else count
            self._wait(activity, lambda: agree(kind, dtype, count, detail, sizes))
        if start is not None:
            self._wait(activity, start)

    def _wait(self, activity: str, start: Callable[[], Any]) -> None:
        """Start an operation of the group, wait for it and translate its error."""
        # announced before the check: close() sets the error first and then looks who is inside
        self._inside.append(None)
        try:
            if self._error is not None:
                raise self._refusal(activity)
            work = start()
            if work is not None:
                work.wait()
        except CommError as error:
            self._give_up(error)
            raise
        except ArgosyError:
            raise
        except RuntimeError as error:
            raise self._translate(activity, error) from error
        except BaseException as caught:
            self._give_up(CommError(f"{activity} was interrupted by {caught!r}"))
            raise
        finally:
            self._inside.pop()

    def _break(self) -> None:
        """End what is under way: gloo does so only when its connections break."""
        self._group.abort()
        self._connections.shut_down()

    def _translate(self, activity: str, error: RuntimeError) -> CommError:
        if self._error is not None:
            return CommError(f"{activity} of group {self.name!r}: the group was closed meanwhile")
        text = str(error)
        where = f"rank {self.rank} was in {activity} of group {self.name!r} ({self.kind})"
        if _LOST.search(text):
            lost = self._mesh.lost() if self._mesh is not None else []
            who = f"rank {', '.join(map(str, lost))}" if lost else "another rank"
            return self._give_up(
                PeerLost(f"{where} when {who} exited or left the group.\n  {text}")
            )
        if _TIMED_OUT.search(text):
            return self._give_up(
                CollectiveTimeout(
                    f"{where}: not all ranks arrived within {self.timeout_s:g} s.\n  {text}"
                )
            )
        return self._give_up(CommError(f"{where} when it failed.\n  {text}"))

    def _give_up(self, error: CommError) -> CommError:
        """Take no further part because of ``error``; returns it, to be raised."""
        if self._error is None:
            self._error = error
            if self._mesh is not None:
                self._mesh.leave()
            if self._letters is not None:
                self._letters.close()
        return error

    def _refusal(self, activity: str) -> ArgosyError:
        if self._is_forked:
            return forks.refusal(activity.partition(" #")[0], self._job_rank, self.name)
        text = f"group {self.name!r} cannot be used any more: {self._error}"
        return type(self._error)(text)  # type: ignore[misc]

    @property
    def _job_rank(self) -> int:
        return self.rank if self._seat is None else self._seat.ranks[self.rank]

    def on_forked(self) -> None:
        self._is_forked = True
        self._error = forks.refusal("the group", self._job_rank, self.name)
        # the destructor waits for threads; open copies of the connections would hide this rank's
        # death from the others
        forks.never_free(self._group)
        self._connections.forget()

    def _agree_in_mesh(
        self,
        kind: str,
        dtype: torch.dtype | None,
        count: int,
        detail: int,
        sizes: Sequence[int] = (),
        carried: torch.Tensor | None = None,
    ) -> None:
        """Show each other what is called with what, and raise on every rank if that differs;
        ``carried`` goes along.
        """
        assert self._mesh is not None
        activity = f"{kind} #{self._number}"
        mine = [*fingerprint.fields_of(self._number, kind, dtype, count, detail), *sizes]
        self._mesh.tell(activity, mine)
        if carried is not None:
            self._mesh.post(carried)
        heard = self._mesh.hear(activity)
        if not sizes and all(row == mine for row in heard.values()):
            return
        rows = [mine if r == self.rank else heard[r] for r in range(self.world_size)]
        if problem := fingerprint.problem_of(rows):
            raise CollectiveMismatch(f"{activity} on group {self.name!r}: {problem}")

    def _carried(
        self, kind: str, tensor: torch.Tensor, detail: int, wire: _Wire, mesh: Mesh
    ) -> None:
        """Combine what all ranks have in ``wire``, as it comes along with their rows."""
        self._number += 1
        activity = f"{kind} #{self._number}"

        def exchange() -> None:
            count = tensor.numel()
            self._agree_in_mesh(kind, tensor.dtype, count, detail, carried=wire.sent)
            combine(wire.sent, mesh.collect(activity, wire.sent), wire.step)

        self._wait(activity, exchange)

    # -- collectives
    # --------------------------------------------------------------------------------------------

    def barrier(self) -> None:
        # ranks that agree have met already
        self._collective("barrier", None, None if self._mesh else self._group_barrier)

    def _group_barrier(self) -> Any:
        return self._group.barrier(dist.BarrierOptions())

    def all_reduce(self, tensor: torch.Tensor, op: ReduceOp) -> None:
        arguments.check_reducible("all_reduce", op, tensor.dtype)
        if _is_complex_product(tensor, op):
            outputs = [torch.empty_like(tensor) for _ in range(self.world_size)]
            self.all_gather(outputs, tensor)
            tensor.detach().copy_(_product(outputs))
            return
        wire = _Wire(tensor, op, self._device)
        if self._mesh is not None and self._mesh.carries(wire.sent):
            self._carried("all_reduce", tensor, int(op), wire, self._mesh)
        else:
            options = dist.AllreduceOptions()
            options.reduceOp = wire.op
            self._collective(
                "all_reduce", tensor, lambda: self._group.allreduce([wire.sent], options), int(op)
            )
        wire.unpack(self.world_size)

    def reduce(self, tensor: torch.Tensor, dst: int, op: ReduceOp) -> None:
        arguments.check_root("reduce", "dst", dst, self.world_size)
        arguments.check_reducible("reduce", op, tensor.dtype)
        if _is_complex_product(tensor, op):
            outputs = (
                [torch.empty_like(tensor) for _ in range(self.world_size)]
                if self.rank == dst
                else None
            )
            self.gather(outputs, tensor, dst)
            if outputs is not None:
                tensor.detach().copy_(_product(outputs))
            return
        # a group may use the tensors of the other ranks as scratch space
        wire = _Wire(tensor if self.rank == dst else tensor.detach().clone(), op, self._device)
        options = dist.ReduceOptions()
        options.reduceOp = wire.op
        options.rootRank = dst
        detail = fingerprint.reduction_to(op, dst)
        self._collective("reduce", tensor, lambda: self._group.reduce([wire.sent], options), detail)
        if self.rank == dst:
            wire.unpack(self.world_size)

    def reduce_scatter(
        self, tensor: torch.Tensor, inputs: Sequence[torch.Tensor], op: ReduceOp
    ) -> None:
        arguments.check_parts("reduce_scatter", inputs, tensor, self.world_size)
        arguments.check_reducible("reduce_scatter", op, tensor.dtype)
        if _is_complex_product(tensor, op):
            outputs = [torch.empty_like(tensor) for _ in range(self.world_size)]
            self.all_to_all(outputs, inputs)
            tensor.detach().copy_(_product(outputs))
            return
        result = _Wire(tensor, op, self._device)
        parts = [_Wire(part, op, self._device).sent for part in inputs]
        options = dist.ReduceScatterOptions()
        options.reduceOp = result.op
        self._collective(
            "reduce_scatter",
            tensor,
            lambda: self._group.reduce_scatter([result.sent], [parts], options),
            int(op),
        )
        result.unpack(self.world_size)

    def broadcast(self, tensor: torch.Tensor, src: int) -> None:
        arguments.check_root("broadcast", "src", src, self.world_size)
        raw = self._raw(tensor)
        options = dist.BroadcastOptions()
        options.rootRank = src
        self._collective("broadcast", tensor, lambda: self._group.broadcast([raw], options), src)
        if self.rank != src:
            _restore(tensor, raw)

    def all_gather(self, outputs: Sequence[torch.Tensor], tensor: torch.Tensor) -> None:
        arguments.check_parts("all_gather", outputs, tensor, self.world_size)
        raws = [self._raw(output) for output in outputs]
        self._collective(
            "all_gather", tensor, lambda: self._group.allgather([raws], [self._raw(tensor)])
        )
        _restore_all(outputs, raws)

    def gather(
        self, outputs: Sequence[torch.Tensor] | None, tensor: torch.Tensor, dst: int
    ) -> None:
        arguments.check_root("gather", "dst", dst, self.world_size)
        if self.rank != dst:
            outputs = ()
        elif outputs is None:
            raise UsageError(
                f"gather: rank {dst} receives and must pass the list of {self.world_size} "
                "tensors to fill"
            )
        else:
            arguments.check_parts("gather", outputs, tensor, self.world_size)
        raws = [self._raw(output) for output in outputs]
        options = dist.GatherOptions()
        options.rootRank = dst
        lists = [raws] if self.rank == dst else []
        self._collective(
            "gather", tensor, lambda: self._group.gather(lists, [self._raw(tensor)], options), dst
        )
        _restore_all(outputs, raws)

    def scatter(
        self, tensor: torch.Tensor, inputs: Sequence[torch.Tensor] | None, src: int
    ) -> None:
        arguments.check_root("scatter", "src", src, self.world_size)
        lists = []
        if self.rank == src:
            if inputs is None:
                raise UsageError(
                    f"scatter: rank {src} sends and must pass the list of {self.world_size} tensors"
                )
            arguments.check_parts("scatter", inputs, tensor, self.world_size)
            lists = [[self._raw(part) for part in inputs]]
        raw = self._raw(tensor)
        if any(_share_memory(raw, part) for part in (lists[0] if lists else ())):
            # gloo writes the sender's own part while it still sends the others
            raw = torch.empty_like(raw)
        options = dist.ScatterOptions()
        options.rootRank = src
        self._collective("scatter", tensor, lambda: self._group.scatter([raw], lists, options), src)
        _restore(tensor, raw)

    def all_to_all(self, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]) -> None:
        arguments.check_exchange(outputs, inputs, self.world_size)
        sent = [self._raw(part) for part in inputs]
        taken = [self._raw(part) for part in outputs]
        flat = torch.cat(taken)
        sizes = [t.numel() for t in (*inputs, *outputs)]

        def start() -> Any:
            lengths = [r.numel() for r in taken], [r.numel() for r in sent]
            return self._group.alltoall_base(
                flat, torch.cat(sent), *lengths, dist.AllToAllOptions()
            )

        self._collective("all_to_all", inputs[0], start, sizes=sizes)
        _restore_all(outputs, torch.split(flat, [r.numel() for r in taken]))

    # -- point to point
    # -----------------------------------------------------------------------------------------

    def send(self, tensor: torch.Tensor, dst: int) -> None:
        letters = self._letters
        if letters is None:
            self.send_tagged(tensor, dst, 0)
            return
        arguments.check_peer("send", "dst", dst, self.rank, self.world_size)
        raw = self._raw(tensor)
        self._wait(f"send to rank {dst}", lambda: letters.send(tensor, raw, dst))

    def recv(self, tensor: torch.Tensor, src: int) -> None:
        letters = self._letters
        if letters is None:
            self.recv_tagged(tensor, src, 0)
            return
        arguments.check_peer("recv", "src", src, self.rank, self.world_size)
        raw = self._raw(tensor)
        self._wait(f"recv from rank {src}", lambda: letters.recv(tensor, raw, src))
        _restore(tensor, raw)

    # with tags, as torch has them: what comes is not compared with what is expected

    def send_tagged(self, tensor: torch.Tensor, dst: int, tag: int) -> None:
        arguments.check_peer("send", "dst", dst, self.rank, self.world_size)
        raw = self._raw(tensor)
        self._wait(f"send to rank {dst}", lambda: self._group.send([raw], dst, tag))

    def recv_tagged(self, tensor: torch.Tensor, src: int, tag: int) -> None:
        arguments.check_peer("recv", "src", src, self.rank, self.world_size)
        raw = self._raw(tensor)
        self._wait(f"recv from rank {src}", lambda: self._group.recv([raw], src, tag))
        _restore(tensor, raw)

    def recv_any(self, tensor: torch.Tensor, tag: int) -> int:
        """Fill ``tensor`` with what any rank sends under ``tag``; returns which it was."""
        raw = self._raw(tensor)
        started: list[Any] = []

        def start() -> Any:
            started.append(self._group.recv_anysource([raw], tag))
            return started[0]

        self._wait("recv from any rank", start)
        _restore(tensor, raw)
        return int(started[0].source_rank())

    def close(self) -> None:
        """Leave the group: calls of other threads end with CommError, the other ranks' with
        PeerLost.
        """
        self._give_up(CommError("it was closed"))
        if self._group is None:
            return
        if self._inside and not self._is_forked:
            self._break()
            until = Deadline.after(_CLOSE_S)
            while self._inside and not until.expired:
                time.sleep(0.001)
        self._group = None  # its destructor closes the connections
        self._store = None
        if self._mesh is not None:
            self._mesh.close()

    def _raw(self, tensor: torch.Tensor) -> torch.Tensor:
        """The elements as contiguous bytes where the group can take them: the tensor's own memory
        if possible.
        """
        flat = flattened(tensor)
        if self._device is not None:
            flat = flat.to(self._device)
        return flat.view(torch.uint8) if flat.numel() else flat.new_empty(0, dtype=torch.uint8)


class _Wire:
    """A tensor on its way through a reduction, in a dtype that every group can reduce: ``sent``
    under ``op``.

    Halves are reduced in float32 and rounded once. CUDA groups know them, so there they stay as
    they are.
    """

    def __init__(self, tensor: torch.Tensor, op: ReduceOp, device: torch.device | None) -> None:
        self._tensor = tensor.detach()
        self._op = op
        flat = flattened(self._tensor)
        if device is not None:
            flat = flat.to(device)
        if flat.is_complex():
            flat = torch.view_as_real(flat).view(-1)
        elif flat.dtype is torch.bool:
            flat = flat.view(torch.uint8)
            op = {ReduceOp.SUM: ReduceOp.MAX, ReduceOp.PROD: ReduceOp.MIN}.get(op, op)
        elif flat.dtype is torch.int16:
            flat = flat.to(torch.int32)
        elif flat.dtype in (torch.float16, torch.bfloat16) and not flat.is_cuda:
            flat = flat.to(torch.float32)
        self.sent = flat
        self.step = ReduceOp.SUM if op is ReduceOp.AVG else op  # between two ranks
        self.op = _TORCH_OP[op]

    def unpack(self, world_size: int) -> None:
        """Write what has arrived in ``sent`` into the tensor."""
        result, tensor = self.sent, self._tensor
        if tensor.dtype is torch.bool:
            result = result.view(torch.bool)
        elif tensor.is_complex():
            result = torch.view_as_complex(result.view(-1, 2))
        elif not tensor.is_floating_point():
            # wraps around as it would have without the wider dtype
            result = result.to(tensor.dtype)
        if self._op is ReduceOp.AVG:
            if result.is_floating_point() or result.is_complex():
                result.div_(world_size)
            else:
                result.div_(world_size, rounding_mode="trunc")
        if result.data_ptr() != tensor.data_ptr():
            tensor.copy_(result.view(tensor.shape))


def combine(result: torch.Tensor, parts: Sequence[torch.Tensor], op: ReduceOp) -> None:
    """Combine ``parts``, in their order, in ``result``, which may be one of them; AVG is SUM
    here.
    """
    step = STEP_BY_OP[op]
    total = parts[0]
    for part in parts[1:]:
        total = step(total, part)
    result.copy_(total)


def _share_memory(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def _restore(tensor: torch.Tensor, raw: torch.Tensor) -> None:
    """Write bytes from ``TorchBackend._raw`` back, unless they are the tensor's own memory."""
    if raw.numel() and raw.data_ptr() != tensor.data_ptr():
        tensor.detach().copy_(raw.clone().view(tensor.dtype).view(tensor.shape))


def _restore_all(tensors: Sequence[torch.Tensor], raws: Sequence[torch.Tensor]) -> None:
    for tensor, raw in zip(tensors, raws, strict=True):
        _restore(tensor, raw)


def _is_complex_product(tensor: torch.Tensor, op: ReduceOp) -> bool:
    """Whether the reduction does not work on real and imaginary parts apart."""
    return tensor.is_complex() and op is ReduceOp.PROD


def _product(factors: Sequence[torch.Tensor]) -> torch.Tensor:
    result = factors[0].clone()
    for factor in factors[1:]:
        result *= factor
    return result
