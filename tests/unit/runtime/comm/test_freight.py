"""Hosts that exchange buckets by their threads: several in one process, joined by real
connections; one that does what no host should.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from argosy.foundation.errors import CollectiveMismatch, CommError, PeerLost
from argosy.runtime.comm.backends import freight as freight_module
from argosy.runtime.comm.backends.cargo import Cargo
from argosy.runtime.comm.backends.freight import Freight
from argosy.runtime.comm.backends.shm.care import poll
from argosy.runtime.parallel.compression import HalfCodec
from argosy.runtime.parallel.quantised import Int8Codec
from support.freights import beside_a_stranger, freights

COUNT = 700_000  # of elements: several parcels, the last one short


def numbers(host: int, step: int, count: int = COUNT) -> torch.Tensor:
    return torch.from_numpy(np.random.RandomState(10 * step + host).normal(size=count)).float()


def weighted_sum(parts: Sequence[torch.Tensor], weights: Sequence[float]) -> torch.Tensor:
    total = parts[0] * weights[0]
    for part, weight in zip(parts[1:], weights[1:], strict=True):
        total = total + part * weight
    return total


def let_pack(freight: Freight) -> list[int]:
    """Have a host take its connections for slow; returns a list that gets the packed sizes."""
    sizes: list[int] = []
    for link in freight._links.values():
        link.pace.note = lambda *args: None  # type: ignore[method-assign]
        link.pace.is_slow = True
        pack = link.packed_out.pack

        def counted(view: memoryview, dtype: torch.dtype, pack: Any = pack) -> Any:
            found = pack(view, dtype)
            sizes.append(view.nbytes if found is None else found.nbytes)
            return found

        link.packed_out.pack = counted  # type: ignore[method-assign]
    return sizes


@pytest.mark.parametrize("packers", [(), (0,), (0, 1, 2)], ids=["none", "one", "all"])
@pytest.mark.parametrize("weights", [[0.25, 0.75], [0.5, 0.125, 0.375]], ids=["two", "three"])
def test_the_sum_is_the_same_whoever_packs(rendezvous, weights, packers):
    """The first round was not waited for, two others were."""
    hosts = len(weights)
    values = [torch.empty(COUNT) for _ in weights]
    with freights(hosts, rendezvous) as ends:
        sizes = [let_pack(ends[h]) for h in packers if h < hosts]
        for h, freight in enumerate(ends):
            freight.add(Cargo(0, values[h], h, weights))
        for step in range(3):
            for h, freight in enumerate(ends):
                values[h].copy_(numbers(h, step))
                freight.start(0)
            for freight in ends:
                freight.wait(0, "the test")
                freight._trips[0].is_awaited = True
            expected = weighted_sum([numbers(h, step) for h in range(hosts)], weights)
            for value in values:
                assert torch.equal(value, expected)
        sent = 2 * 4 * COUNT * 2 * (hosts - 1) // hosts  # in two rounds
        assert all(0.8 * sent < sum(found) < 0.9 * sent for found in sizes)


@pytest.mark.parametrize(("wire", "share"), [(torch.float16, 0.9), (torch.bfloat16, 0.72)])
@pytest.mark.parametrize("weights", [[0.25, 0.75], [0.5, 0.125, 0.375]], ids=["two", "three"])
def test_sums_of_halves_are_the_same_whoever_packs(rendezvous, weights, wire, share):
    """Host 0 packs; the last numbers travel as they are."""
    hosts, num_exact = len(weights), 5
    values = [torch.empty(COUNT) for _ in weights]
    seen = []
    for packs in (False, True):
        with freights(hosts, rendezvous) as ends:
            sizes = let_pack(ends[0]) if packs else []
            for h, freight in enumerate(ends):
                freight.add(Cargo(0, values[h], h, weights, HalfCodec(wire), num_exact))
                freight._trips[0].is_awaited = True
            for h, freight in enumerate(ends):
                values[h].copy_(numbers(h, 0))
                freight.start(0)
            for freight in ends:
                freight.wait(0, "the test")
        assert all(torch.equal(value, values[0]) for value in values)
        seen.append(values[0].clone())
        exact = [numbers(h, 0)[-num_exact:] for h in range(hosts)]
        assert torch.equal(values[0][-num_exact:], weighted_sum(exact, weights))
    assert torch.equal(*seen)
    sent = 2 * COUNT * 2 * (hosts - 1) // hosts
    assert (share - 0.1) * sent < sum(sizes) < share * sent


@pytest.mark.parametrize("weights", [[0.25, 0.75], [0.5, 0.125, 0.375]], ids=["two", "three"])
def test_sums_of_levels_are_the_same_whoever_packs(rendezvous, monkeypatch, weights):
    """Host 0 packs; scales and the last numbers travel as they are."""
    monkeypatch.setattr(freight_module, "_BUSY_BYTES", 0)
    hosts, num_exact = len(weights), 5
    values = [torch.empty(COUNT) for _ in weights]
    seen = []
    for packs in (False, True):
        with freights(hosts, rendezvous) as ends:
            sizes = let_pack(ends[0]) if packs else []
            for h, freight in enumerate(ends):
                freight.add(Cargo(0, values[h], h, weights, Int8Codec(), num_exact))
                freight._trips[0].is_awaited = True
            for step in range(2):
                for h, freight in enumerate(ends):
                    values[h].copy_(numbers(h, step))
                    freight.start(0)
                for freight in ends:
                    freight.wait(0, "the test")
        assert all(torch.equal(value, values[0]) for value in values)
        seen.append(values[0].clone())
    assert torch.equal(*seen)
    sent = 2 * COUNT * 2 * (hosts - 1) // hosts  # in two rounds
    assert 0.85 * sent < sum(sizes) < 0.95 * sent


def test_levels_are_not_packed_while_the_wire_is_idle(rendezvous):
    """Numbers of 32 bits are: that takes less time."""
    for codec, is_packed in ((Int8Codec(), False), (None, True)):
        values = [torch.ones(100_000), torch.ones(100_000)]
        with freights(2, rendezvous) as ends:
            sizes = let_pack(ends[0])
            for h, freight in enumerate(ends):
                freight.add(Cargo(0, values[h], h, [0.5, 0.5], codec))
                freight._trips[0].is_awaited = True
                freight.start(0)
            for freight in ends:
                freight.wait(0, "the test")
        assert bool(sizes) == is_packed


def test_the_rank_sends_the_first_messages(rendezvous):
    """Here the thread never comes to run."""
    values = [numbers(h, 0) for h in (0, 1)]
    with freights(2, rendezvous) as (first, second):
        for h, freight in enumerate((first, second)):
            freight.add(Cargo(0, values[h], h, [0.5, 0.5]))
        first._thread = threading.current_thread()  # as if it had been started
        first.start(0)
        ride = second._trips[0].rides[0]
        second.start(0)
        assert poll(lambda: 0 in ride.came[0] or not ride.is_open, limit_s=10)
        first._thread = None


def test_what_is_packed_waits_until_the_rank_has_time(rendezvous):
    values = [numbers(h, 0) for h in (0, 1)]
    with freights(2, rendezvous) as (first, second):
        let_pack(first)
        for h, freight in enumerate((first, second)):
            freight.add(Cargo(0, values[h], h, [0.5, 0.5]))
            freight._trips[0].is_awaited = True
        second.start(0)
        first.start(0)
        trip = second._trips[0]
        assert poll(lambda: len(second._put_off) == len(trip.rides), limit_s=10)
        assert not trip.done.is_set()
        second.attend([0])  # from now on the thread may be done at any moment
        second.wait(0, "the test")
        first.wait(0, "the test")
        assert second.attend([0])
        expected = weighted_sum([numbers(h, 0) for h in (0, 1)], [0.5, 0.5])
        assert all(torch.equal(value, expected) for value in values)


def test_who_had_to_wait_packs_the_next_time(rendezvous):
    values = [torch.zeros(10), torch.zeros(10)]
    with freights(2, rendezvous) as (first, second):
        for h, freight in enumerate((first, second)):
            freight.add(Cargo(0, values[h], h, [0.5, 0.5]))
        first.start(0)
        first.expect([0])
        second.start(0)
        first.wait(0, "the test")
        second.wait(0, "the test")
        second.expect([0])
        assert first._trips[0].is_awaited
        assert not second._trips[0].is_awaited


# -- a host that does what none should
# --------------------------------------------------------------------------------------------------


def message(
    body: bytes, cargo: Cargo, *, leg: int = 0, parcel: int = 0, packed: int = 0, size: int = -1
) -> bytes:
    size = len(body) if size < 0 else size
    return struct.pack("<9q", 0, 1, leg, *cargo.form, parcel, packed, size) + body


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_host_that_dies_within_a_message(rendezvous, is_packed):
    with beside_a_stranger(rendezvous) as (freight, sock):
        cargo = Cargo(0, torch.zeros(100_000), 0, [0.5, 0.5])
        freight.add(cargo)
        freight.start(0)
        size = 300_000 if is_packed else 400_000
        sock.sendall(message(b"\1" * 150_000, cargo, packed=is_packed, size=size))
        sock.close()
        with pytest.raises(PeerLost, match=r"rank 1 .*exited or left the group"):
            freight.wait(0, "the test")


BAD = {
    "too long": {"size": 400_001},
    "too short": {"size": 399_999},
    "negative": {"size": -5},
    "a packed one that is longer": {"packed": 1, "size": 400_000},
    "an empty packed one": {"packed": 1, "size": 0},
    "a parcel that is not there": {"parcel": 1, "size": 400_000},
    "a parcel before the first": {"parcel": -1, "size": 400_000},
    "a leg that is not there": {"leg": 1, "size": 400_000},
}


@pytest.mark.parametrize("what", BAD)
def test_a_head_that_cannot_be(rendezvous, what):
    with beside_a_stranger(rendezvous) as (freight, sock):
        cargo = Cargo(0, torch.zeros(100_000), 0, [0.5, 0.5])
        freight.add(cargo)
        freight.start(0)
        fields = {"leg": 0, "parcel": 0, "packed": 0, **BAD[what]}
        head = (0, 1, fields["leg"], *cargo.form, *map(fields.get, ("parcel", "packed", "size")))
        sock.sendall(struct.pack("<9q", *head))
        with pytest.raises(CommError, match=r"rank 1 .*sent a message that cannot be read"):
            freight.wait(0, "the test")


def test_packed_bytes_that_are_none(rendezvous):
    with beside_a_stranger(rendezvous) as (freight, sock):
        cargo = Cargo(0, torch.zeros(100_000), 0, [0.5, 0.5])
        freight.add(cargo)
        freight.start(0)
        sock.sendall(message(b"\7" * 1000, cargo, packed=1))
        with pytest.raises(CommError, match=r"rank 1 .*sent a message that cannot be read"):
            freight.wait(0, "the test")


def test_packed_levels_that_are_none(rendezvous):
    with beside_a_stranger(rendezvous) as (freight, sock):
        cargo = Cargo(0, torch.zeros(100_000), 0, [0.5, 0.5], Int8Codec())
        freight.add(cargo)
        freight.start(0)
        sock.sendall(message(b"\xff" * 90_000, cargo, packed=1))
        with pytest.raises(CommError, match=r"rank 1 .*sent a message that cannot be read"):
            freight.wait(0, "the test")


def test_another_form(rendezvous):
    with beside_a_stranger(rendezvous) as (freight, sock):
        freight.add(Cargo(0, torch.zeros(1000), 0, [0.5, 0.5]))
        other = Cargo(0, torch.zeros(1000), 1, [0.5, 0.5], HalfCodec(torch.float16))
        freight.start(0)
        sock.sendall(message(b"\0" * 2000, other))
        with pytest.raises(CollectiveMismatch, match=r"float32\[1000\] as they are .* in form 16"):
            freight.wait(0, "the test")
