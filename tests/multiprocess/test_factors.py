"""Gradients of matrices that travel as two factors are those that travel whole."""

from __future__ import annotations

import pytest

from multiprocess.factor_workers import MOST, WIDTH
from support.job import run_job

HERE = "multiprocess.factor_workers"
LIMIT = 1e-12  # in float64
WHOLE = 2 * WIDTH * WIDTH * 8  # bytes of the gradients of both matrices


@pytest.mark.parametrize("world_size", [2, 3])
@pytest.mark.parametrize(
    "way", ["", "twice", "also otherwise", "recomputed", "skipped"], ids=lambda way: way or "once"
)
def test_ways_to_use_a_weight(pool, way, world_size):
    found = run_job(pool, f"{HERE}:ways", world_size, counts=[8] * world_size, way=way)
    assert max(max(off) for off, _, _ in found) < LIMIT
    assert len({digest for _, _, digest in found}) == 1  # the same bits everywhere
    if not way:
        for _, num_bytes, _ in found:  # also in the first round: bits do not depend on it
            assert max(num_bytes) < WHOLE / 10


@pytest.mark.parametrize("counts", [[8, 5, 1], [MOST, MOST + 1, 3], [MOST + 1, MOST + 1, MOST + 1]])
def test_any_number_of_samples(pool, counts):
    """One that has too many for factors makes all add up whole gradients."""
    found = run_job(pool, f"{HERE}:ways", 3, counts=counts)
    for count, (off, num_bytes, _) in zip(counts, found, strict=True):
        assert max(off) < LIMIT
        assert all((size < WHOLE) == (count <= MOST) for size in num_bytes)
    assert len({digest for _, _, digest in found}) == 1


def test_bits_depend_on_the_samples_of_the_round_alone(pool):
    for first, whole, one, again in run_job(pool, f"{HERE}:changing", 2):
        assert first == again
        assert len({first, whole, one}) == 3


def test_a_hook_sees_the_gradient_and_may_change_it(pool):
    for off, seen_off in run_job(pool, f"{HERE}:hooked", 2):
        assert off < LIMIT
        assert seen_off < LIMIT


def test_gradients_that_are_added_to(pool):
    for off in run_job(pool, f"{HERE}:accumulated", 2):
        assert max(off) < LIMIT


def test_gradients_that_are_asked_for(pool):
    for are_own, off in run_job(pool, f"{HERE}:asked_for", 2):
        assert are_own
        assert off < LIMIT


def test_a_backward_that_fails(pool):
    assert max(run_job(pool, f"{HERE}:failed", 2)) < LIMIT


def test_a_backward_that_fails_after_which_one_rank_clears(pool):
    cleared, kept = run_job(pool, f"{HERE}:cleared", 2)
    assert cleared is None
    assert kept < LIMIT


def test_factors_under_way_are_not_replaced(pool):
    assert run_job(pool, f"{HERE}:too_late", 2) == [[True], [True]]


def test_layers_of_paddle(pool):
    for off, num_bytes in run_job(pool, f"{HERE}:face", 2):
        assert off < 1e-5
        assert num_bytes < WIDTH * WIDTH * 4 / 10


def test_a_rank_that_is_killed_after_its_factors_came(pool):
    *survivors, _ = run_job(pool, f"{HERE}:killed", 3, may_die=(2,))
    for message, waited in survivors:
        assert "rank 2" in message
        assert "the average of gradients in backward #" in message
        assert waited < 2.0
