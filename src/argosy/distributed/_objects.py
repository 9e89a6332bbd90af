"""Collectives of Python objects: numbers, strings, containers, arrays, Tensors.

Objects travel as pickles that are read as ``paddle.load`` reads files: what a peer sends cannot run
code, and an instance of a class of the script is refused by name until
``paddle.framework.add_safe_globals`` admits the class.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import torch

from argosy.distributed._collectives import _group
from argosy.foundation import dtypes
from argosy.foundation.errors import CheckpointError, CommError, UsageError
from argosy.framework.pickles import load
from argosy.runtime.comm.group import Group
from argosy.tensor.engine import Tensor, wrap

__all__ = [
    "all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list",
    "scatter_object_list", "send_object_list",
]  # fmt: skip


_DTYPE_NAMES = {dtype.name for dtype in dtypes.ALL}


def _tensor(array: np.ndarray, dtype: str, stop_gradient: bool) -> Tensor:
    """Called by the pickles of peers: the arguments may be anything."""
    if (
        not isinstance(array, np.ndarray)
        or array.dtype.kind not in "biufc"
        or not isinstance(stop_gradient, bool)
    ):
        raise CheckpointError("a Tensor that is not made of an array of numbers")
    if (
        not isinstance(dtype, str)
        or dtype not in _DTYPE_NAMES
        or (dtype == "bfloat16" and array.dtype != np.uint16)
    ):
        raise CheckpointError("a Tensor whose dtype is not that of its array")
    if dtype == "bfloat16":  # NumPy has no such dtype: its bits travel as uint16
        return wrap(torch.from_numpy(array.view(np.int16)).view(torch.bfloat16))
    return Tensor(array, dtype=dtype, stop_gradient=stop_gradient)


class _Writer(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            return _tensor, (obj.numpy(), obj.dtype.name, obj.stop_gradient)
        return NotImplemented


def _encode(obj: Any) -> torch.Tensor:
    file = io.BytesIO()
    _Writer(file, 4).dump(obj)
    return torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)


def _decode(data: torch.Tensor, call: str) -> Any:
    return load(io.BytesIO(data.numpy().tobytes()), "an object of a peer", [_tensor], call)


def _decode_list(data: torch.Tensor, call: str) -> list[Any]:
    objects = _decode(data, call)
    if not isinstance(objects, list):
        raise CheckpointError(
            f"{call}: a peer sent a {type(objects).__name__}, but a list of objects was expected"
        )
    return objects


def _buffer(announced: torch.Tensor) -> torch.Tensor:
    """Memory for an object, of the length that its sender announced."""
    num_bytes = int(announced)
    try:
        if num_bytes > 0:
            return torch.zeros(num_bytes, dtype=torch.uint8)
    except RuntimeError as error:  # the allocator's
        raise CommError(
            f"a peer announced an object of {num_bytes} bytes, for which there is no memory"
        ) from error
    raise CommError(f"a peer announced an object of {num_bytes} bytes")


def _exchange(group: Group, mine: torch.Tensor) -> list[torch.Tensor]:
    """The bytes of all ranks."""
    backend = group.transport
    sizes = [torch.empty(1, dtype=torch.int64) for _ in range(group.nranks)]
    backend.all_gather(sizes, torch.tensor([mine.numel()]))
    padded = _buffer(max(sizes))
    padded[: mine.numel()] = mine
    every = [torch.empty_like(padded) for _ in sizes]
    backend.all_gather(every, padded)
    if min(sizes) <= 0:
        raise CommError(f"a peer announced an object of {int(min(sizes))} bytes")
    return [data[: int(size)] for data, size in zip(every, sizes, strict=True)]


def all_gather_object(object_list: list[Any], obj: Any, group: Group | None = None) -> None:
    """Append the ``obj`` of every rank, in rank order, to ``object_list``."""
    chosen = _group(group, "all_gather_object")
    if chosen is not None:
        object_list.extend(
            _decode(data, "all_gather_object")
            for data in chosen.run(_exchange, chosen, _encode(obj))
        )


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int = 0, group: Group | None = None
) -> None:
    """Append the ``obj`` of every rank to ``object_gather_list`` of global rank ``dst``."""
    chosen = _group(group, "gather_object")
    if chosen is None:
        return
    place = chosen.rank_of(dst, "gather_object")
    if chosen.rank == place and object_gather_list is None:
        raise UsageError(f"gather_object: rank {dst} receives and must pass object_gather_list")
    every = chosen.run(_exchange, chosen, _encode(obj))
    if chosen.rank == place and object_gather_list is not None:
        object_gather_list.extend(_decode(data, "gather_object") for data in every)


def _send_from(group: Group, src: int, data: torch.Tensor | None) -> torch.Tensor:
    """The bytes of rank ``src`` of the group, on every rank."""
    backend = group.transport
    size = torch.tensor([0 if data is None else data.numel()])
    backend.broadcast(size, src)
    buffer = data if data is not None else _buffer(size)
    backend.broadcast(buffer, src)
    return buffer


def broadcast_object_list(object_list: list[Any], src: int, group: Group | None = None) -> None:
    """Replace the contents of ``object_list`` by those of global rank ``src``; the lengths must be
    equal.
    """
    if not object_list:
        raise UsageError("broadcast_object_list: object_list must have at least one element")
    chosen = _group(group, "broadcast_object_list")
    if chosen is None:
        return
    place = chosen.rank_of(src, "broadcast_object_list")
    mine = _encode(object_list) if chosen.rank == place else None
    received = _decode_list(chosen.run(_send_from, chosen, place, mine), "broadcast_object_list")
    if len(received) != len(object_list):
        raise UsageError(
            f"broadcast_object_list: rank {src} passed {len(received)} objects, this rank a list "
            f"of {len(object_list)}"
        )
    if chosen.rank != place:
        object_list[:] = received


def scatter_object_list(
    out_object_list: list[Any],
    in_object_list: list[Any] | None = None,
    src: int = 0,
    group: Group | None = None,
) -> None:
    """Make ``out_object_list`` hold this rank's element of ``in_object_list`` of global rank
    ``src``.
    """
    chosen = _group(group, "scatter_object_list")
    if chosen is None:
        return
    place = chosen.rank_of(src, "scatter_object_list")
    mine = None
    if chosen.rank == place:
        if in_object_list is None or len(in_object_list) != chosen.nranks:
            raise UsageError(
                f"scatter_object_list: rank {src} must pass a list of {chosen.nranks} objects, "
                "one for each rank"
            )
        mine = _encode(list(in_object_list))
    received = _decode_list(chosen.run(_send_from, chosen, place, mine), "scatter_object_list")
    if len(received) != chosen.nranks:
        raise CheckpointError(
            f"scatter_object_list: rank {src} sent {len(received)} objects to {chosen.nranks} ranks"
        )
    out_object_list[:] = [received[chosen.rank]]


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Group | None = None,
    dst_in_group: int | None = None,
) -> None:
    """Hand the objects to global rank ``dst``, or to rank ``dst_in_group`` of the group; it must
    call ``recv_object_list``.
    """
    _check_list(object_list, "send_object_list")
    chosen = _group(group, "send_object_list")
    if chosen is None:
        return
    peer = _peer(chosen, dst, dst_in_group, "dst", "send_object_list")
    send = chosen.transport.send
    data = _encode(object_list)
    chosen.message("send", peer, False, send, torch.tensor([data.numel()]), peer)
    chosen.message("send", peer, False, send, data, peer)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Group | None = None,
    src_in_group: int | None = None,
) -> int | None:
    """Replace the contents of ``object_list`` by what global rank ``src`` (or ``src_in_group``)
    sends; returns the sender's global rank.
    """
    _check_list(object_list, "recv_object_list")
    chosen = _group(group, "recv_object_list")
    if chosen is None:
        return None
    peer = _peer(chosen, src, src_in_group, "src", "recv_object_list")
    recv = chosen.transport.recv
    size = torch.zeros(1, dtype=torch.int64)
    chosen.message("recv", peer, False, recv, size, peer)
    data = _buffer(size)
    chosen.message("recv", peer, False, recv, data, peer)
    received = _decode_list(data, "recv_object_list")
    if len(received) != len(object_list):
        raise UsageError(
            f"recv_object_list: {len(received)} objects were sent, but the list has "
            f"{len(object_list)}"
        )
    object_list[:] = received
    return chosen.ranks[peer]


def _check_list(object_list: list[Any], call: str) -> None:
    if not object_list:
        raise UsageError(f"{call}: object_list must have at least one element")


def _peer(
    group: Group, by_global: int | None, by_group: int | None, argument: str, call: str
) -> int:
    """The other side's rank in the group, from one of the two arguments that may name it."""
    if by_group is None:
        return group.rank_of(0 if by_global is None else by_global, call)
    if by_global is not None:
        raise UsageError(f"{call}: {argument} and {argument}_in_group exclude each other")
    if not 0 <= by_group < group.nranks:
        raise UsageError(
            f"{call}: {argument}_in_group must be from 0 to {group.nranks - 1}, but is {by_group}"
        )
    return by_group
