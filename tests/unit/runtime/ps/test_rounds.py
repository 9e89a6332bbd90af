import threading

import pytest

from argosy.foundation.errors import PositionUnknown, PsError, ServerUnavailable
from argosy.runtime.ps.server import rounds
from argosy.runtime.ps.server.rounds import Rounds


class Steps:
    """What was applied, by step."""

    def __init__(self, num_workers=2, patience_s=0.0):
        self.done = []
        self.rounds = Rounds(
            num_workers, self._apply, lambda: len(self.done), "table 't'", patience_s
        )

    def _apply(self, step, parts):
        assert step == len(self.done) + 1
        self.done.append(parts)

    def push(self, worker, step, part):
        """In a thread of its own; joined by reading what became of it."""
        outcome = []

        def run():
            try:
                outcome.append(self.rounds.hand_in(worker, step, part)(20.0))
            except PsError as error:
                outcome.append(error)

        thread = threading.Thread(target=run, name=f"worker-{worker}")
        thread.start()

        def result():
            thread.join(20)
            return outcome[0]

        return result


def test_a_step_is_the_parts_in_the_order_of_workers():
    steps = Steps()
    late = steps.push(1, 1, "b")
    assert steps.rounds.hand_in(0, 1, "a")(20.0) is True
    assert late() is True
    assert steps.done == [["a", "b"]]
    assert steps.rounds.hand_in(1, 1, "again")(20.0) is False


def test_without_patience_a_lost_worker_is_an_error_at_once():
    steps = Steps()
    waiting = steps.push(0, 1, "a")
    steps.rounds.lose(1)
    with pytest.raises(ServerUnavailable, match="worker 1 has gone"):
        raise waiting()
    assert steps.done == []


def test_with_patience_a_worker_comes_back_and_hands_in_its_part_again():
    steps = Steps(patience_s=20.0)
    waiting = steps.push(0, 1, "a")
    steps.rounds.lose(1)
    steps.rounds.welcome(1)
    assert steps.rounds.hand_in(1, 1, "b")(20.0) is True
    assert waiting() is True
    assert steps.done == [["a", "b"]]


def test_what_a_lost_worker_had_handed_in_is_forgotten():
    steps = Steps(patience_s=20.0)
    gone = steps.push(1, 1, "old")
    while not steps.rounds._steps:
        pass
    steps.rounds.lose(1)
    waiting = steps.push(0, 1, "a")
    steps.rounds.welcome(1)
    assert steps.rounds.hand_in(1, 1, "new")(20.0) is True
    assert (gone(), waiting()) == (True, True)
    assert steps.done == [["a", "new"]]


def test_patience_ends():
    steps = Steps(patience_s=0.05)
    waiting = steps.push(0, 1, "a")
    steps.rounds.lose(1)
    with pytest.raises(ServerUnavailable, match="worker 1 has gone"):
        raise waiting()


def test_an_error_of_applying_a_step_reaches_everybody_and_later_steps_go_on():
    steps = Steps()
    apply, steps.rounds._apply = steps.rounds._apply, lambda step, parts: 1 / 0
    outcomes = []

    def push(worker):
        try:
            steps.rounds.hand_in(worker, 1, "part")(20.0)
        except ZeroDivisionError as error:
            outcomes.append(error)

    waiting = threading.Thread(target=push, args=(0,), name="worker-0")
    waiting.start()
    while not steps.rounds._steps:
        pass
    push(1)
    waiting.join(20)
    assert len(outcomes) == 2
    steps.rounds._apply = apply
    late = steps.push(0, 1, "a")
    assert steps.rounds.hand_in(1, 1, "b")(20.0) is True
    assert late() is True


def test_a_server_that_ends_lets_nobody_wait():
    steps = Steps()
    waiting = steps.push(0, 1, "a")
    steps.rounds.close()
    with pytest.raises(ServerUnavailable, match="'t': the server is ending"):
        raise waiting()


def test_a_worker_that_goes_and_finishes_leaves_no_step_behind():
    steps = Steps(num_workers=1)
    steps.rounds._expected.add(1)
    waiting = steps.push(0, 1, "a")
    while not steps.rounds._steps:
        pass
    steps.rounds.lose(0)
    with pytest.raises(ServerUnavailable, match="worker 0 has gone"):
        raise waiting()
    for worker in (0, 1):
        steps.rounds.retire(worker)
    assert steps.done == []


def test_who_waits_for_whom_is_said_once_and_in_the_end_an_error(monkeypatch, caplog):
    monkeypatch.setattr(rounds, "_LONG_S", 0.01)
    steps = Steps(num_workers=3)
    steps.rounds.retire(2)
    with pytest.raises(
        PsError, match=r"waited in step 1 of table 't' for workers \[1\].*stop_worker"
    ):
        steps.rounds.hand_in(0, 1, "a")(0.1)
    assert [r.getMessage() for r in caplog.records] == [
        (
            "worker 0 waits in step 1 of table 't' for workers [1]; one that has no more batches "
            "calls fleet.stop_worker()"
        )
    ]


@pytest.mark.attack("a worker pushes a step whose predecessor nobody has seen")
def test_a_step_that_skips_one_is_refused_at_once():
    steps = Steps(num_workers=1)
    assert steps.rounds.hand_in(0, 1, "a")(20.0) is True
    with pytest.raises(PsError, match="pushed step 3 of table 't', but step 1 was the last"):
        steps.rounds.hand_in(0, 3, "c")(20.0)
    assert steps.rounds.hand_in(0, 2, "b")(20.0) is True


@pytest.mark.attack("a worker that was started again cannot go on: nobody waits for it")
def test_whoever_waits_for_a_worker_that_gives_up_hears_why():
    steps = Steps(patience_s=20.0)
    waiting = steps.push(0, 1, "a")
    while not steps.rounds._steps:
        pass
    steps.rounds.give_up("worker 1 has lost its place")
    with pytest.raises(PositionUnknown, match="worker 1 has lost its place"):
        raise waiting()
    with pytest.raises(PositionUnknown, match="worker 1 has lost its place"):
        steps.rounds.hand_in(0, 1, "a")(20.0)


def test_who_takes_more_steps_than_the_others_goes_on_alone():
    steps = Steps()
    late = steps.push(1, 1, "b")
    assert steps.rounds.hand_in(0, 1, "a")(20.0) is True
    assert late() is True
    waiting = steps.push(1, 2, "more")
    steps.rounds.retire(0)
    assert waiting() is True
    assert steps.rounds.hand_in(1, 3, "and more")(20.0) is True
    assert steps.done == [["a", "b"], ["more"], ["and more"]]
