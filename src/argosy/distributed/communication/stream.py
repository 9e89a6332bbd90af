"""``paddle.distributed.stream``: the collectives with a choice of stream.

``use_calc_stream=True`` needs ``sync_op=True``, as in Paddle; on the CPU both streams are one.
Argument names and order are Paddle's, which differ from those of the plain collectives here and
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.distributed.communication._call import CallError
from argosy.distributed.communication.all_gather import all_gather as _all_gather
from argosy.distributed.communication.all_reduce import all_reduce as _all_reduce
from argosy.distributed.communication.all_to_all import alltoall as _alltoall
from argosy.distributed.communication.all_to_all import alltoall_single as _alltoall_single
from argosy.distributed.communication.broadcast import broadcast as _broadcast
from argosy.distributed.communication.gather import gather as _gather
from argosy.distributed.communication.recv import recv as _recv
from argosy.distributed.communication.reduce import ReduceOp
from argosy.distributed.communication.reduce import reduce as _reduce
from argosy.distributed.communication.reduce_scatter import reduce_scatter as _reduce_scatter
from argosy.distributed.communication.scatter import scatter as _scatter
from argosy.distributed.communication.send import send as _send
from argosy.runtime.comm.group import Group
from argosy.runtime.comm.work import Work
from argosy.tensor.engine import Tensor

__all__ = [
    "all_gather", "all_reduce", "alltoall", "alltoall_single", "broadcast", "gather", "recv",
    "reduce", "reduce_scatter", "scatter", "send",
]  # fmt: skip


def _check(call: str, sync_op: bool, use_calc_stream: bool) -> None:
    if use_calc_stream and not sync_op:
        raise CallError(f"stream.{call}: use_calc_stream can only be true in sync op behavior.")


def all_gather(
    tensor_or_tensor_list: Any,
    tensor: Tensor,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Work | None:
    """Collect ``tensor`` of all ranks in a list or, one after another, in one tensor."""
    _check("all_gather", sync_op, use_calc_stream)
    return _all_gather(tensor_or_tensor_list, tensor, group, sync_op)


def all_reduce(
    tensor: Tensor,
    op: Any = ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Work | None:
    """Combine ``tensor`` of all ranks and leave the result in it on each."""
    _check("all_reduce", sync_op, use_calc_stream)
    return _all_reduce(tensor, op, group, sync_op)


def alltoall(
    out_tensor_or_tensor_list: Any,
    in_tensor_or_tensor_list: Any,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Work | None:
    """Send the r-th part to rank r, and collect what the ranks sent here."""
    _check("alltoall", sync_op, use_calc_stream)
    return _alltoall(out_tensor_or_tensor_list, in_tensor_or_tensor_list, group, sync_op)


def alltoall_single(
    out_tensor: Tensor,
    in_tensor: Tensor,
    out_split_sizes: Sequence[int] | None = None,
    in_split_sizes: Sequence[int] | None = None,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Work | None:
    """As ``alltoall`` on slices of one tensor; here the output's split sizes come first."""
    _check("alltoall_single", sync_op, use_calc_stream)
    return _alltoall_single(out_tensor, in_tensor, in_split_sizes, out_split_sizes, group, sync_op)


def broadcast(
    tensor: Tensor,
    src: int,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Work | None:
    """Copy the ``tensor`` of global rank ``src`` to all ranks."""
    _check("broadcast", sync_op, use_calc_stream)
    return _broadcast(tensor, src, group, sync_op)


def gather(
    tensor: Tensor,
    gather_list: Any = None,
    dst: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Work | None:
    """Collect ``tensor`` of all ranks in ``gather_list`` of global rank ``dst``."""
    _check("gather", sync_op, use_calc_stream)
    return _gather(tensor, gather_list, dst, group, sync_op)


def recv(
    tensor: Tensor,
    src: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Work | None:
    """Fill ``tensor`` with what global rank ``src`` sends."""
    _check("recv", sync_op, use_calc_stream)
    return _recv(tensor, src, group, sync_op)


def reduce(
    tensor: Tensor,
    dst: int = 0,
    op: Any = ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Work | None:
    """Combine ``tensor`` of all ranks into that of global rank ``dst``."""
    _check("reduce", sync_op, use_calc_stream)
    return _reduce(tensor, dst, op, group, sync_op)


def reduce_scatter(
    tensor: Tensor,
    tensor_or_tensor_list: Any,
    op: Any = ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Work | None:
    """Combine the parts of all ranks and leave each rank its own in ``tensor``."""
    _check("reduce_scatter", sync_op, use_calc_stream)
    return _reduce_scatter(tensor, tensor_or_tensor_list, op, group, sync_op)


def scatter(
    tensor: Tensor,
    tensor_or_tensor_list: Any = None,
    src: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Work | None:
    """Give each rank its part of what global rank ``src`` has, in ``tensor``."""
    _check("scatter", sync_op, use_calc_stream)
    return _scatter(tensor, tensor_or_tensor_list, src, group, sync_op)


def send(
    tensor: Tensor,
    dst: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Work | None:
    """Hand ``tensor`` to global rank ``dst``."""
    _check("send", sync_op, use_calc_stream)
    return _send(tensor, dst, group, sync_op)
