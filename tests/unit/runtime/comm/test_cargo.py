"""What hosts send each other for a weighted sum, without a network: each gets what the others have
for it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from argosy.runtime.comm.backends.cargo import Cargo, Parcel
from argosy.runtime.parallel.compression import HalfCodec


def carried(cargoes: list[Cargo]) -> int:
    """Exchange and add up; the bytes that the first host sent."""
    every = zip(*(cargo.parcels for cargo in cargoes), strict=True)
    return sum(_carried(parcels) for parcels in every)


def _carried(parcels: Sequence[Parcel]) -> int:
    sent = 0
    for leg in range(parcels[0].num_legs):
        for parcel in parcels:
            parcel.load(leg)
        for source, target in itertools.permutations(range(len(parcels)), 2):
            data = b"".join(map(bytes, parcels[source].outgoing(leg, target)))
            sent += len(data) if source == 0 else 0
            room = parcels[target].incoming(leg, source)
            assert room.nbytes == len(data)
            if data:
                room[:] = data
        for parcel in parcels:
            parcel.unload(leg)
    return sent


def tensors(hosts: int, count: int, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    draw = np.random.RandomState(count)
    return [torch.from_numpy(draw.normal(size=count)).to(dtype) for _ in range(hosts)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("count", [1, 15, 1000])
@pytest.mark.parametrize("weights", [[0.25, 0.75], [0.5, 0.25, 0.25], [0.25] * 4])
def test_the_sum_is_in_the_order_of_the_hosts(weights, count, dtype):
    hosts = len(weights)
    values = tensors(hosts, count, dtype)
    parts = [v.numpy().copy() for v in values]
    expected = parts[0] * parts[0].dtype.type(weights[0])
    for part, weight in zip(parts[1:], weights[1:], strict=True):
        expected = expected + part * part.dtype.type(weight)
    carried([Cargo(0, v, h, weights) for h, v in enumerate(values)])
    for value in values:
        np.testing.assert_array_equal(value.numpy(), expected)


@pytest.mark.parametrize("hosts", [2, 3, 4])
def test_a_host_sends_no_more_than_a_ring_would(hosts):
    count = 16 * 60
    cargoes = [Cargo(0, v, h, [1 / hosts] * hosts) for h, v in enumerate(tensors(hosts, count))]
    assert carried(cargoes) == 2 * count * 4 * (hosts - 1) // hosts


@pytest.mark.parametrize("hosts", [2, 3])
@pytest.mark.parametrize("wire", [torch.float16, torch.bfloat16], ids=str)
def test_halves_agree_and_the_tail_is_exact(hosts, wire):
    values = tensors(hosts, 100)
    exact = sum(v[97:].double() for v in values) / hosts
    near = sum(v.double() for v in values) / hosts
    weights = [1 / hosts] * hosts
    sent = carried(
        [Cargo(3, v, h, weights, HalfCodec(wire), num_exact=3) for h, v in enumerate(values)]
    )
    assert sent < 2 * 100 * 4
    for value in values:
        assert torch.equal(value, values[0])
    torch.testing.assert_close(values[0].double(), near, rtol=0, atol=0.05)
    torch.testing.assert_close(values[0][97:].double(), exact, rtol=1e-6, atol=1e-6)
    assert not torch.equal(values[0][:97].double(), near[:97])


def test_the_form_tells_codecs_apart():
    value = tensors(1, 8)[0]
    forms = [
        Cargo(0, value.clone(), 0, [0.5, 0.5], codec).form
        for codec in (None, HalfCodec(torch.float16), HalfCodec(torch.bfloat16))
    ]
    assert len({tuple(form) for form in forms}) == 3
