"""Sums of two ranks in each other's memory, of which one is a thread of none: both shares are taken
here, in turns.
"""

from __future__ import annotations

import itertools

import pytest
import torch

from argosy.runtime.comm.backends.shm.segment import Segment
from argosy.runtime.comm.backends.shm.share import Share, share_of


@pytest.fixture
def memory():
    """Two rows of 1 MB, each at the beginning of a page."""
    segment = Segment.create("share", 2 << 20)
    yield torch.from_numpy(segment.array(0, (2, 1 << 20), "u1"))
    segment.close()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("scale", "divisor"), [(0.5, 1), (1.0, 3)])
def test_whatever_way_is_tried_the_sum_is_the_same(memory, scale, divisor, dtype):
    rows = memory.view(dtype)
    addresses = [row.data_ptr() for row in rows]
    shares = [Share(addresses, rank, dtype) for rank in range(2)]
    numel = rows.shape[1] - 3
    for number in range(24):
        torch.manual_seed(number)
        rows.copy_(torch.rand(rows.shape, dtype=dtype))
        expected = rows.clone()
        expected[:, :numel] = (rows[0] + rows[1])[:numel] * scale / divisor
        for share in shares:
            share.sum(numel, scale, divisor)
        assert torch.equal(rows, expected)


@pytest.mark.parametrize("world_size", [1, 2, 3, 7])
@pytest.mark.parametrize("numel", [0, 1, 16, 17, 1000, 12345])
def test_shares_cover_everything_once_and_begin_on_cache_lines(numel, world_size):
    shares = [share_of(numel, rank, world_size) for rank in range(world_size)]
    assert shares[0][0] == 0
    assert shares[-1][1] == numel
    assert all(one[1] == two[0] for one, two in itertools.pairwise(shares))
    assert all(start % 16 == 0 or start == numel for start, _ in shares)
