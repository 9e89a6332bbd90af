"""How many bytes a group hands to its backend, for benchmarks and tests.

Counting stands between the group and its backend only while it is wanted: without it nothing is
slower. A collective counts the bytes of the tensors that this rank passes in, once, whatever the
backend makes of them; a broadcast or reduction to one rank counts on every rank, the lists of
``scatter`` and ``all_to_all`` with all their parts. Buckets count when they are published, in the
dtype in which they travel; factors of a gradient too, and the gradient if it was sent after all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch

from argosy.runtime.comm.backend import Backend, ReduceOp
from argosy.runtime.comm.bucket import Bucket, FactoredBucket, finish_buckets
from argosy.runtime.comm.codec import Codec
from argosy.runtime.comm.group import Group


class Traffic:
    """Bytes and calls by kind of collective; ``"bucket"`` stands for the averages of gradients in
    backward.
    """

    def __init__(self) -> None:
        self.bytes_by_kind: Counter[str] = Counter()
        self.calls_by_kind: Counter[str] = Counter()

    def add(self, kind: str, *tensors: torch.Tensor) -> None:
        self.calls_by_kind[kind] += 1
        self.bytes_by_kind[kind] += sum(t.numel() * t.element_size() for t in tensors)

    def add_bucket(self, num_bytes: int) -> None:
        self.calls_by_kind["bucket"] += 1
        self.bytes_by_kind["bucket"] += num_bytes

    @property
    def total_bytes(self) -> int:
        return self.bytes_by_kind.total()

    def reset(self) -> None:
        self.bytes_by_kind.clear()
        self.calls_by_kind.clear()


def count_traffic(group: Group) -> Traffic:
    """Count what ``group`` exchanges from now on; buckets that exist already are not counted, so
    call it before wrapping a model.
    """
    backend = group.transport
    if not isinstance(backend, CountingBackend):
        backend = CountingBackend(backend)
        group.transport = backend
    return backend.traffic


class CountingBackend(Backend):
    """``inner``, with a count of what goes through it."""

    def __init__(self, inner: Backend) -> None:
        self.inner = inner
        self.kind = inner.kind
        self.rank = inner.rank
        self.world_size = inner.world_size
        self.most_bucket_bytes = inner.most_bucket_bytes
        self.traffic = Traffic()

    def all_reduce(self, tensor: torch.Tensor, op: ReduceOp) -> None:
        self.traffic.add("all_reduce", tensor)
        self.inner.all_reduce(tensor, op)

    def broadcast(self, tensor: torch.Tensor, src: int) -> None:
        self.traffic.add("broadcast", tensor)
        self.inner.broadcast(tensor, src)

    def reduce(self, tensor: torch.Tensor, dst: int, op: ReduceOp) -> None:
        self.traffic.add("reduce", tensor)
        self.inner.reduce(tensor, dst, op)

    def all_gather(self, outputs: Sequence[torch.Tensor], tensor: torch.Tensor) -> None:
        self.traffic.add("all_gather", tensor)
        self.inner.all_gather(outputs, tensor)

    def gather(
        self, outputs: Sequence[torch.Tensor] | None, tensor: torch.Tensor, dst: int
    ) -> None:
        self.traffic.add("gather", tensor)
        self.inner.gather(outputs, tensor, dst)

    def scatter(
        self, tensor: torch.Tensor, inputs: Sequence[torch.Tensor] | None, src: int
    ) -> None:
        self.traffic.add("scatter", *(inputs or ()))
        self.inner.scatter(tensor, inputs, src)

    def reduce_scatter(
        self, tensor: torch.Tensor, inputs: Sequence[torch.Tensor], op: ReduceOp
    ) -> None:
        self.traffic.add("reduce_scatter", *inputs)
        self.inner.reduce_scatter(tensor, inputs, op)

    def all_to_all(self, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]) -> None:
        self.traffic.add("all_to_all", *inputs)
        self.inner.all_to_all(outputs, inputs)

    def send(self, tensor: torch.Tensor, dst: int) -> None:
        self.traffic.add("send", tensor)
        self.inner.send(tensor, dst)

    def recv(self, tensor: torch.Tensor, src: int) -> None:
        self.inner.recv(tensor, src)

    def barrier(self) -> None:
        self.traffic.add("barrier")
        self.inner.barrier()

    def make_bucket(self, numel: int, dtype: torch.dtype) -> Bucket:
        num_bytes = numel * dtype.itemsize
        return _CountingBucket(self.inner.make_bucket(numel, dtype), self.traffic, num_bytes)

    def why_no_factors(self) -> str:
        return self.inner.why_no_factors()

    def takes_factors(self, shape: tuple[int, int], dtype: torch.dtype) -> bool:
        return self.inner.takes_factors(shape, dtype)

    def make_factored_bucket(
        self, numel: int, dtype: torch.dtype, shape: tuple[int, int]
    ) -> FactoredBucket:
        inner = self.inner.make_factored_bucket(numel, dtype, shape)
        return _CountingFactors(inner, self.traffic, numel * dtype.itemsize)

    def make_coded_bucket(
        self, numel: int, dtype: torch.dtype, codec: Codec, num_exact: int = 0
    ) -> Bucket | None:
        inner = self.inner.make_coded_bucket(numel, dtype, codec, num_exact)
        num_bytes = codec.num_bytes(numel - num_exact) + num_exact * dtype.itemsize
        return inner and _CountingBucket(inner, self.traffic, num_bytes)

    def close(self) -> None:
        self.inner.close()


class _CountingBucket(Bucket):
    def __init__(self, inner: Bucket, traffic: Traffic, num_bytes: int) -> None:
        self._inner = inner
        self._traffic = traffic
        self._num_bytes = num_bytes
        self.tensor = inner.tensor

    def publish(self) -> None:
        self._traffic.add_bucket(self._num_bytes)
        self._inner.publish()

    def progress(self) -> bool:
        return self._inner.progress()

    def finish(self) -> None:
        self._inner.finish()
        self.count_rest()

    def finish_all(self, buckets: Sequence[Bucket]) -> None:
        members = [bucket for bucket in buckets if isinstance(bucket, _CountingBucket)]
        finish_buckets([bucket._inner for bucket in members])
        for bucket in members:
            bucket.count_rest()

    def count_rest(self) -> None:
        """Count what the round took beside what was published."""

    def gathered(self) -> Sequence[torch.Tensor] | None:
        return self._inner.gathered()

    def close(self) -> None:
        self.tensor = torch.empty(0)
        self._inner.close()


class _CountingFactors(_CountingBucket, FactoredBucket):
    """Counts the factors where there are some."""

    _inner: FactoredBucket

    def __init__(self, inner: FactoredBucket, traffic: Traffic, num_bytes: int) -> None:
        super().__init__(inner, traffic, num_bytes)
        self._factor_bytes = 0
        self._rest_bytes = 0  # that the gradient takes if factors were in vain

    def offer(self, left: torch.Tensor, right: torch.Tensor) -> bool:
        self._factor_bytes = left.nbytes + right.nbytes
        return self._inner.offer(left, right)

    @property
    def is_offered(self) -> bool:
        return self._inner.is_offered

    @property
    def was_multiplied(self) -> bool:
        return self._inner.was_multiplied

    def withdraw(self) -> None:
        self._inner.withdraw()

    def multiply(self) -> None:
        self._inner.multiply()

    def publish(self) -> None:
        is_offered = self._inner.is_offered
        self._traffic.add_bucket(self._factor_bytes if is_offered else self._num_bytes)
        self._rest_bytes = self._num_bytes if is_offered else 0
        self._inner.publish()

    def count_rest(self) -> None:
        if not self._inner.was_multiplied:
            self._traffic.bytes_by_kind["bucket"] += self._rest_bytes
