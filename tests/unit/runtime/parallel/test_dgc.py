"""The pass that accumulates gradients and picks the largest entries, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from argosy.runtime.parallel.dgc import picked_by_threshold
from unit.runtime.comm.test_cargo import tensors


def accumulated(g, u, v, momentum, use_nesterov):
    if use_nesterov:
        u = momentum * (u + g)
        return u, v + u + g
    u = momentum * u + g
    return u, v + u


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("use_nesterov", [False, True])
@pytest.mark.parametrize("count", [1, 255, 1000, 65536])
def test_few_entries_are_picked_exactly(count, use_nesterov, dtype):
    g, u, v = tensors(3, count, dtype)
    new_u, new_v = accumulated(*(t.numpy().copy() for t in (g, u, v)), 0.5, use_nesterov)
    where, values = picked_by_threshold(g, u, v, 0.5, use_nesterov, 0.25, 0)
    wanted = max(1, round(count * 0.25))
    chosen = np.sort(np.argsort(-np.abs(new_v))[:wanted])
    assert len(where) == wanted
    np.testing.assert_array_equal(where.numpy(), chosen)
    np.testing.assert_allclose(values.numpy(), new_v[chosen], rtol=1e-6)
    new_u[chosen] = new_v[chosen] = 0
    np.testing.assert_allclose(u.numpy(), new_u, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(v.numpy(), new_v, rtol=1e-6, atol=1e-6)
    assert not g.any()


def test_of_many_entries_a_sample_says_which_are_large():
    """About as many as asked for, never more than there is room for; none that stays is larger
    than one that goes.
    """
    count, keep = 400_000, 0.01
    u, v = torch.zeros(count), torch.zeros(count)
    for step in range(6):
        g = tensors(1, count + step)[0][:count].contiguous()
        before = v + (0.9 * u + g)
        where, values = picked_by_threshold(g, u, v, 0.9, False, keep, step)
        picked = values != 0
        assert len(where) == 6000
        assert 2800 < picked.sum() <= 6000
        where, values = where[picked].long(), values[picked]
        assert len(where.unique()) == len(where)
        torch.testing.assert_close(values, before[where])
        assert not v[where].any()
        assert not u[where].any()
        before[where] = 0
        torch.testing.assert_close(v, before)  # nothing is lost
        if picked.sum() < 6000:
            assert v.abs().max() <= values.abs().min() * (1 + 1e-6)
