"""Python objects on their way between ranks: numbers, strings, containers, arrays, Tensors.

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

from argosy.foundation import dtypes
from argosy.foundation.errors import CheckpointError, CommError, UsageError
from argosy.framework.pickles import load
from argosy.runtime.comm.backend import Backend
from argosy.runtime.comm.group import Group
from argosy.tensor.engine import Tensor, wrap

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
        if isinstance(obj, np.memmap):  # its file stays behind
            return np.asarray(obj).__reduce__()
        return NotImplemented


def encode(obj: Any) -> torch.Tensor:
    file = io.BytesIO()
    _Writer(file, 4).dump(obj)
    return torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)


def decode(call: str, data: torch.Tensor) -> Any:
    return load(io.BytesIO(data.numpy().tobytes()), "an object of a peer", [_tensor], call)


def decode_list(call: str, data: torch.Tensor) -> list[Any]:
    objects = decode(call, data)
    if not isinstance(objects, list):
        raise CheckpointError(
            f"{call}: a peer sent a {type(objects).__name__}, but a list of objects was expected"
        )
    return objects


def buffer(announced: torch.Tensor) -> torch.Tensor:
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


def exchange(group: Group, obj: Any) -> list[torch.Tensor]:
    """The bytes of the ``obj`` of every rank."""
    return group.run(_gather_objects, group.transport, group.nranks, encode(obj))


def _gather_objects(transport: Backend, count: int, mine: torch.Tensor) -> list[torch.Tensor]:
    sizes = [torch.empty(1, dtype=torch.int64) for _ in range(count)]
    transport.all_gather(sizes, torch.tensor([mine.numel()]))
    padded = buffer(max(sizes))
    padded[: mine.numel()] = mine
    every = [torch.empty_like(padded) for _ in sizes]
    transport.all_gather(every, padded)
    if min(sizes) <= 0:
        raise CommError(f"a peer announced an object of {int(min(sizes))} bytes")
    return [data[: int(size)] for data, size in zip(every, sizes, strict=True)]


def broadcast(call: str, group: Group, root: int, objects: Any) -> list[Any]:
    """The list ``objects`` of rank ``root`` of the group, on every rank."""
    mine = encode(list(objects)) if group.rank == root else None
    return decode_list(call, group.run(_broadcast_object, group.transport, root, mine))


def _broadcast_object(transport: Backend, root: int, data: torch.Tensor | None) -> torch.Tensor:
    size = torch.tensor([0 if data is None else data.numel()])
    transport.broadcast(size, root)
    received = data if data is not None else buffer(size)
    transport.broadcast(received, root)
    return received


def check_list(call: str, object_list: list[Any]) -> None:
    """Refuse a list that names no place for an object."""
    if not object_list:
        raise UsageError(f"{call}: object_list must have at least one element")


def peer(
    call: str, group: Group, by_global: int | None, by_group: int | None, argument: str
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
