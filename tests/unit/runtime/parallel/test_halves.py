"""16-bit numbers of several hosts, added up: the compiled loops against torch's conversions."""

from __future__ import annotations

import pytest
import torch

from argosy.runtime.parallel.compression import HalfCodec
from argosy.runtime.parallel.quantised import Int8Codec
from unit.runtime.comm.test_cargo import tensors


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("wire", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("hosts", [1, 2, 3])
def test_every_half_and_sums_in_the_order_of_the_hosts(wire, hosts, dtype):
    """Tiny ones, infinite ones and zeros with their signs among them."""
    every = torch.arange(1 << 16).to(torch.int16).view(wire)
    halves = [every.roll(1000 * h) for h in range(hosts)]
    weights = [0.3, 0.45, 0.25][:hosts]
    expected = halves[0].to(dtype) * weights[0]
    for half, weight in zip(halves[1:], weights[1:], strict=True):
        expected = expected + half.to(dtype) * weight
    found = torch.empty(1 << 16, dtype=dtype)
    HalfCodec(wire).add_up([half.view(torch.uint8) for half in halves], weights, found)
    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(found[~found.isnan()].signbit(), expected[~found.isnan()].signbit())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("hosts", [1, 2, 3])
def test_levels_of_several_hosts(hosts, dtype):
    codec, count, weights = Int8Codec(64), 1000, [0.5, 0.125, 0.375][:hosts]
    parts, alone = [], []
    for values in tensors(hosts, count, dtype):
        parts.append(torch.empty(codec.num_bytes(count), dtype=torch.uint8))
        codec.encode(values, parts[-1], None)
        alone.append(torch.empty(count, dtype=dtype))
        codec.add_up([parts[-1]], [weights[len(parts) - 1]], alone[-1])
    expected = alone[0]
    for part in alone[1:]:
        expected = expected + part
    found = torch.empty(count, dtype=dtype)
    codec.add_up(parts, weights, found)
    assert torch.equal(found, expected)
