"""Which way to write a rank chooses, with an exchange that takes as long as it is told."""

from __future__ import annotations

import pytest

from argosy.runtime.comm.backends.shm import trial
from argosy.runtime.comm.backends.shm.trial import TRIAL_BYTES, Trial


class Exchange:
    """Takes ``times_ns[streams]`` of a clock of its own."""

    def __init__(self, found: Trial, monkeypatch, cached_ns: int, streamed_ns: int) -> None:
        self.now_ns = 0
        self.ways: list[bool] = []
        self.counts = True
        self.times_ns = {False: cached_ns, True: streamed_ns}
        self._trial = found
        monkeypatch.setattr(trial.time, "perf_counter_ns", lambda: self.now_ns)

    def __call__(self) -> bool:
        self.ways.append(self._trial.streams)
        self.now_ns += self.times_ns[self._trial.streams]
        return self.counts


@pytest.mark.parametrize(("cached_ns", "streamed_ns"), [(40, 20), (20, 40)])
def test_the_faster_way_is_chosen(monkeypatch, cached_ns, streamed_ns):
    found = Trial(world_size=2)
    exchange = Exchange(found, monkeypatch, cached_ns, streamed_ns)
    found.follow(TRIAL_BYTES, exchange)
    assert exchange.ways == [False, False, True, True]
    assert found.streams == (streamed_ns < cached_ns)


def test_the_shortest_time_of_all_trials_counts(monkeypatch):
    found = Trial(world_size=2)
    exchange = Exchange(found, monkeypatch, 40, 500)  # held up
    found.follow(TRIAL_BYTES, exchange)
    assert not found.streams
    exchange.times_ns = {False: 900, True: 30}
    found.follow(TRIAL_BYTES, exchange)
    assert found.streams


def test_times_that_do_not_count_are_left_out(monkeypatch):
    found = Trial(world_size=2)
    exchange = Exchange(found, monkeypatch, 10, 5)
    exchange.counts = False
    found.follow(TRIAL_BYTES, exchange)
    assert not found.streams
    exchange.counts, exchange.times_ns = True, {False: 20, True: 30}
    found.follow(TRIAL_BYTES, exchange)
    assert not found.streams


def test_every_rank_tries_as_often_whatever_it_finds(monkeypatch):
    numbers = []
    for counts in (False, True):
        found = Trial(world_size=2)
        exchange = Exchange(found, monkeypatch, 10, 5)
        exchange.counts = counts
        for _ in range(20):
            found.follow(TRIAL_BYTES - 1, exchange)
            found.follow(TRIAL_BYTES, exchange)
        numbers.append(len(exchange.ways))
    assert numbers == [32, 32]
    assert found.streams


def test_one_rank_tries_nothing(monkeypatch):
    found = Trial(world_size=1)
    exchange = Exchange(found, monkeypatch, 40, 20)
    found.follow(TRIAL_BYTES, exchange)
    assert not exchange.ways
