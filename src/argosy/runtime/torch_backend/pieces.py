"""Collectives that are made of those of a backend: on several tensors, on parts of one, on sparse
ones. All of a call runs as one piece of work, in one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from argosy.foundation.errors import UsageError
from argosy.runtime.comm.backend import Backend, ReduceOp

# below it tensors are cheaper to copy into one than to send one by one
_JOIN_BYTES = 1 << 20


def all_reduce(backend: Backend, tensor: torch.Tensor, op: ReduceOp, factor: Any) -> None:
    """Combine ``tensor`` over all ranks, each rank's times ``factor``."""
    if tensor.layout is torch.sparse_coo:
        _all_reduce_sparse(backend, tensor, op, factor)
        return
    if factor is not None:
        tensor.detach().mul_(factor)
    backend.all_reduce(tensor, op)


def all_reduce_each(
    backend: Backend, tensors: Sequence[torch.Tensor], op: ReduceOp, factor: Any
) -> None:
    """Combine each of ``tensors``; small ones travel together."""
    dense = [t for t in tensors if t.layout is torch.strided]
    for tensor in tensors:
        if tensor.layout is not torch.strided:
            all_reduce(backend, tensor, op, factor)
    for dtype in dict.fromkeys(t.dtype for t in dense):
        same = [t.detach() for t in dense if t.dtype is dtype]
        if sum(t.nbytes for t in same) > _JOIN_BYTES or len(same) == 1:
            for tensor in same:
                all_reduce(backend, tensor, op, factor)
            continue
        flat = torch.cat([t.reshape(-1) for t in same])
        all_reduce(backend, flat, op, factor)
        for tensor, part in zip(same, torch.split(flat, [t.numel() for t in same]), strict=True):
            tensor.copy_(part.view(tensor.shape))


def reduce(backend: Backend, tensor: torch.Tensor, dst: int, op: ReduceOp, factor: Any) -> None:
    if factor is None:
        backend.reduce(tensor, dst, op)
        return
    scaled = tensor.detach() * factor  # the tensors of the other ranks stay as they are
    backend.reduce(scaled, dst, op)
    if backend.rank == dst:
        tensor.detach().copy_(scaled)


def reduce_scatter(
    backend: Backend,
    tensor: torch.Tensor,
    inputs: Sequence[torch.Tensor],
    op: ReduceOp,
    factor: Any,
) -> None:
    if factor is not None:
        inputs = [part.detach() * factor for part in inputs]
    backend.reduce_scatter(tensor, inputs, op)


def each(call: Callable[..., None], arguments: Sequence[tuple[Any, ...]]) -> None:
    """Make several calls of a backend, one after the other."""
    for args in arguments:
        call(*args)


def with_parts(tensor: torch.Tensor, count: int, call: Callable[..., None]) -> None:
    """Call ``call(parts)`` with ``tensor`` as ``count`` equal parts that are filled."""
    whole = tensor.detach()
    dense = whole if whole.is_contiguous() else whole.contiguous()
    call(equal_parts(dense, count))
    if dense is not whole:
        whole.copy_(dense)


def equal_parts(tensor: torch.Tensor, count: int) -> list[torch.Tensor]:
    """The elements of ``tensor`` in order, in ``count`` equal parts; views where it is
    contiguous.
    """
    if tensor.numel() % count:
        raise UsageError(
            f"a tensor of {tensor.numel()} elements cannot be cut into {count} equal parts"
        )
    return list(tensor.detach().reshape(count, tensor.numel() // count).unbind(0))


def rows(call: str, tensor: torch.Tensor, sizes: Sequence[int], count: int) -> list[torch.Tensor]:
    """``tensor`` cut along its first dimension into parts of ``sizes``, equal ones if there are no
    sizes.
    """
    length = tensor.shape[0] if tensor.dim() else 0
    if not sizes:
        if length % count:
            raise UsageError(
                f"{call}: the first dimension of {list(tensor.shape)} is not a multiple of the "
                f"group's {count} ranks; pass the sizes of the parts"
            )
        sizes = [length // count] * count
    if len(sizes) != count or sum(sizes) != length:
        raise UsageError(
            f"{call}: the parts have sizes {list(sizes)}, but there are {count} ranks and the "
            f"first dimension has {length} rows"
        )
    return list(torch.split(tensor.detach(), list(sizes)))


def _all_reduce_sparse(backend: Backend, tensor: torch.Tensor, op: ReduceOp, factor: Any) -> None:
    """Sum sparse tensors: every rank gets all indices and values, and adds those of equal
    indices.
    """
    if op is not ReduceOp.SUM:
        raise UsageError(f"all_reduce: sparse tensors are summed only, but op is {op.name}")
    mine = tensor.detach().coalesce()
    indices, values = mine.indices(), mine.values()
    if factor is not None:
        values = values * factor
    n = backend.world_size
    here = torch.tensor([indices.shape[1], mine.sparse_dim(), mine.dense_dim(), *mine.shape])
    there = [torch.empty_like(here) for _ in range(n)]
    backend.all_gather(there, here)
    if any(other[1:].tolist() != here[1:].tolist() for other in there):
        shapes = ", ".join(str(other[3:].tolist()) for other in there)
        raise UsageError(f"all_reduce: ranks passed sparse tensors of different shapes: {shapes}")
    counts = [int(other[0]) for other in there]
    longest = max(counts)
    all_indices = _gathered(backend, indices.t(), longest)
    all_values = _gathered(backend, values, longest)
    total = torch.sparse_coo_tensor(
        torch.cat([part[:k] for part, k in zip(all_indices, counts, strict=True)]).t(),
        torch.cat([part[:k] for part, k in zip(all_values, counts, strict=True)]),
        mine.shape,
    ).coalesce()
    with torch.no_grad():  # what detach() gives of a sparse tensor has indices of its own
        tensor.copy_(total)


def _gathered(backend: Backend, mine: torch.Tensor, length: int) -> list[torch.Tensor]:
    """The tensors of all ranks, each with ``length`` rows, of which the last may mean nothing."""
    padded = mine.new_zeros((length, *mine.shape[1:]))
    padded[: mine.shape[0]] = mine
    parts = [torch.empty_like(padded) for _ in range(backend.world_size)]
    backend.all_gather(parts, padded)
    return parts


def all_gather_into(backend: Backend, output: torch.Tensor, tensor: torch.Tensor) -> None:
    """Fill ``output`` with the tensors of all ranks, one after the other."""
    with_parts(output, backend.world_size, lambda parts: backend.all_gather(parts, tensor))
