"""What goes wrong on one place: told with the place, nobody hangs, nothing is left behind."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
import torch

import paddle
from argosy.foundation.errors import ArgosyError, ProgramError
from argosy.static.parallel.thread_pool import Abandoned, Barrier, ThreadPool

F = paddle.nn.functional
static = paddle.static


@pytest.fixture
def exe():
    with static.Executor(paddle.CPUPlace()) as executor:
        yield executor


def lookup(num_places):
    """A program that fails on a place where a word is out of range; returns it, its loss and a good
    feed.
    """
    word = static.data("word", [None, 1], "int64")
    loss = paddle.mean(static.nn.fc(static.nn.embedding(word, [4, 2]), 1))
    paddle.optimizer.Adam(0.1).minimize(loss)
    program = static.CompiledProgram(static.default_main_program()).with_data_parallel(
        loss.name, places=static.cpu_places(num_places)
    )
    return program, loss, {"word": np.arange(num_places)[:, None] % 4}


def threads_of(program):
    return [t for t in threading.enumerate() if t.name.startswith(f"program-{program.id}-")]


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_an_error_names_the_place_and_the_next_run_works(exe, bad):
    program, loss, feed = lookup(3)
    exe.run(static.default_startup_program())
    expected = exe.run(program, feed=feed, fetch_list=[loss])[0]
    before = {
        p.name: np.array(static.global_scope().find_var(p.name).get_tensor())
        for p in program._program.all_parameters()
    }
    wrong = {"word": feed["word"].copy()}
    wrong["word"][bad] = 99
    with pytest.raises(
        IndexError,
        match=rf"place {bad} \(Place\(cpu\)\) of 3: Executor.run: operator 0 'lookup_table_v2'",
    ):
        exe.run(program, feed=wrong, fetch_list=[loss])
    for name, value in before.items():
        np.testing.assert_array_equal(
            np.array(static.global_scope().find_var(name).get_tensor()), value
        )
    again = exe.run(program, feed=feed, fetch_list=[loss])[0]
    assert again.shape == expected.shape
    for scope in program._runner.replicas.scopes[1:]:
        for name in before:
            mine, theirs = (
                np.array(s.find_var(name).get_tensor()) for s in (scope, static.global_scope())
            )
            np.testing.assert_array_equal(mine, theirs, err_msg=name)


def test_places_are_equal_again_after_a_run_that_failed_midway(exe):
    program, _, feed = lookup(2)
    exe.run(static.default_startup_program())
    exe.run(program, feed=feed)
    name = program._program.all_parameters()[0].name
    with torch.no_grad():
        # as an update on one place alone would
        program._runner.replicas.scopes[1].find_var(name).tensor.add_(1.0)
    program._runner.replicas.forget()
    exe.run(program, feed=feed)
    mine, theirs = (
        np.array(s.find_var(name).get_tensor()) for s in program._runner.replicas.scopes
    )
    np.testing.assert_array_equal(mine, theirs)


def test_threads_are_kept_between_runs_and_end_with_close(exe):
    program, loss, feed = lookup(2)
    exe.run(static.default_startup_program())
    exe.run(program, feed=feed)
    first = threads_of(program._program)
    assert len(first) == 2
    exe.run(program, feed=feed)
    assert threads_of(program._program) == first
    program.close()
    assert threads_of(program._program) == []
    assert exe.run(program, feed=feed, fetch_list=[loss])[0].shape == (2,)
    exe.close()
    assert threads_of(program._program) == []


def test_threads_end_when_nobody_holds_the_program(exe):
    program, _, feed = lookup(2)
    exe.run(static.default_startup_program())
    exe.run(program, feed=feed)
    inner = program._program
    del program
    gc.collect()
    assert threads_of(inner) == []


def test_one_place_has_no_thread(exe):
    program, _, feed = lookup(1)
    exe.run(static.default_startup_program())
    exe.run(program, feed=feed)
    assert threads_of(program._program) == []


# -- the pool
# --------------------------------------------------------------------------------------------------


@pytest.fixture
def pool():
    made = ThreadPool(3, "test-pool")
    yield made
    made.close()


def test_threads_share_the_torch_threads_of_the_caller(pool):
    before = torch.get_num_threads()
    torch.set_num_threads(7)
    try:
        counts = [value for value, _ in pool.run([torch.get_num_threads] * 3)]
        assert counts == [2, 2, 2]
        assert torch.get_num_threads() == 7
        late: list[int] = []
        thread = threading.Thread(target=lambda: late.append(torch.get_num_threads()))
        thread.start()
        thread.join()
        assert late == [7]
    finally:
        torch.set_num_threads(before)


def test_everybody_sees_what_each_brings_in_every_meeting(pool):
    def visit(place):
        return [pool.barrier.exchange(place, (place, number)) for number in range(20)]

    for value, error in pool.run([lambda place=place: visit(place) for place in range(3)]):
        assert error is None
        assert value == [[(0, n), (1, n), (2, n)] for n in range(20)]


def test_whoever_waits_is_let_go_when_another_fails(pool):
    def fail():
        raise ArgosyError("broken")

    calls = [lambda: pool.barrier.exchange(0), fail, lambda: pool.barrier.exchange(2)]
    for _ in range(2):  # also the second time
        errors = [error for _, error in pool.run(calls)]
        assert [type(e) for e in errors] == [Abandoned, ArgosyError, Abandoned]
    outcomes = pool.run(
        [lambda place=place: pool.barrier.exchange(place, place) for place in range(3)]
    )
    assert [value for value, _ in outcomes] == [[0, 1, 2]] * 3


def test_places_that_meet_unequally_often_are_told(pool):
    once, twice = (
        (lambda place: pool.barrier.exchange(place)),
        (lambda place: [pool.barrier.exchange(place) for _ in range(2)]),
    )
    for _ in range(20):  # whichever comes first
        outcomes = pool.run([lambda: once(0), lambda: twice(1), lambda: once(2)])
        assert [error is None for _, error in outcomes] == [True, False, True]
        with pytest.raises(ProgramError, match=r"place 1 waits .* but [12] of them have finished"):
            raise outcomes[1][1]


def test_an_interrupt_of_the_caller_ends_the_run(pool, monkeypatch):
    pool.run([lambda: None] * 3)

    class Interrupted:
        def __init__(self, inner):
            self.inner, self.is_first = inner, True

        def get(self):
            if self.is_first:
                self.is_first = False
                raise KeyboardInterrupt
            return self.inner.get()

    monkeypatch.setattr(pool, "_done", Interrupted(pool._done))
    blocked = [lambda: pool.barrier.exchange(0), lambda: pool.barrier.exchange(1), lambda: None]
    with pytest.raises(KeyboardInterrupt):
        pool.run(blocked)
    assert [value for value, _ in pool.run([lambda: 1] * 3)] == [1, 1, 1]


def test_a_meeting_of_one_does_not_wait():
    assert Barrier(1).exchange(0, "alone") == ["alone"]
