"""Collectives as operators of programs.

In static mode the functions of this folder record an operator with the number of the group; a run
finds the group by it and calls its transport. As in Paddle no gradient flows through them, and what
a collective fills is a variable that is written anew, so feeds and parameters keep their memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch

from argosy.distributed.job import NotInitialised, job
from argosy.foundation.errors import DtypeError
from argosy.ops.table import Op
from argosy.runtime.comm.backend import ReduceOp
from argosy.runtime.comm.group import Group
from argosy.static.ir.variable import Variable
from argosy.static.record.recorder import recorder
from argosy.tensor import concat, split
from argosy.tensor.engine import Tensor, apply

# -- what a run does
# --------------------------------------------------------------------------------------------------


def group_of(ring_id: int) -> Group:
    """The group with this number."""
    if ring_id not in job.groups:
        raise NotInitialised(
            f"a collective of group {ring_id}: this process has made no such group; call "
            "paddle.distributed.init_parallel_env(), and new_group() for others than that of all "
            "ranks, before the program runs"
        )
    return job.groups[ring_id]


def _copy(x: torch.Tensor) -> torch.Tensor:
    return x.detach().clone(memory_format=torch.contiguous_format)


def all_reduced(x: torch.Tensor, ring_id: int, op: int) -> torch.Tensor:
    out = _copy(x)
    if not out.is_meta:
        group = group_of(ring_id)
        group.run(group.transport.all_reduce, out, ReduceOp(op))
    return out


def _reduce(x: torch.Tensor, ring_id: int, root_id: int, op: int) -> torch.Tensor:
    out = _copy(x)
    if not out.is_meta:
        group = group_of(ring_id)
        group.run(group.transport.reduce, out, root_id, ReduceOp(op))
    return out


def _broadcast(x: torch.Tensor, ring_id: int, root: int) -> torch.Tensor:
    out = _copy(x)
    if not out.is_meta:
        group = group_of(ring_id)
        group.run(group.transport.broadcast, out, root)
    return out


def all_gathered(x: torch.Tensor, ring_id: int, nranks: int) -> list[torch.Tensor]:
    source = _copy(x)
    outs = [torch.empty_like(source) for _ in range(nranks)]
    if not source.is_meta:
        group = group_of(ring_id)
        group.run(group.transport.all_gather, outs, source)
    return outs


def _scatter(x: torch.Tensor, ring_id: int, root: int, nranks: int) -> torch.Tensor:
    parts = [_copy(part) for part in x.chunk(nranks)]
    out = torch.empty_like(parts[0])
    if not out.is_meta:
        group = group_of(ring_id)
        sent = parts if group.rank == root else None
        group.run(group.transport.scatter, out, sent, root)
    return out


def reduce_scattered(x: torch.Tensor, ring_id: int, nranks: int, op: int) -> torch.Tensor:
    parts = [_copy(part) for part in x.chunk(nranks)]
    out = torch.empty_like(parts[0])
    if not out.is_meta:
        group = group_of(ring_id)
        group.run(group.transport.reduce_scatter, out, parts, ReduceOp(op))
    return out


def _all_to_all(xs: list[torch.Tensor], ring_id: int) -> list[torch.Tensor]:
    sent = [_copy(x) for x in xs]
    outs = [torch.empty_like(x) for x in sent]
    if not sent[0].is_meta:
        group = group_of(ring_id)
        group.run(group.transport.all_to_all, outs, sent)
    return outs


def _send(x: torch.Tensor, ring_id: int, peer: int) -> None:
    group = group_of(ring_id)
    group.message("send", peer, False, group.transport.send, _copy(x), peer)


def _recv(x: torch.Tensor, ring_id: int, peer: int) -> torch.Tensor:
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    if not out.is_meta:
        group = group_of(ring_id)
        group.message("recv", peer, False, group.transport.recv, out, peer)
    return out


def _barrier(ring_id: int) -> None:
    group = group_of(ring_id)
    group.run(group.transport.barrier)


# -- recording
# --------------------------------------------------------------------------------------------------


@cache
def _op(kind: str, fn: Callable[..., Any]) -> Op:
    return Op(kind, fn)


def _record(kind: str, fn: Callable[..., Any], *args: Any) -> Any:
    with torch.no_grad():
        return apply(_op(kind, fn), *args)


def _record_effect(kind: str, fn: Callable[..., Any], *args: Any) -> None:
    recorder.append(recorder.main.current_block(), kind, _op(kind, fn), args, {}, None)


def _variable(call: str, value: Any) -> Variable:
    if not isinstance(value, Variable):
        raise DtypeError(
            f"{call}: in static mode it takes Variables, but received {type(value).__name__}"
        )
    return value


def _joined(call: str, values: Any) -> Any:
    """What is sent: one variable, or those of a list one after another."""
    if isinstance(values, Tensor):
        return _variable(call, values)
    return concat([_variable(call, value) for value in values], axis=0)


def reduced(x: Any, ring_id: int, op: ReduceOp) -> Any:
    """``x`` of all ranks of the group combined, on each."""
    return _record(f"c_allreduce_{op.name.lower()}", all_reduced, x, ring_id, int(op))


def reduced_on(x: Any, ring_id: int, root: int, op: ReduceOp) -> Any:
    """``x`` of all ranks combined on ``root`` of the group; on the others their own."""
    return _record(f"c_reduce_{op.name.lower()}", _reduce, x, ring_id, root, int(op))


def of_root(x: Any, ring_id: int, root: int) -> Any:
    """The ``x`` of ``root``."""
    return _record("c_broadcast", _broadcast, x, ring_id, root)


def gathered(x: Any, ring_id: int, nranks: int) -> list[Any]:
    """``x`` of every rank."""
    made: list[Any] = _record("c_allgather", all_gathered, x, ring_id, nranks)
    return made


def part_of_root(x: Any, ring_id: int, root: int, nranks: int) -> Any:
    """This rank's part, along the first axis, of the ``x`` of ``root``."""
    return _record("c_scatter", _scatter, x, ring_id, root, nranks)


def reduced_part(x: Any, ring_id: int, nranks: int, op: ReduceOp) -> Any:
    """This rank's part, along the first axis, of ``x`` of all ranks combined."""
    return _record("c_reducescatter", reduce_scattered, x, ring_id, nranks, int(op))


def exchanged(xs: list[Any], ring_id: int) -> list[Any]:
    """What the ranks sent here: of each its part for this rank."""
    made: list[Any] = _record("alltoall", _all_to_all, xs, ring_id)
    return made


# -- what the functions of paddle.distributed do in static mode
# --------------------------------------------------------------------------------------------------


def all_reduce(tensor: Any, op: ReduceOp, group: Group) -> None:
    recorder.write(tensor, reduced(_variable("all_reduce", tensor), group.id, op))


def reduce(tensor: Any, root: int, op: ReduceOp, group: Group) -> None:
    recorder.write(tensor, reduced_on(_variable("reduce", tensor), group.id, root, op))


def broadcast(tensor: Any, root: int, group: Group) -> None:
    recorder.write(tensor, of_root(_variable("broadcast", tensor), group.id, root))


def all_gather(outputs: Any, tensor: Any, group: Group) -> None:
    _give(outputs, gathered(_variable("all_gather", tensor), group.id, group.nranks))


def scatter(tensor: Any, source: Any, root: int, group: Group) -> None:
    # only the root sends; what the others hold tells the shape of a part, as in Paddle
    held = source if source else [tensor] * group.nranks
    part = part_of_root(_joined("scatter", held), group.id, root, group.nranks)
    recorder.write(_variable("scatter", tensor), part)


def reduce_scatter(tensor: Any, source: Any, op: ReduceOp, group: Group) -> None:
    part = reduced_part(_joined("reduce_scatter", source), group.id, group.nranks, op)
    recorder.write(_variable("reduce_scatter", tensor), part)


def all_to_all(outputs: Any, inputs: Any, group: Group) -> None:
    sent = split(inputs, group.nranks, axis=0) if isinstance(inputs, Tensor) else list(inputs)
    _give(outputs, exchanged([_variable("alltoall", value) for value in sent], group.id))


def send(tensor: Any, peer: int, group: Group) -> None:
    _record_effect("send_v2", _send, _variable("send", tensor), group.id, peer)


def recv(tensor: Any, peer: int, group: Group) -> None:
    out = _record("recv_v2", _recv, _variable("recv", tensor), group.id, peer)
    recorder.write(tensor, out)


def barrier(group: Group) -> None:
    _record_effect("barrier", _barrier, group.id)


def _give(outputs: Any, made: Sequence[Any]) -> None:
    """Into a variable one after another, or into a list that is filled anew."""
    if isinstance(outputs, Tensor):
        recorder.write(_variable("collective", outputs), concat(list(made), axis=0))
    else:
        outputs[:] = list(made)
