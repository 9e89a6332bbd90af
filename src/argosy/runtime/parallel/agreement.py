"""Whether the ranks have the same model."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from argosy.foundation.errors import CollectiveMismatch
from argosy.runtime.comm.backend import Backend


def describe(name: str, tensor: torch.Tensor) -> str:
    """What must be equal on every rank: ``fc.weight [3, 4] float32``."""
    return f"{name} {list(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"


def check_same(
    lines: Sequence[str],
    backend: Backend,
    what: str = "DataParallel: the ranks have different models",
) -> None:
    """Compare the ranks' descriptions, so that a different model is an error now and not a wrong
    number later.
    """
    text = torch.frombuffer(
        bytearray("\n".join(lines).encode()) or bytearray(b"\n"), dtype=torch.uint8
    )
    size = torch.tensor([text.numel()])
    sizes = [torch.empty_like(size) for _ in range(backend.world_size)]
    backend.all_gather(sizes, size)
    mine = text.new_zeros(max(int(s) for s in sizes))
    mine[: text.numel()] = text
    every = [torch.empty_like(mine) for _ in sizes]
    backend.all_gather(every, mine)
    first, *others = [
        bytes(t.tolist())[: int(s)].decode().split("\n") for t, s in zip(every, sizes, strict=True)
    ]
    for rank, other in enumerate(others, 1):
        if other != first:
            raise CollectiveMismatch(f"{what}: {_difference(first, other, rank)}")


def _difference(first: list[str], other: list[str], rank: int) -> str:
    for a, b in zip(first, other, strict=False):
        if a != b:
            return f"{a!r} on rank 0, {b!r} on rank {rank}"
    longer, where = (first, 0) if len(first) > len(other) else (other, rank)
    extra = longer[min(len(first), len(other))]
    return (
        f"{len(first)} tensors on rank 0, {len(other)} on rank {rank}; {extra!r} is only on rank "
        f"{where}"
    )
