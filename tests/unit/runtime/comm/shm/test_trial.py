"""Which of two ways stays."""

from __future__ import annotations

import pytest

from argosy.runtime.comm.backends.shm.trial import Trial


def tried(usual_ns: int, other_ns: int) -> tuple[Trial, list[bool]]:
    """A trial that is over, and the ways it went; one turn of each took far longer."""
    trial, ways = Trial(), []
    while not trial.is_over:
        ways.append(trial.way)
        late = 10**9 if len(ways) in (5, 6) else 0
        trial.note((other_ns if trial.way else usual_ns) + late)
    return trial, ways


@pytest.mark.parametrize(("usual_ns", "other_ns"), [(100, 90), (90, 100)])
def test_the_faster_way_stays(usual_ns, other_ns):
    trial, ways = tried(usual_ns, other_ns)
    assert trial.way is (other_ns < usual_ns)
    assert ways == [False, True] * (len(ways) // 2)


def test_of_two_alike_the_usual_one_stays():
    trial, _ = tried(100, 100)
    assert trial.way is False
