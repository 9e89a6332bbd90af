"""The collectives of ``paddle.distributed``: Paddle's signatures over the backend of a group.

Tensors are changed in place. ``sync_op=False`` starts the collective and returns a task with
``wait()``; collectives of one group run in the order in which they were called either way. A
process that is not in the group warns and does nothing.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from argosy.distributed._default import default_group
from argosy.foundation.errors import DtypeError, OutOfRange, UsageError
from argosy.runtime.comm.backend import ReduceOp as RuntimeReduceOp
from argosy.runtime.comm.group import Group
from argosy.runtime.comm.work import Work
from argosy.tensor.engine import Tensor, wrap

__all__ = [
    "P2POp", "ReduceOp", "all_gather", "all_reduce", "alltoall", "alltoall_single", "barrier",
    "batch_isend_irecv", "broadcast", "gather",
    "irecv", "isend", "recv", "reduce", "reduce_scatter", "scatter", "send", "wait",
]  # fmt: skip


class CallError(UsageError, RuntimeError):
    """A collective was called in a way that Paddle answers with a RuntimeError."""


class ReduceOp:
    """How the values of the ranks are combined."""

    SUM = 0
    MAX = 1
    MIN = 2
    PROD = 3
    AVG = 4


_OPERATIONS = {int(op): op for op in RuntimeReduceOp}


def _operation(op: Any, call: str) -> RuntimeReduceOp:
    try:
        return _OPERATIONS[op]
    except (KeyError, TypeError):
        raise UsageError(
            f"{call}: op must be ReduceOp.SUM, MAX, MIN, PROD or AVG, but received {op!r}"
        ) from None


def _raw(tensor: Any, call: str, argument: str = "tensor") -> torch.Tensor:
    if not isinstance(tensor, Tensor):
        raise DtypeError(
            f"{call}: {argument} must be a Tensor, but received {type(tensor).__name__}"
        )
    raw = tensor.raw
    return raw.detach() if raw.requires_grad else raw


def _group(group: Group | None, call: str) -> Group | None:
    """The group to use; None (with a warning) where this process is not in it."""
    chosen = group if group is not None else default_group(call)
    if not isinstance(chosen, Group):
        raise DtypeError(
            f"{call}: group must be a Group made by new_group(), but received "
            f"{type(chosen).__name__}"
        )
    if chosen.rank < 0:
        warnings.warn(
            f"{call}: this process is not in group {chosen.name!r} (ranks {chosen.ranks}); "
            "nothing is done.",
            stacklevel=3,
        )
        return None
    return chosen


@functools.cache
def _done(call: str) -> Work:
    """The task of every collective of this name that ran before its call returned: there is nothing
    in it that could differ.
    """
    return Work.completed(what=call)


def _go(group: Group, sync_op: bool, call: Callable[..., Any], *args: Any) -> Work:
    if sync_op:
        group.run(call, *args)
        return _done(call.__name__)
    return group.submit(call, *args)


def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: Group | None = None, sync_op: bool = True
) -> Work | None:
    """Combine ``tensor`` of all ranks and leave the result in it on each."""
    raw, how = _raw(tensor, "all_reduce"), _operation(op, "all_reduce")
    chosen = _group(group, "all_reduce")
    return None if chosen is None else _go(chosen, sync_op, chosen.transport.all_reduce, raw, how)


def broadcast(
    tensor: Tensor, src: int, group: Group | None = None, sync_op: bool = True
) -> Work | None:
    """Copy the ``tensor`` of global rank ``src`` to all ranks."""
    raw = _raw(tensor, "broadcast")
    chosen = _group(group, "broadcast")
    if chosen is None:
        return None
    return _go(
        chosen,
        sync_op,
        chosen.transport.broadcast,
        raw,
        chosen.rank_of(src, "broadcast"),
    )


def reduce(
    tensor: Tensor,
    dst: int,
    op: Any = ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
) -> Work | None:
    """Combine ``tensor`` of all ranks into that of global rank ``dst``; the others keep theirs."""
    raw, how = _raw(tensor, "reduce"), _operation(op, "reduce")
    chosen = _group(group, "reduce")
    if chosen is None:
        return None
    return _go(
        chosen,
        sync_op,
        chosen.transport.reduce,
        raw,
        chosen.rank_of(dst, "reduce"),
        how,
    )


def _targets(
    out: Any, like: torch.Tensor, count: int, call: str
) -> tuple[list[torch.Tensor], Callable[[], None]]:
    """Where parts are received: the tensors of a list (filled if empty), or slices of one tensor;
    and what to do afterwards.
    """
    if isinstance(out, Tensor):
        whole = out.raw.detach()
        if whole.numel() != like.numel() * count:
            raise UsageError(
                f"{call}: the output has shape {out.shape}; {count} ranks with "
                f"{list(like.shape)} each need {count} times as many elements"
            )
        flat = whole.contiguous().view(-1)

        def write_back() -> None:
            if not whole.is_contiguous():
                whole.copy_(flat.view(whole.shape))

        return [part.view(like.shape) for part in flat.tensor_split(count)], write_back
    if not isinstance(out, list):
        raise DtypeError(
            f"{call}: the output must be a list or a Tensor, but received {type(out).__name__}"
        )
    if not out:
        fresh = [
            torch.empty_like(like, memory_format=torch.contiguous_format) for _ in range(count)
        ]
        return fresh, lambda: out.extend(wrap(t) for t in fresh)
    return [_raw(t, call, "each tensor of the list") for t in out], lambda: None


def _then(call: Callable[..., Any], after: Callable[[], None]) -> Callable[..., Any]:
    def both(*args: Any) -> None:
        call(*args)
        after()

    both.__name__ = call.__name__
    return both


def all_gather(
    tensor_list: Any, tensor: Tensor, group: Group | None = None, sync_op: bool = True
) -> Work | None:
    """Collect ``tensor`` of all ranks, in rank order, in ``tensor_list`` (an empty list is
    filled).
    """
    raw = _raw(tensor, "all_gather")
    chosen = _group(group, "all_gather")
    if chosen is None:
        return None
    targets, after = _targets(tensor_list, raw, chosen.nranks, "all_gather")
    return _go(chosen, sync_op, _then(chosen.transport.all_gather, after), targets, raw)


def gather(
    tensor: Tensor,
    gather_list: Any = None,
    dst: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
) -> Work | None:
    """Collect ``tensor`` of all ranks in ``gather_list`` of global rank ``dst``."""
    raw = _raw(tensor, "gather")
    chosen = _group(group, "gather")
    if chosen is None:
        return None
    place = chosen.rank_of(dst, "gather")
    if chosen.rank != place:
        return _go(chosen, sync_op, chosen.transport.gather, None, raw, place)
    targets, after = _targets(
        [] if gather_list is None else gather_list, raw, chosen.nranks, "gather"
    )
    return _go(chosen, sync_op, _then(chosen.transport.gather, after), targets, raw, place)


def scatter(
    tensor: Tensor,
    tensor_list: Sequence[Tensor] | None = None,
    src: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
) -> Work | None:
    """Give each rank its part of ``tensor_list`` of global rank ``src``, in ``tensor``."""
    raw = _raw(tensor, "scatter")
    chosen = _group(group, "scatter")
    if chosen is None:
        return None
    place = chosen.rank_of(src, "scatter")
    parts = (
        _parts(tensor_list, chosen.nranks, "scatter")
        if chosen.rank == place and tensor_list is not None
        else None
    )
    return _go(chosen, sync_op, chosen.transport.scatter, raw, parts, place)


def _parts(source: Any, count: int, call: str) -> list[torch.Tensor]:
    """What is sent: the tensors of a list, or equal slices of one tensor along its first axis."""
    if isinstance(source, Tensor):
        raw = source.raw.detach()
        if raw.ndim == 0 or raw.shape[0] % count:
            raise UsageError(
                f"{call}: the first dimension of the input, of shape {source.shape}, must be a "
                f"multiple of the {count} ranks"
            )
        return list(raw.chunk(count))
    return [_raw(t, call, "each tensor of the list") for t in source]


def reduce_scatter(
    tensor: Tensor,
    tensor_list: Any,
    op: Any = ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
) -> Work | None:
    """Combine the lists of all ranks element by element and leave each rank its part in
    ``tensor``.
    """
    raw, how = _raw(tensor, "reduce_scatter"), _operation(op, "reduce_scatter")
    chosen = _group(group, "reduce_scatter")
    if chosen is None:
        return None
    return _go(
        chosen,
        sync_op,
        chosen.transport.reduce_scatter,
        raw,
        _parts(tensor_list, chosen.nranks, "reduce_scatter"),
        how,
    )


def alltoall(
    out_tensor_list: Any, in_tensor_list: Any, group: Group | None = None, sync_op: bool = True
) -> Work | None:
    """Send the r-th tensor to rank r, and collect what the ranks sent here."""
    chosen = _group(group, "alltoall")
    if chosen is None:
        return None
    parts = _parts(in_tensor_list, chosen.nranks, "alltoall")
    if not parts:
        raise UsageError("alltoall: the input tensor list must not be empty")
    targets, after = _targets(out_tensor_list, parts[0], chosen.nranks, "alltoall")
    return _go(chosen, sync_op, _then(chosen.transport.all_to_all, after), targets, parts)


def alltoall_single(
    out_tensor: Tensor,
    in_tensor: Tensor,
    in_split_sizes: Sequence[int] | None = None,
    out_split_sizes: Sequence[int] | None = None,
    group: Group | None = None,
    sync_op: bool = True,
) -> Work | None:
    """As ``alltoall`` on slices of one tensor along its first axis; sizes may differ by rank."""
    target, source = (
        _raw(out_tensor, "alltoall_single", "out_tensor"),
        _raw(in_tensor, "alltoall_single", "in_tensor"),
    )
    chosen = _group(group, "alltoall_single")
    if chosen is None:
        return None
    outputs = _split(target, out_split_sizes, chosen.nranks, "out_tensor")
    return _go(
        chosen,
        sync_op,
        chosen.transport.all_to_all,
        outputs,
        _split(source, in_split_sizes, chosen.nranks, "in_tensor"),
    )


def _split(
    raw: torch.Tensor, sizes: Sequence[int] | None, count: int, argument: str
) -> list[torch.Tensor]:
    if sizes is None:
        if raw.shape[0] % count:
            raise UsageError(
                f"alltoall_single: {argument} has {raw.shape[0]} rows, which {count} ranks "
                "cannot share equally; pass split sizes"
            )
        return list(torch.split(raw, raw.shape[0] // count)) if raw.shape[0] else [raw] * count
    if len(sizes) != count or sum(sizes) != raw.shape[0]:
        raise UsageError(
            f"alltoall_single: split sizes {list(sizes)} must be {count} numbers that add up to "
            f"the {raw.shape[0]} rows of {argument}"
        )
    return list(torch.split(raw, list(sizes)))


def send(
    tensor: Tensor, dst: int = 0, group: Group | None = None, sync_op: bool = True
) -> Work | None:
    """Hand ``tensor`` to global rank ``dst``, which must call ``recv``."""
    raw = _raw(tensor, "send")
    chosen = _group(group, "send")
    if chosen is None:
        return None
    place = chosen.rank_of(dst, "send")
    if place == chosen.rank:
        raise UsageError(f"send: rank {dst} cannot send to itself")
    return chosen.message("send", place, not sync_op, chosen.transport.send, raw, place)


def recv(
    tensor: Tensor, src: int = 0, group: Group | None = None, sync_op: bool = True
) -> Work | None:
    """Fill ``tensor`` with what global rank ``src`` sends."""
    raw = _raw(tensor, "recv")
    chosen = _group(group, "recv")
    if chosen is None:
        return None
    place = chosen.rank_of(src, "recv")
    if place == chosen.rank:
        raise UsageError(f"recv: rank {src} cannot receive from itself")
    return chosen.message("recv", place, not sync_op, chosen.transport.recv, raw, place)


def isend(tensor: Tensor, dst: int, group: Group | None = None) -> Work | None:
    """``send`` without waiting."""
    return send(tensor, dst, group, sync_op=False)


def irecv(tensor: Tensor, src: int | None = None, group: Group | None = None) -> Work | None:
    """``recv`` without waiting."""
    return recv(tensor, 0 if src is None else src, group, sync_op=False)


class P2POp:
    """One message for ``batch_isend_irecv``: ``op`` is ``isend`` or ``irecv``."""

    def __init__(
        self, op: Callable[..., Any], tensor: Tensor, peer: int, group: Group | None = None
    ) -> None:
        if op not in (isend, irecv):
            raise CallError(
                "P2POp: op must be paddle.distributed.isend or paddle.distributed.irecv"
            )
        self.op = op
        self.tensor = tensor
        self.peer = peer
        self.group = group


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Start a batch of messages, in the order of the list, and return their tasks."""
    if not isinstance(p2p_op_list, list) or not all(
        isinstance(item, P2POp) for item in p2p_op_list
    ):
        raise CallError("batch_isend_irecv: expected a list of P2POp")
    if not p2p_op_list:
        raise OutOfRange("batch_isend_irecv: the list must not be empty")
    tasks = [item.op(item.tensor, item.peer, item.group) for item in p2p_op_list]
    return [task for task in tasks if task is not None]


def barrier(group: Group | None = None) -> None:
    """Wait until every rank of the group has called it."""
    chosen = group if group is not None else default_group("barrier")
    if chosen.rank >= 0:
        chosen.run(chosen.transport.barrier)


def wait(tensor: Tensor, group: Group | None = None, use_calc_stream: bool = True) -> None:
    """Wait for the collectives that this process has started on the group."""
    chosen = _group(group, "wait")
    if chosen is not None:
        chosen.run(lambda: None)
