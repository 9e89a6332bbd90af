"""Gradients that travel between hosts as numbers of 8 bits: ``int8_allreduce``.

``ReducerOptions(make_bucket=quantised_buckets())`` does it. Each block of a bucket has a scale, by
which its largest entry becomes 127; what is lost by rounding to such steps is added to the next
gradient of the same rank (error feedback), so nothing is lost over several steps. All hosts decode
the same bytes, so all ranks get the same bits.

Ranks of one host average in full precision, in shared memory, where there is nothing to save. A
quarter of the bytes move, and 4 for each block; on a slow connection the levels are packed without
loss besides (``levels_kernels.py``)::

    scales, float32     one for each block
    levels, int8        one for each element

What has not been sent yet is not part of a checkpoint: a resumed run begins without it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from argosy.foundation.errors import NotSupported, UsageError
from argosy.runtime.comm.backend import Backend
from argosy.runtime.comm.backends.cargo import Parcel
from argosy.runtime.comm.backends.doorway import bytes_of
from argosy.runtime.comm.bucket import Bucket
from argosy.runtime.comm.codec import Codec
from argosy.runtime.parallel.compression import BucketMaker, plain_bucket

_SCALE_BYTES = 4
_BLOCKS_AT_ONCE = 16  # of 256 elements: they stay in the first-level cache
_FORM = 8  # the code of the codec, below the block size
_WIDE = (torch.float32, torch.float64)


class Int8Codec(Codec):
    """``block`` elements have a scale."""

    wire = torch.int8

    def __init__(self, block: int = 256, keeps_residual: bool = True) -> None:
        if block < 16 or block % 16:
            raise UsageError(f"int8_allreduce: block_size must be a multiple of 16, but is {block}")
        self.block = block
        self.keeps_residual = keeps_residual
        self.code = _FORM | block << 8

    def num_bytes(self, count: int) -> int:
        return self.plain_bytes(count) + count

    def plain_bytes(self, count: int) -> int:
        return _SCALE_BYTES * -(-count // self.block)

    def _parts(self, encoded: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        at = self.plain_bytes(count)
        return encoded[:at].view(torch.float32), encoded[at:].view(torch.int8)

    def encode(
        self, values: torch.Tensor, out: torch.Tensor, residual: torch.Tensor | None
    ) -> None:
        from argosy.runtime.parallel import compression_kernels as kernels  # loads numba

        scales, levels = self._parts(out, values.numel())
        integers, magic, infinity = kernels.rounding_of(values.numpy().dtype)
        if residual is None:
            rest = torch.empty(_BLOCKS_AT_ONCE * self.block, dtype=values.dtype).numpy()
            kernels.quantise_alone(
                values.numpy(),
                self.block,
                scales.numpy(),
                levels.numpy(),
                rest,
                rest.view(integers),
                magic,
                infinity,
            )
            return
        kernels.quantise(
            values.numpy(),
            residual.numpy(),
            self.block,
            scales.numpy(),
            levels.numpy(),
            residual.numpy().view(integers),
            magic,
            infinity,
        )

    def add_up(
        self, parts: Sequence[torch.Tensor], weights: Sequence[float], out: torch.Tensor
    ) -> None:
        from argosy.runtime.parallel import compression_kernels as kernels

        total = out.numpy()
        items = [
            (*self._parts(part, out.numel()), weight)
            for part, weight in zip(parts, weights, strict=True)
        ]
        (scales, levels, weight), *others = items
        if others:
            (scales_2, levels_2, weight_2), *others = others
            kernels.sum_levels(
                *(scales.numpy(), levels.numpy(), weight),
                *(scales_2.numpy(), levels_2.numpy(), weight_2),
                self.block,
                total,
            )
        else:
            kernels.add_levels(scales.numpy(), levels.numpy(), weight, self.block, total, True)
        for scales, levels, weight in others:
            kernels.add_levels(scales.numpy(), levels.numpy(), weight, self.block, total, False)


def quantised_buckets(block: int = 256, keeps_residual: bool = True) -> BucketMaker:
    """A maker of buckets whose float32 and float64 contents travel between hosts as 8 bits; others
    travel as they are. Without a residual what rounding loses is lost.
    """
    codec = Int8Codec(block, keeps_residual)

    def make(
        backend: Backend, numel: int, dtype: torch.dtype, device: torch.device, num_exact: int = 0
    ) -> Bucket:
        if dtype not in _WIDE or backend.kind == "shm":
            return plain_bucket(backend, numel, dtype, device)
        if device.type != "cpu":
            raise NotSupported(f"int8_allreduce: gradients on {device.type} are not supported")
        return backend.make_coded_bucket(numel, dtype, codec, num_exact) or CodedBucket(
            backend, torch.zeros(numel, dtype=dtype), codec, num_exact
        )

    return make


class CodedBucket(Bucket):
    """A bucket that travels between the ranks of any backend in the form of a codec."""

    def __init__(self, owner: Backend, tensor: torch.Tensor, codec: Codec, num_exact: int) -> None:
        self._owner = owner
        self.tensor = tensor
        weights = [1.0 / owner.world_size] * owner.world_size
        self._parcel = Parcel(tensor, owner.rank, weights, codec, num_exact)

    def publish(self) -> None:
        """Nothing can start before ``finish``."""

    def progress(self) -> bool:
        return True  # nothing can start before ``finish``

    def finish(self) -> None:
        parcel = self._parcel
        others = [r for r in range(self._owner.world_size) if r != self._owner.rank]
        for leg in range(parcel.num_legs):
            parcel.load(leg)
            sent = {r: _bytes(*parcel.outgoing(leg, r)) for r in others}
            came = {r: _bytes(parcel.incoming(leg, r)) for r in others}
            self._owner.all_to_all(self._by_rank(came), self._by_rank(sent))
            for r, data in came.items():
                if data.numel():
                    parcel.incoming(leg, r)[:] = bytes_of(data)
            parcel.unload(leg)

    def _by_rank(self, parts: dict[int, torch.Tensor]) -> list[torch.Tensor]:
        """``parts`` in the order of the ranks; nothing for this one."""
        none = torch.empty(0, dtype=torch.uint8)
        return [parts.get(r, none) for r in range(self._owner.world_size)]

    def close(self) -> None:
        self.tensor = torch.empty(0)
        self._parcel.drop()


def _bytes(*views: memoryview) -> torch.Tensor:
    """A copy of what ``views`` show."""
    return (
        torch.frombuffer(bytearray(b"".join(views)), dtype=torch.uint8)
        if any(view.nbytes for view in views)
        else torch.empty(0, dtype=torch.uint8)
    )
