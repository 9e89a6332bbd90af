"""Numbers of 8 bits with error feedback: the compiled loops against NumPy, written from the
formula.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from argosy.foundation.errors import UsageError
from argosy.runtime.comm.backends.cargo import Cargo
from argosy.runtime.parallel.quantised import Int8Codec
from unit.runtime.comm.test_cargo import carried, tensors


def twin(values, residual, block):
    """Scales, levels and what is left."""
    total = values + residual
    scales, levels = [], np.zeros(len(total), np.int8)
    for start in range(0, len(total), block):
        part = total[start : start + block]
        scale = np.float32(np.abs(part).max() / 127)
        scales.append(scale)
        if scale:
            inverse = total.dtype.type(1) / total.dtype.type(scale)
            levels[start : start + block] = np.rint(part * inverse)
    widened = np.repeat(np.array(scales, np.float32), block)[: len(total)].astype(total.dtype)
    return np.array(scales, np.float32), levels, total - levels * widened


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("count", [1, 31, 64, 1000])
def test_levels_scales_and_what_is_left(count, dtype):
    codec = Int8Codec(32)
    values, residual = tensors(2, count, dtype)
    scales, levels, left = twin(values.numpy(), residual.numpy().copy(), 32)
    out = torch.empty(codec.num_bytes(count), dtype=torch.uint8)
    codec.encode(values, out, residual)
    at = 4 * len(scales)
    np.testing.assert_array_equal(out[:at].view(torch.float32).numpy(), scales)
    np.testing.assert_array_equal(out[at:].view(torch.int8).numpy(), levels)
    np.testing.assert_allclose(residual.numpy(), left, rtol=0, atol=1e-6)


@pytest.mark.parametrize("count", [1, 100, 16 * 32, 5000])
def test_without_residual_it_is_as_with_zeros(count):
    (values,) = tensors(1, count, torch.float32)
    codec = Int8Codec(32, keeps_residual=False)
    found, wanted = (torch.empty(codec.num_bytes(count), dtype=torch.uint8) for _ in range(2))
    kept = values.clone()
    codec.encode(values, found, None)
    codec.encode(values, wanted, torch.zeros(count))
    assert torch.equal(found, wanted)
    assert torch.equal(values, kept)


def test_edges():
    """Zeros, a block that is not finite, numbers too small for a scale, the largest level."""
    codec = Int8Codec(16)
    values, residual = torch.zeros(64), torch.zeros(64)
    values[16], values[33], values[48:] = float("inf"), 1e-40, torch.linspace(-5, 5, 16)
    out = torch.empty(codec.num_bytes(64), dtype=torch.uint8)
    codec.encode(values, out, residual)
    found = torch.empty(64)
    codec.add_up([out], [1.0], found)
    assert not found[:16].any()
    assert found[16:32].isnan().all()
    assert not residual[16:32].any()
    assert not found[32:48].any()
    assert residual[33] == values[33]  # it waits
    assert found[48] == -5
    assert found[63] == 5
    torch.testing.assert_close(found[48:], values[48:], rtol=0, atol=5 / 127 / 2 * 1.001)


@pytest.mark.parametrize("hosts", [2, 3, 4])
def test_hosts_agree_and_nothing_is_lost_over_time(hosts):
    """The sum of what all steps gave is that of what was put in, but for one rounding."""
    steps, count = 20, 500
    values = [torch.zeros(count) for _ in range(hosts)]
    cargoes = [
        Cargo(0, v, h, [1 / hosts] * hosts, Int8Codec(64), num_exact=2)
        for h, v in enumerate(values)
    ]
    given, got = torch.zeros(count, dtype=torch.float64), torch.zeros(count, dtype=torch.float64)
    draw = np.random.RandomState(0)
    worst = 0.0
    for _ in range(steps):
        for value in values:
            value.copy_(torch.from_numpy(draw.normal(size=count)))
        mean = sum(v.double() for v in values) / hosts
        given += mean
        sent = carried(cargoes)
        for value in values:
            assert torch.equal(value, values[0])
        got += values[0]
        worst = max(worst, (values[0] - mean).abs().max().item())
        torch.testing.assert_close(values[0][-2:].double(), mean[-2:], rtol=1e-6, atol=1e-6)
    assert 0.001 < worst < 0.1
    assert (given - got).abs().max() < 2.5 * 4 / 127  # not twenty times as much
    assert sent < 2 * count * 4 * 0.31


@pytest.mark.parametrize("block", [0, 8, 100])
def test_blocks_that_do_not_fit(block):
    with pytest.raises(UsageError, match="block_size must be a multiple of 16"):
        Int8Codec(block)
