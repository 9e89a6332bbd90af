"""Gradients of matrices that travel as two factors are those that travel whole."""

from __future__ import annotations

import pytest

from multiprocess.factor_workers import MOST, MOST_OF_THREE_HOSTS, WIDTH
from support.job import run_job

HERE = "multiprocess.factor_workers"
LIMIT = 1e-12  # in float64
PLACES = ["shm", "hosts"]
on_places = pytest.mark.parametrize("place", PLACES)
WHOLE = 2 * WIDTH * WIDTH * 8  # bytes of the gradients of both matrices


@on_places
@pytest.mark.parametrize("world_size", [2, 3])
@pytest.mark.parametrize(
    "way", ["", "twice", "also otherwise", "recomputed", "skipped"], ids=lambda way: way or "once"
)
def test_ways_to_use_a_weight(pool, way, world_size, place):
    counts = [8] * world_size
    found = run_job(pool, f"{HERE}:ways", world_size, place=place, counts=counts, way=way)
    assert max(max(off) for off, _, _ in found) < LIMIT
    assert len({digest for _, _, digest in found}) == 1  # the same bits everywhere
    if not way:
        for _, num_bytes, _ in found:  # also in the first round: bits do not depend on it
            assert max(num_bytes) < WHOLE / 10


@pytest.mark.parametrize(
    ("place", "most", "counts"),
    [
        (place, most, counts)
        for place, most in (("shm", MOST), ("hosts", MOST_OF_THREE_HOSTS))
        for counts in ([8, 5, 1], [most, most + 1, 3], [most + 1] * 3)
    ],
)
def test_any_number_of_samples(pool, place, most, counts):
    """One that has too many for factors makes all add up whole gradients; those that have some have
    brought them in vain.
    """
    found = run_job(pool, f"{HERE}:ways", 3, place=place, counts=counts)
    for count, (off, num_bytes, _) in zip(counts, found, strict=True):
        assert max(off) < LIMIT
        factors = 2 * 2 * WIDTH * 8 * count if count <= most else 0
        whole = 0 if max(counts) <= most else WHOLE
        # beside both are the gradient of a bias, and flags
        assert all(0 < size - factors - whole < 2 * WIDTH * 8 for size in num_bytes)
    assert len({digest for _, _, digest in found}) == 1


@on_places
def test_bits_depend_on_the_samples_of_the_round_alone(pool, place):
    for first, whole, one, again in run_job(pool, f"{HERE}:changing", 2, place=place):
        assert first == again
        assert len({first, whole, one}) == 3


@on_places
def test_a_hook_sees_the_gradient_and_may_change_it(pool, place):
    for off, seen_off in run_job(pool, f"{HERE}:hooked", 2, place=place):
        assert off < LIMIT
        assert seen_off < LIMIT


@on_places
def test_gradients_that_are_added_to(pool, place):
    for off in run_job(pool, f"{HERE}:accumulated", 2, place=place):
        assert max(off) < LIMIT


@on_places
def test_gradients_that_are_asked_for(pool, place):
    for are_own, off in run_job(pool, f"{HERE}:asked_for", 2, place=place):
        assert are_own
        assert off < LIMIT


@on_places
def test_a_backward_that_fails(pool, place):
    assert max(run_job(pool, f"{HERE}:failed", 2, place=place)) < LIMIT


@on_places
def test_a_backward_that_fails_after_which_one_rank_clears(pool, place):
    cleared, kept = run_job(pool, f"{HERE}:cleared", 2, place=place)
    assert cleared is None
    assert kept < LIMIT


@on_places
def test_factors_under_way_are_not_replaced(pool, place):
    assert run_job(pool, f"{HERE}:too_late", 2, place=place) == [[True], [True]]


@pytest.mark.parametrize("has_bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("shape", [(8,), (2, 4), (2, 1, 4)], ids=str)
@pytest.mark.parametrize("place", ["shm", "hosts ab"])
def test_layers_of_paddle(pool, place, shape, has_bias):
    for off, num_bytes in run_job(
        pool, f"{HERE}:face", 2, place=place, shape=shape, has_bias=has_bias
    ):
        assert off < 1e-5
        assert num_bytes < WIDTH * WIDTH * 4 / 10


def test_a_product_that_fails_is_made_in_the_next_forward(pool):
    (first, off), (second, other_off) = run_job(pool, f"{HERE}:unlucky", 2)
    assert first == second
    assert max(off, other_off) < LIMIT


def test_a_gradient_that_is_sent_at_the_end_is_known_to_be_waited_for(pool):
    """So that its next ones are packed where the wire is slow."""
    assert run_job(pool, f"{HERE}:in_vain", 2) == [1, 1]


@pytest.mark.parametrize("method", ["_wait_at", "start"])
def test_hosts_one_of_which_gives_up_in_a_round(pool, method):
    """It has told the others half of it: nobody goes on."""
    (lost, why), (_, given_up) = run_job(pool, f"{HERE}:giving_up", 2, method=method)
    assert lost == "PeerLost"
    assert "rank 1 gave up: " in why
    for text in (why, given_up):
        assert "was given up: MemoryError('on purpose')" in text


@on_places
def test_a_rank_that_is_killed_after_its_factors_came(pool, place):
    *survivors, _ = run_job(pool, f"{HERE}:killed", 3, place=place, may_die=(2,))
    for message, waited in survivors:
        assert "rank 2" in message
        if place == "shm":
            assert "the average of gradients in backward #" in message
        assert waited < 2.0


def test_hosts_with_other_numbers_of_threads_send_gradients_whole(pool):
    """Their products might have other bits."""
    for factored, differing, whole in run_job(pool, f"{HERE}:threaded", 2):
        assert factored != whole
        assert differing == whole


def test_hosts_that_round_products_differently(pool):
    for alike, different, threads in run_job(pool, f"{HERE}:rounding", 2):
        assert alike == ""
        assert different == "the hosts' processors round products differently"
        assert threads == "the hosts compute with 1 and 2 threads: set OMP_NUM_THREADS alike on all"


@pytest.mark.parametrize("backend", ["hosts aab", "hosts ab"])
def test_where_nobody_asked_or_hosts_have_several_ranks(pool, backend):
    """Gradients go between hosts as they are."""
    world_size = len(backend.split()[1])
    is_asked = world_size == 3
    found = run_job(pool, f"{HERE}:unasked", world_size, backend=backend, is_asked=is_asked)
    for off, num_bytes, why in found:
        assert off < LIMIT
        assert num_bytes >= WHOLE
        assert why == ("there are hosts with several ranks" if is_asked else "")
