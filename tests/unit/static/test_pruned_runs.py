"""Runs of a part of a program: what is fetched, and the updates that are asked for."""

from __future__ import annotations

import numpy as np
import pytest

import paddle

FEED = {"x": np.ones((2, 2), "float32")}


def net():
    x = paddle.static.data("x", [None, 2])
    attr = paddle.ParamAttr("w", initializer=paddle.nn.initializer.Constant(1.0))
    y = paddle.static.nn.fc(x, 2, weight_attr=attr, bias_attr=False)
    losses = [y.mean(), (2.0 * y).mean()]
    for loss in losses:
        loss.persistable = True
    return losses


def started():
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    return exe


def weight():
    return np.array(paddle.static.global_scope().find_var("w").get_tensor())[0, 0]


def test_pruning_keeps_the_updates_and_drops_what_nothing_asks_for():
    first, second = net()
    paddle.optimizer.SGD(0.5).minimize(first)
    exe = started()
    exe.run(feed=FEED, fetch_list=[first], use_prune=True)
    scope = paddle.static.global_scope()
    assert scope.find_var(first.name) is not None
    assert scope.find_var(second.name) is None
    assert weight() == 0.75


@pytest.mark.parametrize("parts", [2, 1])
def test_one_update_of_two_runs_if_it_is_fetched(parts):
    first, second = net()
    one = paddle.optimizer.SGD(0.5).minimize(first)
    other = paddle.optimizer.SGD(0.5).minimize(second)
    exe = started()
    fetched = exe.run(feed=FEED, fetch_list=[first, one if parts == 2 else one[0]])
    assert len(fetched) == 1
    assert weight() == 0.75
    exe.run(feed=FEED, fetch_list=[other[0], first])
    assert weight() == 0.25
    exe.run(feed=FEED, fetch_list=[first], use_prune=True)
    assert weight() == -0.5


def test_a_compiled_program_runs_one_update_too():
    first, second = net()
    one, _ = paddle.optimizer.SGD(0.5).minimize(first)
    paddle.optimizer.SGD(0.5).minimize(second)
    exe = started()
    compiled = paddle.static.CompiledProgram(
        paddle.static.default_main_program()
    ).with_data_parallel(loss_name=first.name, places=[paddle.CPUPlace()] * 2)
    [value] = exe.run(compiled, feed=FEED, fetch_list=[first.name, one])
    assert value.shape == (2,)
    assert weight() == 0.75


def test_a_pruned_program_has_the_update_that_was_asked_for():
    first, second = net()
    one, _ = paddle.optimizer.SGD(0.5).minimize(first)
    paddle.optimizer.SGD(0.5).minimize(second)
    main = paddle.static.default_main_program()
    types = [o.type for o in main._prune_with_input(["x"], [first, *one]).global_block().ops]
    assert types.count("sgd") == 1
    assert "scale" not in types
    assert "sgd" not in [o.type for o in main._prune([first]).global_block().ops]


def test_other_operators_cannot_be_fetched():
    first, _ = net()
    with pytest.raises(TypeError, match="operators of an update"):
        started().run(feed=FEED, fetch_list=[first.op])
    with pytest.raises(ValueError, match="can only be Variable or Operator"):
        paddle.static.default_main_program()._prune(None)


def test_a_program_is_pruned_once_for_each_set_of_feeds_fetches_and_updates(monkeypatch):
    first, second = net()
    one = paddle.optimizer.SGD(0.5).minimize(first)
    other = paddle.optimizer.SGD(0.5).minimize(second)
    calls = []
    prune = paddle.static.Executor._prune_program
    monkeypatch.setattr(
        paddle.static.Executor,
        "_prune_program",
        lambda self, *args: calls.append(args) or prune(self, *args),
    )
    exe = started()
    for train in (one, other, one, other):
        exe.run(feed=FEED, fetch_list=[first, train])
    assert [len(args[3]) for args in calls] == [len(one[0]), len(other[0])]


def test_kept_variables_of_a_part_that_cannot_run_are_there_all_the_same():
    x = paddle.static.data("x", [None, 2])
    y = paddle.tanh(paddle.static.nn.fc(x, 2))
    first, second = y.mean(), y.max()
    first.persistable = second.persistable = True
    paddle.optimizer.SGD(0.5).minimize(first)
    exe, scope = started(), paddle.static.global_scope()
    with pytest.raises(RuntimeError, match="'x', which is not fed"):
        exe.run(feed={y.name: FEED["x"]}, fetch_list=[first], use_prune=True)
    assert scope.find_var(first.name) is not None
    assert scope.find_var(second.name) is None


def test_what_is_computed_may_be_fed_in_another_shape():
    x = paddle.static.data("x", [None, 2])
    y = x * 2.0
    loss = y.sum()
    [value] = paddle.static.Executor().run(
        feed={y.name: np.ones((3, 5), "float32")}, fetch_list=[loss], use_prune=True
    )
    assert value == 15.0
