"""Hosts that send each other the factors of a gradient, in one process, joined by real connections;
one that sends what no host should.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from argosy.foundation.errors import CollectiveMismatch, CommError
from argosy.runtime.comm.backends.cargo import Cargo
from argosy.runtime.comm.backends.factor_cargo import FactorCargo, FactorParcel
from argosy.runtime.comm.backends.hierarchical_bucket import FactoredHierarchicalBucket
from argosy.runtime.comm.backends.loopback import LoopbackBackend
from argosy.runtime.comm.bucket import Bucket
from argosy.runtime.comm.factors import is_gain, most_samples
from support.freights import beside_a_stranger, freights

SHAPE = (192, 320)
MOST = 30  # samples between two hosts
SAMPLE_BYTES = 4 * sum(SHAPE)


def factors_of(host: int, step: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    draw = np.random.RandomState(100 * step + host)
    left, right = (torch.from_numpy(draw.normal(size=(count, extent))).float() for extent in SHAPE)
    return left, right


def mean_of(step: int, counts: list[int]) -> torch.Tensor:
    products = [
        a.double().t() @ b.double() for a, b in map(factors_of, range(9), [step] * 9, counts)
    ]
    return sum(products) / len(counts)


def cargoes(hosts: int) -> list[FactorCargo]:
    return [FactorCargo(0, SHAPE, torch.float32, h, hosts) for h in range(hosts)]


@pytest.mark.parametrize("hosts", [2, 3])
def test_the_mean_of_products_has_the_same_bits_everywhere(rendezvous, hosts):
    found = cargoes(hosts)
    with freights(hosts, rendezvous) as ends:
        for freight, cargo in zip(ends, found, strict=True):
            freight.add(cargo)
        for step, counts in enumerate([[7, 20, 1], [20, 3, 20], [1, 0, 20], [0, 0, 0]]):
            outs = [torch.empty(SHAPE) for _ in range(hosts)]
            for h, freight in enumerate(ends):
                assert found[h].factors.offer(*factors_of(h, step, counts[h]))
                freight.start(0)
            for h, freight in enumerate(ends):
                freight.wait(0, "the test")
                assert found[h].factors.can_multiply()
                found[h].factors.multiply(outs[h])
            assert all(torch.equal(out, outs[0]) for out in outs)
            wanted = mean_of(step, counts[:hosts])
            torch.testing.assert_close(outs[0].double(), wanted, rtol=1e-5, atol=1e-5)


def test_a_host_that_is_a_round_ahead_does_not_overwrite_what_is_not_read_yet(rendezvous):
    first, second = cargoes(2)
    out = torch.empty(SHAPE)
    with freights(2, rendezvous) as ends:
        for freight, cargo in zip(ends, (first, second), strict=True):
            freight.add(cargo)
        for step in range(3):
            first.factors.offer(*factors_of(0, step, 5))
            ends[0].start(0)
            if step:
                # the first host's next factors have come before the second has read the last
                came = second.parcels[0]._sizes[second.factors._turn]
                while 0 not in ends[1]._trips[0].rides[0].came[0]:
                    ends[1]._trips[0].done.wait(0.01)
                assert came[0] == 16 + 5 * SAMPLE_BYTES
                second.factors.multiply(out)
                wanted = mean_of(step - 1, [5, 6])
                torch.testing.assert_close(out.double(), wanted, rtol=1e-5, atol=1e-5)
            second.factors.offer(*factors_of(1, step, 6))
            ends[1].start(0)
            for freight in ends:
                freight.wait(0, "the test")
            first.factors.multiply(torch.empty(SHAPE))


def test_hosts_without_factors_do_not_multiply(rendezvous):
    found = cargoes(2)
    with freights(2, rendezvous) as ends:
        for freight, cargo in zip(ends, found, strict=True):
            freight.add(cargo)
        for has_factors in ((True, False), (True, True), (False, False)):
            for h, freight in enumerate(ends):
                found[h].factors.withdraw()
                if has_factors[h]:
                    found[h].factors.offer(*factors_of(h, 0, 4))
                freight.start(0)
            for h, freight in enumerate(ends):
                freight.wait(0, "the test")
                assert found[h].factors.can_multiply() == all(has_factors)


def test_too_many_samples_are_not_taken():
    parcel = cargoes(2)[0].factors
    assert parcel.most == MOST
    assert parcel.offer(*factors_of(0, 0, MOST))
    assert not parcel.offer(*factors_of(0, 0, MOST + 1))


@pytest.mark.parametrize(
    ("head", "num_bytes", "packed"),
    [
        ((1, 1), 16 + SAMPLE_BYTES + 4, 0),
        ((1, 1), 16 + (MOST + 1) * SAMPLE_BYTES, 0),
        ((1, 1), 8, 0),
        ((1, 1), -16, 0),
        ((0, 1), 16 + SAMPLE_BYTES, 0),
        ((2, 1), 16, 0),
        ((1, 0), 16, 0),
        ((1, 1), 16 + SAMPLE_BYTES, 1),
    ],
    ids=[
        *("part of a sample", "too many samples", "no head", "negative", "none, and some"),
        *("neither", "no threads", "packed"),
    ],
)
def test_messages_that_cannot_be(rendezvous, head, num_bytes, packed):
    cargo = cargoes(2)[0]
    with beside_a_stranger(rendezvous) as (freight, sock):
        freight.add(cargo)
        cargo.factors.offer(*factors_of(0, 0, 1))
        freight.start(0)
        body = struct.pack("<2q", *head).ljust(max(num_bytes, 0), b"\0")[: max(num_bytes, 0)]
        sock.sendall(struct.pack("<9q", 0, 1, 0, *cargo.form, 0, packed, num_bytes) + body)
        with pytest.raises(CommError, match=r"rank 1 .*sent a message that cannot be read"):
            freight.wait(0, "the test")


def test_a_host_that_sends_gradients_whole(rendezvous):
    cargo = cargoes(2)[0]
    other = Cargo(0, torch.zeros(SHAPE[0] * SHAPE[1]), 1, [0.5, 0.5])
    with beside_a_stranger(rendezvous) as (freight, sock):
        freight.add(cargo)
        freight.start(0)
        sock.sendall(struct.pack("<9q", 0, 1, 0, *other.form, 0, 0, 16) + bytes(16))
        with pytest.raises(CollectiveMismatch, match=r"in form 2 .* as they are"):
            freight.wait(0, "the test")


class Sent:
    """What a bucket asks its group for; everything that is sent comes at once."""

    def __init__(self) -> None:
        self.places: list[int] = []

    def has_host_mean(self, bucket: Bucket) -> bool:
        return True

    def send_bucket(self, place: int) -> None:
        self.places.append(place)

    def is_over(self, place: int) -> bool:
        return place in self.places

    def drop_bucket(self, place: int) -> None:
        """There is nothing to forget."""

    def finish_buckets(self, buckets: Sequence[Bucket]) -> None:
        raise AssertionError("nobody waits here")


def bucket_and_message(count: int | None) -> tuple[FactoredHierarchicalBucket, Sent, torch.Tensor]:
    """The bucket of host 0 at places 4 and 5, and its tensor as a matrix; the other host has sent
    the factors of ``count`` samples, or that it has none.
    """
    own, other = (FactorCargo(5, SHAPE, torch.float32, h, 2) for h in range(2))
    other.factors.withdraw()
    if count is not None:
        other.factors.offer(*factors_of(1, 0, count))
    [message] = other.factors.outgoing(0, 0)
    assert own.factors.expects(0, 1, len(message))
    own.factors.incoming(0, 1)[: len(message)] = message
    own.factors.unload(0)
    sent = Sent()
    local = LoopbackBackend().make_bucket(SHAPE[0] * SHAPE[1] + 1, torch.float32)
    bucket = FactoredHierarchicalBucket(sent, local, 4, own, SHAPE)
    return bucket, sent, bucket.tensor[:-1].view(SHAPE)


def test_a_bucket_whose_product_fails_makes_it_the_next_time(monkeypatch):
    bucket, sent, matrix = bucket_and_message(3)
    matrix.fill_(7)
    assert bucket.offer(*factors_of(0, 0, 2))
    with monkeypatch.context() as patch:
        patch.setattr(FactorParcel, "multiply", Mock(side_effect=MemoryError("on purpose")))
        with pytest.raises(MemoryError):
            bucket.publish()
    assert (bucket.is_offered, bucket.heralds) == (True, [5])
    assert bucket.progress()
    assert (sent.places, bucket.under_way, bucket.was_multiplied) == ([5], [], True)
    assert not bucket.is_offered
    torch.testing.assert_close(matrix.double(), mean_of(0, [2, 3]), rtol=1e-5, atol=1e-5)


def test_who_has_no_factors_sends_the_gradient_at_once():
    bucket, sent, matrix = bucket_and_message(3)
    matrix.fill_(7)
    sent.is_over = lambda place: False
    bucket.publish()
    assert sent.places == bucket.under_way == [5, 4]
    bucket.settle()
    assert (sent.places, bucket.under_way, bucket.was_multiplied) == ([5, 4], [4], False)
    assert (matrix == 7).all()


def test_who_has_factors_in_vain_sends_their_product():
    bucket, sent, matrix = bucket_and_message(None)
    left, right = factors_of(0, 0, 2)
    assert bucket.offer(left, right)
    bucket.publish()
    assert (sent.places, bucket.under_way, bucket.was_multiplied) == ([5, 4], [4], False)
    torch.testing.assert_close(matrix, left.t() @ right)


def test_the_announced_number_of_threads_multiplies(monkeypatch):
    """Whoever calls; torch keeps the number by thread."""
    bucket, _, _ = bucket_and_message(3)
    before, used = torch.get_num_threads(), []
    multiply = torch.mm

    def noted(*args: Any, **kwargs: Any) -> torch.Tensor:
        used.append(torch.get_num_threads())
        return multiply(*args, **kwargs)

    monkeypatch.setattr(torch, "mm", noted)
    try:
        torch.set_num_threads(1)
        assert bucket.offer(*factors_of(0, 0, 2))
        torch.set_num_threads(2)
        bucket._factors.multiply(torch.empty(SHAPE))
        assert (used, torch.get_num_threads()) == ([1], 2)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("hosts", [2, 3, 4, 8])
@pytest.mark.parametrize("shape", [(2048, 2048), (512, 2048), (4096, 1024)])
def test_what_is_sent_is_a_quarter_at_most(shape, hosts):
    whole = 2 * shape[0] * shape[1] * (hosts - 1) / hosts
    most = most_samples(shape, hosts)
    assert (hosts - 1) * most * sum(shape) <= whole / 4 < (hosts - 1) * (most + 1) * sum(shape)


def test_which_matrices_are_a_gain():
    assert is_gain((512, 512))
    assert not is_gain((512, 511))
    assert not is_gain((512, 512), 3)
    assert not is_gain((1024, 10))
