"""Properties of pruning: what is left of a program computes the same, and nothing of it can go."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import paddle
from argosy.static.lower.pruning import pruned

pytestmark = pytest.mark.usefixtures("static_mode")
some = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])

# each operator reads two earlier values, by their distance
steps = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=10)


def record(steps):
    """A program over one input; returns it with its values in the order in which they are made."""
    main = paddle.static.Program()
    with paddle.static.program_guard(main, paddle.static.Program()):
        values = [paddle.static.data("x", [2], "float32")]
        for first, second in steps:
            a, b = values[-min(first, len(values))], values[-min(second, len(values))]
            values.append(a + b if first < second else a - b)
    return main, values


def names(operators):
    return [name for operator in operators for name in operator.output_arg_names]


@some
@given(steps, st.data())
def test_every_input_of_what_is_kept_is_made_before_it(steps, data):
    main, values = record(steps)
    target = data.draw(st.sampled_from(values[1:]))
    known = {"x"}
    for operator in pruned(main.global_block().ops, [target.name]):
        assert known.issuperset(operator.input_arg_names)
        known.update(operator.output_arg_names)
    assert target.name in known


@some
@given(steps, st.data())
def test_everything_that_is_kept_is_needed(steps, data):
    main, values = record(steps)
    target = data.draw(st.sampled_from(values[1:])).name
    kept = pruned(main.global_block().ops, [target])
    used = {target, *(name for operator in kept for name in operator.input_arg_names)}
    assert used.issuperset(names(kept))


@some
@given(steps, st.data())
def test_pruning_again_changes_nothing_and_order_is_kept(steps, data):
    main, values = record(steps)
    targets = [v.name for v in data.draw(st.lists(st.sampled_from(values), max_size=3))]
    operators = main.global_block().ops
    kept = pruned(operators, targets)
    assert pruned(kept, targets) == kept
    assert kept == [operator for operator in operators if operator in kept]
    assert pruned(operators, []) == []


@settings(some, max_examples=10)
@given(steps, st.data())
def test_a_pruned_program_computes_the_same(steps, data):
    main, values = record(steps)
    target = data.draw(st.sampled_from(values[1:]))
    exe = paddle.static.Executor(paddle.CPUPlace())
    feed = {"x": np.array([1.0, -2.0], "float32")}
    whole, *_ = exe.run(main, feed=feed, fetch_list=[target, values[-1]])
    alone = exe.run(main, feed=feed, fetch_list=[target], use_prune=True)[0]
    np.testing.assert_array_equal(alone, whole)
