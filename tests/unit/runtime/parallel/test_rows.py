"""Rows of sparse gradients, and many gradients copied at once, against what NumPy makes of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from argosy.runtime.comm.backends.loopback import LoopbackBackend
from argosy.runtime.parallel import kernels
from argosy.runtime.parallel.rows import RowAverage


@pytest.mark.parametrize("num_ids", [1, 40, 3000, 1 << 40])
def test_ids_are_sorted_and_keep_the_order_of_equal_ones(num_ids):
    draw = np.random.RandomState(0)
    before = draw.randint(0, num_ids, 500)
    ids, addresses = before.copy(), np.arange(500)
    count = kernels.sort_by_id(ids, addresses, np.empty_like(ids), np.empty_like(ids), num_ids)
    order = np.argsort(before, kind="stable")
    assert ids.tolist() == before[order].tolist()
    assert addresses.tolist() == order.tolist()
    assert count == len(np.unique(before))


def test_nothing_is_sorted_too():
    none = np.empty(0, np.int64)
    assert kernels.sort_by_id(none, none.copy(), none.copy(), none.copy(), 5) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", [[0], [5, 0, 7], [30, 40], [20, 20, 20, 1, 40]])
def test_sorted_parts_are_merged(sizes, dtype):
    draw = np.random.RandomState(0)
    parts = [np.sort(draw.permutation(50)[:size]) for size in sizes]
    rows = [draw.randint(-8, 9, (size, 3)).astype(dtype) for size in sizes]
    wanted = np.zeros((50, 3), dtype)
    for ids, values in zip(parts, rows, strict=True):
        wanted[ids] += values
    out_ids, out_rows = np.empty(sum(sizes), np.int64), np.empty((sum(sizes), 3), dtype)
    addresses = np.array([values.ctypes.data for values in rows])
    bounds = np.cumsum([0, *sizes])
    count = kernels.merge_by_id(np.concatenate(parts), bounds, addresses, 0.5, out_ids, out_rows)
    present = np.unique(np.concatenate(parts))
    assert out_ids[:count].tolist() == present.tolist()
    assert out_rows[:count].tolist() == (0.5 * wanted[present]).tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_rows_of_one_id_are_added(dtype):
    torch.manual_seed(0)
    param = torch.nn.Parameter(torch.zeros(50, 2, 3, dtype=dtype))
    ids = torch.randint(0, 50, (200,))
    values = torch.randint(-4, 5, (200, 2, 3)).to(dtype)
    param.grad = torch.sparse_coo_tensor(ids[None], values, param.shape, check_invariants=False)
    wanted = param.grad.to_dense()
    RowAverage(param, LoopbackBackend(), is_lasting=True).average(is_fresh=True)
    assert param.grad.is_coalesced()
    assert param.grad.indices()[0].tolist() == sorted(set(ids.tolist()))
    assert torch.equal(param.grad.to_dense(), wanted)


def test_messages_grow_and_shrink():
    param = torch.nn.Parameter(torch.zeros(1000, 2))
    average = RowAverage(param, LoopbackBackend(), is_lasting=True)
    for count in (3, 900, 0, 5, 1000):
        values = torch.arange(2.0 * count).view(count, 2)
        param.grad = torch.sparse_coo_tensor(
            torch.arange(count)[None], values, param.shape, check_invariants=False
        )
        average.average(is_fresh=True)
        assert torch.equal(param.grad.to_dense()[:count], values)


def test_gradients_that_nobody_produced_stay():
    param = torch.nn.Parameter(torch.zeros(4, 2))
    param.grad = before = torch.sparse_coo_tensor(
        [[1, 1]], torch.ones(2, 2), (4, 2), check_invariants=False
    )
    RowAverage(param, LoopbackBackend(), is_lasting=True).average(is_fresh=False)
    assert param.grad is before


def test_bytes_are_copied_where_they_belong():
    sources = [np.arange(n, dtype=np.float64) + 100 * n for n in (0, 1, 7, 1000)]
    target = np.full(2000, -1.0)
    starts = [0, 8, 16, 100]
    sizes = np.array([s.nbytes for s in sources])
    kernels.copy_all(
        np.array([target.ctypes.data + 8 * start for start in starts]),
        np.array([s.ctypes.data for s in sources]),
        sizes,
        np.empty(0, np.uint8),
    )
    wanted = np.full(2000, -1.0)
    for source, start in zip(sources, starts, strict=True):
        wanted[start : start + len(source)] = source
    assert target.tolist() == wanted.tolist()
