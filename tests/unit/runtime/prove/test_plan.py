"""Plans of faults: seeded, over the moments that the undisturbed run had."""

from __future__ import annotations

import signal

import pytest

from argosy.runtime.prove import plan
from argosy.runtime.prove.plan import Course, draw

STEP = {"data": 1, "backward": 2, "update": 1}
SAVING = {**STEP, "checkpoint.file": 1, "checkpoint.rename": 1}
COURSES = {
    f"rank {rank}": Course([STEP] * 9 + [SAVING] + [STEP] * 10, {"checkpoint.rename": 1})
    for rank in range(2)
}
PHASES = {"start-up", "data", "backward", "update", "anywhere", "checkpoint", "end"}


def test_a_seed_is_a_plan():
    assert draw(7, 20, COURSES, []) == draw(7, 20, COURSES, [])
    assert draw(7, 20, COURSES, []) != draw(8, 20, COURSES, [])


@pytest.mark.parametrize("seed", range(20))
def test_every_fault_is_a_moment_of_the_undisturbed_run(seed):
    faults = draw(seed, 30, COURSES, ["server 0"])
    assert [fault.number for fault in faults] == list(range(1, 31))
    due = [fault.step for fault in faults if fault.place != plan.START]
    assert due == sorted(due)
    for fault in faults:
        if fault.place in (plan.START, plan.END):
            continue
        assert fault.watcher in COURSES
        course = COURSES[fault.watcher]
        if fault.place == plan.ANYWHERE:
            assert 2 <= fault.step <= 20  # the first step's length is that of the start
            assert 0 <= fault.share <= 1
            continue
        places = [*course.steps, course.end][fault.step - 1]
        assert 1 <= fault.visit <= places[fault.place]


def test_a_few_faults_have_every_phase_and_every_kind_of_victim():
    faults = draw(3, len(PHASES), COURSES, ["server 0", "server 1"])
    assert {fault.phase for fault in faults} == PHASES
    victims = {fault.victim.split()[0] for fault in faults}
    assert victims == {"rank", "launcher", "server"}


def test_some_faults_are_preemptions_and_most_are_kills():
    faults = draw(0, 200, COURSES, [])
    kills = sum(fault.signal == signal.SIGKILL for fault in faults)
    assert 120 < kills < 180
    assert {fault.signal for fault in faults} == {signal.SIGKILL, signal.SIGTERM}


def test_a_server_is_killed_at_its_own_start():
    faults = draw(0, 200, COURSES, ["server 0"])
    starts = [f for f in faults if f.place == plan.START and f.victim == "server 0"]
    assert starts
    assert {fault.watcher for fault in starts} == {"server 0"}


def test_the_end_is_the_last_to_come():
    faults = draw(5, 60, COURSES, [])
    ends = [fault.place == plan.END for fault in faults]
    assert ends == sorted(ends)
