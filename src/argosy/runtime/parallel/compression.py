"""Gradients that travel in 16 bits: ``fp16_allreduce``.

``ReducerOptions(make_bucket=half_buckets(torch.float16))`` makes the reducer keep float32 and
float64 gradients in private buckets, which are rounded to 16 bits for the exchange. Values of all
ranks are added in float32 and the mean is rounded to 16 bits once more on its way back, so every
rank has the same bits. Gradients beyond the range of float16 become infinite, as they do in Paddle:
scale the loss, or use bfloat16.

Half the bytes move, whatever the backend: in shared memory through a bucket of 16-bit numbers.
Between hosts only what the hosts send each other is rounded (``HalfCodec``): a host's own mean is
made in full precision. Elsewhere each rank receives its share of all buckets, averages it and hands
it out again (gloo's own reduction would widen halves to float32 first).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from argosy.foundation.errors import UsageError
from argosy.runtime.comm.backend import Backend, PlainBucket
from argosy.runtime.comm.bucket import Bucket
from argosy.runtime.comm.codec import Codec

# of backend, number of elements, dtype, device, and how many of the last elements must stay as they
# are
BucketMaker = Callable[[Backend, int, torch.dtype, torch.device, int], Bucket]
_WIDE = (torch.float32, torch.float64)


def half_buckets(wire: torch.dtype = torch.float16) -> BucketMaker:
    """A maker of buckets whose float32 and float64 contents travel as ``wire``, float16 or
    bfloat16; others travel as they are.
    """
    if wire not in (torch.float16, torch.bfloat16):
        raise UsageError(f"gradients can travel as float16 or bfloat16, but received {wire}")

    def make(
        backend: Backend, numel: int, dtype: torch.dtype, device: torch.device, num_exact: int = 0
    ) -> Bucket:
        if dtype not in _WIDE:
            return plain_bucket(backend, numel, dtype, device)
        if device.type == "cpu":
            coded = backend.make_coded_bucket(numel, dtype, HalfCodec(wire), num_exact)
            if coded is not None:
                return coded
        tensor = torch.zeros(numel, dtype=dtype, device=device)
        if device.type == "cpu" and backend.kind == "shm":
            return CastBucket(tensor, backend.make_bucket(numel, wire))
        return CastBucket(
            tensor, ScatteredBucket(backend, torch.zeros(numel, dtype=wire, device=device))
        )

    return make


def plain_bucket(
    backend: Backend, numel: int, dtype: torch.dtype, device: torch.device, num_exact: int = 0
) -> Bucket:
    """The bucket that a reducer makes without compression."""
    if device.type != "cpu":
        return PlainBucket(backend, torch.zeros(numel, dtype=dtype, device=device))
    return backend.make_bucket(numel, dtype)


class HalfCodec(Codec):
    """Values in 16 bits; their sums are made in the dtype of the values."""

    wire: torch.dtype

    def __init__(self, wire: torch.dtype) -> None:
        self.wire = wire
        self.code = 16 if wire is torch.float16 else 17

    def num_bytes(self, count: int) -> int:
        return 2 * count

    def encode(
        self, values: torch.Tensor, out: torch.Tensor, residual: torch.Tensor | None
    ) -> None:
        out.view(self.wire).copy_(values)

    def add_up(
        self, parts: Sequence[torch.Tensor], weights: Sequence[float], out: torch.Tensor
    ) -> None:
        from argosy.runtime.parallel import compression_kernels as kernels  # loads numba

        total, is_bfloat = out.numpy(), self.wire is torch.bfloat16
        halves = [part.numpy().view(np.uint16) for part in parts]
        done = min(len(halves), 2)
        if done == 2:
            kernels.sum_halves(halves[0], halves[1], weights[0], weights[1], is_bfloat, total)
        else:
            kernels.add_halves(halves[0], weights[0], is_bfloat, total, True)
        for half, weight in zip(halves[done:], weights[done:], strict=True):
            kernels.add_halves(half, weight, is_bfloat, total, False)


class CastBucket(Bucket):
    """``tensor`` in full precision, averaged through ``wire``, a bucket of the same length and
    another dtype.
    """

    def __init__(self, tensor: torch.Tensor, wire: Bucket) -> None:
        self.tensor = tensor
        self.wire = wire

    def publish(self) -> None:
        self.wire.tensor.copy_(self.tensor)
        self.wire.publish()

    def progress(self) -> bool:
        return self.wire.progress()

    def finish(self) -> None:
        self.wire.finish()
        self.tensor.copy_(self.wire.tensor)

    def close(self) -> None:
        self.tensor = torch.empty(0)
        self.wire.close()


class ScatteredBucket(Bucket):
    """A 16-bit bucket of any backend: each rank averages its share in float32 and gives it to
    all.
    """

    def __init__(self, owner: Backend, tensor: torch.Tensor) -> None:
        self._owner = owner
        self.tensor = tensor

    def publish(self) -> None:
        """Nothing can start before ``finish``."""

    def progress(self) -> bool:
        return True  # nothing can start before ``finish``

    def finish(self) -> None:
        n = self._owner.world_size
        share = -(-self.tensor.numel() // n)
        padded = self.tensor.new_zeros(share * n)
        padded[: self.tensor.numel()] = self.tensor
        received = torch.empty_like(padded)
        self._owner.all_to_all(torch.split(received, share), torch.split(padded, share))
        mean = received.view(n, share).float().mean(0).to(self.tensor.dtype)
        self._owner.all_gather(torch.split(padded, share), mean)
        self.tensor.copy_(padded[: self.tensor.numel()])

    def close(self) -> None:
        self.tensor = torch.empty(0)
