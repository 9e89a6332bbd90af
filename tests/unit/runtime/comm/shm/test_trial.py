"""Which of two ways stays."""

from __future__ import annotations

import statistics

import pytest

from argosy.runtime.comm.backends.shm.trial import Trial


def tried(usual_ns: int, other_ns: int, judge=statistics.median) -> tuple[Trial, list[bool]]:
    """A trial that is over, and the ways it went; one turn of each took far longer."""
    trial, ways = Trial(18, judge), []
    while not trial.is_over:
        ways.append(trial.way)
        late = 10**9 if len(ways) in (5, 6) else 0
        trial.note((other_ns if trial.way else usual_ns) + late)
    return trial, ways


@pytest.mark.parametrize("judge", [statistics.median, min])
@pytest.mark.parametrize(("usual_ns", "other_ns"), [(100, 90), (90, 100)])
def test_the_faster_way_stays(usual_ns, other_ns, judge):
    trial, ways = tried(usual_ns, other_ns, judge)
    assert trial.way is (other_ns < usual_ns)
    assert ways == [False, True] * 9


def test_of_two_alike_the_usual_one_stays():
    trial, _ = tried(100, 100)
    assert trial.way is False


def test_times_that_do_not_count_are_turns_all_the_same():
    trial, ways = Trial(6, min), []
    for took_ns, counts in [
        (50, True),
        (10, False),
        (60, True),
        (70, True),
        (1, False),
        (9, False),
    ]:
        ways.append(trial.way)
        trial.note(took_ns, counts)
    assert ways == [False, True] * 3
    assert trial.is_over
    assert trial.way is False


def test_a_way_without_a_time_is_not_chosen():
    trial = Trial(4, min)
    for counts in (False, True, False, True):
        trial.note(10, counts)
    assert trial.is_over
    assert trial.way is False


def test_without_turns_the_usual_way_stays():
    trial = Trial(0, min)
    assert trial.is_over
    assert trial.way is False
