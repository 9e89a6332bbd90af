"""A group as torch.distributed knows it: the calls of c10d on the backend of a group of ours.

Python calls of torch reach these methods directly, those of C++ (DDP, functional collectives)
through torch's trampoline. Names and places of arguments are torch's.
"""

# overloads of torch are one function each, which looks at what it was given
# mypy: disable-error-code="override,assignment,attr-defined,call-arg"

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from argosy.foundation.errors import UsageError
from argosy.foundation.torch_private import profiler_is_enabled
from argosy.runtime.comm.backend import Backend
from argosy.runtime.comm.group import Group
from argosy.runtime.comm.session import Session
from argosy.runtime.comm.work import Work
from argosy.runtime.torch_backend import native, options, pieces, spans
from argosy.runtime.torch_backend.devices import OtherDevices
from argosy.runtime.torch_backend.messages import messages_of
from argosy.runtime.torch_backend.work import DoneWork, GroupWork

_CPU = torch.device("cpu")
_Tensors = Sequence[torch.Tensor]


class ArgosyProcessGroup(dist.ProcessGroup):
    """One rank's end of a group that torch made. ``shutdown()`` ends it, and with
    ``owns_session`` the job, its other groups with it.
    """

    supports_splitting = False
    supports_coalescing = False
    supports_time_estimate = False
    supports_shrinking = False

    def __init__(
        self,
        store: Any,
        rank: int,
        size: int,
        session: Session,
        group: Group,
        owns_session: bool,
        others: OtherDevices,
    ) -> None:
        super().__init__(rank, size)  # the overload with a store cannot be inherited from
        self._store = store
        self.session = session
        self._group = group
        self._transport: Backend = group.transport
        self._owns_session = owns_session
        self._times_joined: dict[str, int] = {}
        self._sequence = 0
        self._name = self._description = ""
        self._done = DoneWork()
        self._messages = messages_of(group)
        self._others = others
        native.attach(self, group.transport.allocate)

    def join(self, name: str, ranks: list[int], timeout_s: float) -> Group:
        """Make another group of this one's job. torch may use a name again for the same ranks."""
        times = self._times_joined[name] = self._times_joined.get(name, 0) + 1
        label = name if times == 1 else f"{name} ({times})"
        return self.session.join_group(label, ranks, timeout_s)

    # -- running
    # ----------------------------------------------------------------------------------------------

    def _start(
        self,
        title: str,
        inputs: _Tensors,
        opts: Any,
        result: list[torch.Tensor],
        call: Callable[..., Any],
        *args: Any,
        begin: Callable[[], Callable[[], None] | None] | None = None,
    ) -> dist.Work:
        """Run a collective, or queue it if torch is not going to wait for it at once; then
        ``begin`` may do a part of it here. ``title`` and ``inputs`` are for profilers.
        """
        self._sequence += 1
        limit_s = options.limit_s(opts)
        if limit_s is not None:
            call = functools.partial(self._within, limit_s, call)
        if profiler_is_enabled():
            # in the queue: a span of another thread is shown as one that runs beside this one
            work = self._group.submit(spans.around(title, inputs, call), *args)
            if not opts.asyncOp:
                work.wait()
            return GroupWork(work, result)
        if opts.asyncOp:
            if begin is not None and limit_s is None:
                return GroupWork(self._group.start(begin, call, *args), result)
            return GroupWork(self._group.submit(call, *args), result)
        self._group.run(call, *args)
        return self._done

    def _message(
        self, title: str, tensor: torch.Tensor, start: Callable[..., Work], *args: Any
    ) -> dist.Work:
        """Start a send or a receive."""
        self._sequence += 1
        if not profiler_is_enabled():
            return GroupWork(start(*args), [tensor])
        end = spans.open_span(title, [tensor])
        return GroupWork(spans.ended_by(end, start(*args), self._group.submit), [tensor])

    def _within(self, limit_s: float, call: Callable[..., Any], *args: Any) -> Any:
        """Run a call that has a time limit of its own; no other runs beside it."""
        usual_s = self._transport.timeout_s
        self._transport.set_timeout(limit_s)
        try:
            return call(*args)
        finally:
            self._transport.set_timeout(usual_s)

    def _elsewhere(self, tensor: torch.Tensor, name: str, *args: Any) -> Any:
        """Make a call on tensors that are not on the CPU."""
        return self._others.call(self, name, tensor.device, *args)

    # -- reductions
    # ----------------------------------------------------------------------------------------------

    def allreduce(self, tensors: Any, opts: Any = None, *rest: Any, **named: Any) -> dist.Work:
        if type(opts) is not c10d.AllreduceOptions:
            opts = options.made(c10d.AllreduceOptions, opts, rest, named, "op", "timeout")
        tensor = options.single("all_reduce", tensors)
        if not tensor.is_cpu:
            return self._elsewhere(tensor, "allreduce", [tensor], opts)
        op, factor = options.operation("all_reduce", opts.reduceOp)
        if factor is None and tensor.layout is torch.strided:
            return self._start(
                "all_reduce",
                [tensor],
                opts,
                [tensor],
                self._transport.all_reduce,
                tensor,
                op,
                begin=functools.partial(self._transport.begin_all_reduce, tensor, op),
            )
        return self._start(
            "all_reduce",
            [tensor],
            opts,
            [tensor],
            pieces.all_reduce,
            self._transport,
            tensor,
            op,
            factor,
        )

    def allreduce_coalesced(
        self, tensors: _Tensors, opts: Any = None, *rest: Any, **named: Any
    ) -> dist.Work:
        if type(opts) is not c10d.AllreduceCoalescedOptions and not hasattr(opts, "reduceOp"):
            opts = options.made(c10d.AllreduceCoalescedOptions, opts, rest, named, "op", "timeout")
        op, factor = options.operation("all_reduce_coalesced", opts.reduceOp)
        tensors = list(tensors)
        if not tensors[0].is_cpu:
            return self._elsewhere(tensors[0], "allreduce_coalesced", tensors, opts)
        return self._start(
            "all_reduce",
            tensors,
            opts,
            tensors,
            pieces.all_reduce_each,
            self._transport,
            tensors,
            op,
            factor,
        )

    def reduce(self, tensors: Any, opts: Any = None, *rest: Any, **named: Any) -> dist.Work:
        if type(opts) is not c10d.ReduceOptions:
            opts = options.made(c10d.ReduceOptions, opts, rest, named, "root", "op", "timeout")
        tensor = options.single("reduce", tensors)
        if not tensor.is_cpu:
            return self._elsewhere(tensor, "reduce", [tensor], opts)
        op, factor = options.operation("reduce", opts.reduceOp)
        return self._start(
            "reduce",
            [tensor],
            opts,
            [tensor],
            pieces.reduce,
            self._transport,
            tensor,
            opts.rootRank,
            op,
            factor,
        )

    def reduce_scatter(
        self, output_tensors: Any, input_tensors: Any, opts: Any = None, *rest: Any, **named: Any
    ) -> dist.Work:
        if type(opts) is not c10d.ReduceScatterOptions:
            opts = options.made(c10d.ReduceScatterOptions, opts, rest, named, "op", "timeout")
        output = options.single("reduce_scatter", output_tensors)
        inputs = options.single_list("reduce_scatter", input_tensors)
        if not output.is_cpu:
            return self._elsewhere(output, "reduce_scatter", [output], [inputs], opts)
        return self._reduce_scatter([(output, inputs)], inputs, opts)

    def reduce_scatter_single(
        self, outputTensor: torch.Tensor, inputTensor: torch.Tensor, opts: Any = None
    ) -> dist.Work:
        return self.reduce_scatter_single_coalesced([outputTensor], [inputTensor], opts)

    _reduce_scatter_base = reduce_scatter_single

    def reduce_scatter_single_coalesced(
        self, outputs: _Tensors, inputs: _Tensors, opts: Any = None
    ) -> dist.Work:
        opts = opts or c10d.ReduceScatterOptions()
        if not outputs[0].is_cpu:
            return self._elsewhere(
                outputs[0], "reduce_scatter_single_coalesced", list(outputs), list(inputs), opts
            )
        n = self._transport.world_size
        pairs = [
            (output, pieces.equal_parts(whole, n))
            for output, whole in zip(outputs, inputs, strict=True)
        ]
        return self._reduce_scatter(pairs, inputs, opts)

    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    def _reduce_scatter(
        self, pairs: list[tuple[torch.Tensor, list[torch.Tensor]]], inputs: _Tensors, opts: Any
    ) -> dist.Work:
        op, factor = options.operation("reduce_scatter", opts.reduceOp)
        calls = [(self._transport, output, parts, op, factor) for output, parts in pairs]
        outputs = [output for output, _ in pairs]
        return self._start(
            "reduce_scatter_tensor",
            inputs,
            opts,
            outputs,
            pieces.each,
            pieces.reduce_scatter,
            calls,
        )

    # -- copies
    # ----------------------------------------------------------------------------------------------

    def broadcast(self, tensors: Any, opts: Any = None, *rest: Any, **named: Any) -> dist.Work:
        if type(opts) is not c10d.BroadcastOptions:
            opts = options.made(c10d.BroadcastOptions, opts, rest, named, "root", "timeout")
        tensor = options.single("broadcast", tensors)
        if not tensor.is_cpu:
            return self._elsewhere(tensor, "broadcast", [tensor], opts)
        return self._start(
            "broadcast",
            [tensor],
            opts,
            [tensor],
            self._transport.broadcast,
            options.movable(tensor),
            opts.rootRank,
        )

    def allgather(
        self, output_tensors: Any, input_tensors: Any, opts: Any = None, *rest: Any, **named: Any
    ) -> dist.Work:
        if type(opts) is not c10d.AllgatherOptions:
            opts = options.made(c10d.AllgatherOptions, opts, rest, named, "timeout")
        outputs = options.single_list("all_gather", output_tensors)
        tensor = options.single("all_gather", input_tensors)
        if not tensor.is_cpu:
            return self._elsewhere(tensor, "allgather", [outputs], [tensor], opts)
        return self._start(
            "all_gather",
            [tensor],
            opts,
            outputs,
            self._transport.all_gather,
            [options.movable(output) for output in outputs],
            options.movable(tensor),
        )

    def allgather_coalesced(
        self, output_lists: Sequence[_Tensors], input_list: _Tensors, opts: Any = None
    ) -> dist.Work:
        calls = [
            ([options.movable(part) for part in outputs], options.movable(tensor))
            for outputs, tensor in zip(_by_input(output_lists, input_list), input_list, strict=True)
        ]
        every = [tensor for outputs in output_lists for tensor in outputs]
        return self._start(
            "all_gather",
            input_list,
            opts or c10d.AllgatherOptions(),
            every,
            pieces.each,
            self._transport.all_gather,
            calls,
        )

    def all_gather_single(
        self, output: torch.Tensor, input: torch.Tensor, opts: Any = None
    ) -> dist.Work:
        return self.all_gather_single_coalesced([output], [input], opts)

    _allgather_base = all_gather_single

    def all_gather_single_coalesced(
        self, outputs: _Tensors, inputs: _Tensors, opts: Any = None
    ) -> dist.Work:
        opts = opts or c10d.AllgatherOptions()
        if not outputs[0].is_cpu:
            return self._elsewhere(
                outputs[0], "all_gather_single_coalesced", list(outputs), list(inputs), opts
            )
        calls = []
        for output, tensor in zip(outputs, inputs, strict=True):
            _check_single("all_gather_into_tensor", output, tensor, self._transport.world_size)
            calls.append((options.movable(output), options.movable(tensor)))
        return self._start(
            "all_gather_into_tensor",
            inputs,
            opts,
            list(outputs),
            pieces.each,
            functools.partial(pieces.all_gather_into, self._transport),
            calls,
        )

    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def gather(
        self, output_tensors: Any, input_tensors: Any, opts: Any = None, *rest: Any, **named: Any
    ) -> dist.Work:
        if type(opts) is not c10d.GatherOptions:
            opts = options.made(c10d.GatherOptions, opts, rest, named, "root", "timeout")
        tensor = options.single("gather", input_tensors)
        is_root = opts.rootRank == self._transport.rank
        outputs = options.single_list("gather", output_tensors) if is_root else []
        if not tensor.is_cpu:
            return self._elsewhere(tensor, "gather", [outputs] if is_root else [], [tensor], opts)
        targets = [options.movable(output) for output in outputs] if is_root else None
        return self._start(
            "gather",
            [tensor],
            opts,
            outputs,
            self._transport.gather,
            targets,
            options.movable(tensor),
            opts.rootRank,
        )

    def scatter(
        self, output_tensors: Any, input_tensors: Any, opts: Any = None, *rest: Any, **named: Any
    ) -> dist.Work:
        if type(opts) is not c10d.ScatterOptions:
            opts = options.made(c10d.ScatterOptions, opts, rest, named, "root", "timeout")
        tensor = options.single("scatter", output_tensors)
        if not tensor.is_cpu:
            return self._elsewhere(tensor, "scatter", [tensor], input_tensors, opts)
        sources = None
        if opts.rootRank == self._transport.rank:
            sources = [
                options.movable(part) for part in options.single_list("scatter", input_tensors)
            ]
        return self._start(
            "scatter",
            sources or [],
            opts,
            [tensor],
            self._transport.scatter,
            options.movable(tensor),
            sources,
            opts.rootRank,
        )

    def alltoall(
        self, output_tensors: _Tensors, input_tensors: _Tensors, opts: Any = None
    ) -> dist.Work:
        opts = opts or c10d.AllToAllOptions()
        outputs = list(output_tensors)
        if not outputs[0].is_cpu:
            return self._elsewhere(outputs[0], "alltoall", outputs, list(input_tensors), opts)
        return self._start(
            "all_to_all",
            list(input_tensors),
            opts,
            outputs,
            self._transport.all_to_all,
            [options.movable(output) for output in outputs],
            [options.movable(part) for part in input_tensors],
        )

    def all_to_all_single(
        self,
        output: torch.Tensor,
        input: torch.Tensor,
        output_split_sizes: Sequence[int],
        input_split_sizes: Sequence[int],
        opts: Any = None,
        **named: Any,
    ) -> dist.Work:
        if type(opts) is not c10d.AllToAllOptions:
            opts = options.made(c10d.AllToAllOptions, opts, (), named, "timeout")
        if not output.is_cpu:
            return self._elsewhere(
                output,
                "all_to_all_single",
                output,
                input,
                output_split_sizes,
                input_split_sizes,
                opts,
            )
        n = self._transport.world_size
        call = "all_to_all_single"
        return self._start(
            "all_to_all",
            [input],
            opts,
            [output],
            self._transport.all_to_all,
            pieces.rows(call, options.movable(output), output_split_sizes, n),
            pieces.rows(call, options.movable(input), input_split_sizes, n),
        )

    alltoall_base = all_to_all_single

    # -- messages
    # ----------------------------------------------------------------------------------------------

    def send(self, tensors: Any, dstRank: int, tag: int) -> dist.Work:
        tensor = options.single("send", tensors)
        if not tensor.is_cpu:
            return self._elsewhere(tensor, "send", [tensor], dstRank, tag)
        moved = options.movable(tensor)
        return self._message("send", tensor, self._messages.send, moved, dstRank, tag)

    def recv(self, tensors: Any, srcRank: int, tag: int) -> dist.Work:
        tensor = options.single("recv", tensors)
        if not tensor.is_cpu:
            return self._elsewhere(tensor, "recv", [tensor], srcRank, tag)
        moved = options.movable(tensor)
        return self._message("recv", tensor, self._messages.recv, moved, srcRank, tag)

    def recv_anysource(self, tensors: Any, tag: int) -> dist.Work:
        tensor = options.single("recv", tensors)
        moved = options.movable(tensor)
        return self._message("recvAnySource", tensor, self._messages.recv_any, moved, tag)

    # -- waiting for each other
    # ----------------------------------------------------------------------------------------------

    def barrier(self, opts: Any = None, **named: Any) -> dist.Work:
        if type(opts) is not c10d.BarrierOptions:
            opts = options.made(c10d.BarrierOptions, opts, (), named, "timeout")
        if opts.device is not None and opts.device.type in self._others.kinds(self):
            return self._others.call(self, "barrier", opts.device, opts)
        return self._start("barrier", [], opts, [], self._transport.barrier)

    def monitored_barrier(
        self, timeout: timedelta | None = None, wait_all_ranks: bool = False
    ) -> None:
        """As ``barrier``, which names all ranks that did not come."""
        opts = c10d.BarrierOptions()
        opts.asyncOp = False
        if timeout is not None:
            opts.timeout = timeout
        self._start("monitored_barrier", [], opts, [], self._transport.barrier)

    # -- the group itself
    # ----------------------------------------------------------------------------------------------

    def name(self) -> str:
        return "argosy"

    # the names under which torch's C++ code looks for it, and Python code of torch
    getBackendName = name
    _get_backend_name = name

    # torch's own keep these in backends of C++, which this group has none of

    def _set_group_name(self, name: str) -> None:
        self._name = name

    def _set_group_desc(self, description: str) -> None:
        self._description = description

    def getGroupName(self) -> str:
        return self._name

    def getGroupDesc(self) -> str:
        return self._description

    group_name = property(getGroupName)
    group_desc = property(getGroupDesc)

    @property
    def _device_types(self) -> list[torch.device]:
        return [_CPU, *map(torch.device, self._others.kinds(self))]

    def _get_backend(self, device: torch.device) -> Any:
        if torch.device(device).type == "cpu":
            return self
        if torch.device(device).type in self._others.kinds(self):
            return self._others.backend(self, torch.device(device))
        raise RuntimeError(f"group {self._group.label!r} has no backend for {device}")

    def get_group_store(self) -> Any:
        return self._store

    def set_timeout(self, timeout: timedelta) -> None:
        self._transport.set_timeout(timeout.total_seconds())

    _set_default_timeout = set_timeout

    def _set_sequence_number_for_group(self) -> None:
        """All ranks begin at 0."""

    def _get_sequence_number_for_group(self) -> int:
        return self._sequence

    def _wait_for_pending_works(self) -> None:
        self._group.run(_nothing)

    def shutdown(self) -> None:
        """Leave the group; ranks that still wait for this one get PeerLost."""
        self._others.close()
        if self._owns_session:
            self.session.close()
        else:
            self.session.drop(self._group)
        self._messages.close()

    abort = shutdown


def _by_input(output_lists: Sequence[_Tensors], input_list: _Tensors) -> list[list[torch.Tensor]]:
    """For each input the outputs of all ranks; ``output_lists[r]`` are those of rank r."""
    if any(len(outputs) != len(input_list) for outputs in output_lists):
        raise UsageError(
            f"all_gather_coalesced: every rank's list must have {len(input_list)} tensors, but "
            f"they have {[len(outputs) for outputs in output_lists]}"
        )
    return [[outputs[i] for outputs in output_lists] for i in range(len(input_list))]


def _check_single(call: str, output: torch.Tensor, tensor: torch.Tensor, world_size: int) -> None:
    if output.dtype is not tensor.dtype:
        raise UsageError(
            f"{call}: the output is {output.dtype}, the input {tensor.dtype}; expected one dtype"
        )
    if output.numel() != tensor.numel() * world_size:
        raise UsageError(
            f"{call}: the output has {output.numel()} elements, but {world_size} ranks pass "
            f"{tensor.numel()} each"
        )


def _nothing() -> None:
    """Something that a queue can run last."""
