"""Buckets between two made-up hosts whose results are there before anybody waits for them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from argosy.foundation.errors import CollectiveMismatch
from argosy.runtime.comm.backend import ReduceOp
from argosy.runtime.comm.backends.hierarchical import HierarchicalBackend
from support.join import open_store


@pytest.fixture
def ends(rendezvous, request):
    """Both ranks, and a bucket of each that is averaged."""

    def make(rank):
        store = stores[rank]
        return HierarchicalBackend(request.node.name, rank, ["a", "b"], store, 20.0)

    with open_store(rendezvous) as one, open_store(rendezvous) as other:
        stores = [one, other]
        with ThreadPoolExecutor(2) as threads:
            backends = list(threads.map(make, range(2)))
            buckets = [backend.make_bucket(100, torch.float32) for backend in backends]
            for rank, bucket in enumerate(buckets):
                bucket.tensor.fill_(rank)
                bucket.publish()
            for backend, bucket in zip(backends, buckets, strict=True):
                assert backend._freight._trips[bucket.place].done.wait(10)
            yield backends, buckets, threads
            for backend in backends:
                backend.close()


def test_nobody_waits_for_the_other_and_they_stay_in_step(ends):
    backends, buckets, threads = ends
    for bucket in buckets:  # one after the other, in one thread
        bucket.finish()
        assert torch.equal(bucket.tensor, torch.full((100,), 0.5))
    sums = [torch.ones(3) for _ in backends]
    for _ in range(2):
        list(threads.map(lambda b, t: b.all_reduce(t, ReduceOp.SUM), backends, sums))
    assert torch.equal(sums[0], torch.full((3,), 4.0))


def test_what_the_others_called_is_compared_later(ends):
    backends, buckets, threads = ends
    buckets[0].finish()

    def other():
        with pytest.raises(CollectiveMismatch, match=r"average of gradients|bucket"):
            backends[1].barrier()

    late = threads.submit(other)
    with pytest.raises(CollectiveMismatch, match="barrier"):
        backends[0].barrier()
    late.result(10)
