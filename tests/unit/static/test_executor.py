"""Running: feeds, fetches, scopes, state and errors."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import NotSupported, ProgramError, UsageError
from argosy.static.run import executor as executors
from argosy.static.run.dataset_runs import _without_updates

F = paddle.nn.functional


@pytest.fixture
def exe():
    return paddle.static.Executor(paddle.CPUPlace())


def ones(*shape, dtype="float32"):
    return np.ones(shape, dtype)


def test_fetch_by_variable_and_by_name(exe):
    x = paddle.static.data("x", [None, 2])
    y = x * 3.0
    by_variable, by_name, fed = exe.run(feed={"x": ones(2, 2)}, fetch_list=[y, y.name, "x"])
    np.testing.assert_array_equal(by_variable, 3 * ones(2, 2))
    np.testing.assert_array_equal(by_name, by_variable)
    np.testing.assert_array_equal(fed, ones(2, 2))
    [tensor] = exe.run(feed={"x": ones(1, 2)}, fetch_list=[y], return_numpy=False)
    assert isinstance(tensor, paddle.base.core.LoDTensor)
    assert tensor.shape() == [1, 2]
    assert exe.run(feed={"x": ones(1, 2)}) == []


def test_feeds_of_every_kind(exe):
    x = paddle.static.data("x", [None, 2])
    y = x + 1.0
    paddle.disable_static()
    tensor = paddle.ones([1, 2])
    paddle.enable_static()
    for value in (
        ones(1, 2),
        [[1, 1]],
        tensor,
        ones(2, 1).T,
        np.broadcast_to(np.float32(1.0), (1, 2)),
        ones(1, 2)[::-1],
    ):
        [out] = exe.run(feed={"x": value}, fetch_list=[y])
        np.testing.assert_array_equal(out, 2 * ones(1, 2))
    [out] = exe.run(feed=[{"x": ones(3, 2)}], fetch_list=y)
    assert out.shape == (3, 2)


@pytest.mark.parametrize(
    ("feed", "message"),
    [
        (
            {"x": ones(2, 3)},
            r"'x' should have dimensions = 2, shape = \(-1, 2\), but received fed shape \[2, 3\]",
        ),
        ({"x": ones(2, 2, 1)}, r"shape = \(-1, 2\), but received fed shape \[2, 2, 1\]"),
        ({"x": 1.0}, r"shape = \(-1, 2\), but received fed shape \[\]"),
        (
            {"x": ones(2, 2, dtype="float64")},
            "data type of fed Variable 'x' must be 'float32', but received 'float64'",
        ),
        ({}, r"operator 0 'relu'.* needs 'x', which is not fed"),
        ("x", "feed must be a dict"),
    ],
)
def test_wrong_feeds(exe, feed, message):
    out = F.relu(paddle.static.data("x", [None, 2]))
    with pytest.raises(UsageError, match=message):
        exe.run(feed=feed, fetch_list=[out])


def test_a_feed_may_lack_trailing_dimensions_as_in_paddle_2(exe):
    column = paddle.static.data("x", [-1, 1])
    [out] = exe.run(feed={"x": ones(3)}, fetch_list=[column * 2.0])
    assert out.shape == (3,)


def test_fluid_data_needs_all_its_dimensions(exe):
    column = paddle.fluid.data("x", [None, 1])
    with pytest.raises(ValueError, match="should have dimensions"):
        exe.run(feed={"x": ones(3)}, fetch_list=[column])


def test_a_feed_that_the_program_does_not_have_is_warned_of(exe):
    out = paddle.static.data("x", [None, 2]) * 2.0
    with pytest.warns(UserWarning, match="The variable y is not found in program"):
        exe.run(feed={"x": ones(1, 2), "y": 3}, fetch_list=[out])


def test_what_is_fed_to_a_persistable_variable_stays_in_the_scope(exe):
    x = paddle.static.data("kept", [2])
    x.persistable = True
    [first] = exe.run(feed={"kept": ones(2)}, fetch_list=[x])
    np.testing.assert_array_equal(paddle.base.executor._fetch_var("kept"), first)
    [again] = exe.run(fetch_list=[x])
    np.testing.assert_array_equal(again, first)


def test_variables_that_are_not_checked_take_any_feed(exe):
    x = paddle.static.data("x", [None, 2])
    x.desc.set_need_check_feed(False)
    [out] = exe.run(feed={"x": ones(1, 3)}, fetch_list=[x])
    assert out.shape == (1, 3)


def test_wrong_fetches(exe):
    F.relu(paddle.static.data("x", [None, 2]))
    with pytest.raises(
        ProgramError, match=r"fetch_list reads 'relu_0.tmp_1'.*Did you mean 'relu_0.tmp_0'"
    ):
        exe.run(feed={"x": ones(1, 2)}, fetch_list=["relu_0.tmp_1"])
    with pytest.raises(UsageError, match=r"variables or their names, .* but received int"):
        exe.run(feed={"x": ones(1, 2)}, fetch_list=[3])
    with pytest.raises(UsageError, match="must be a Program"):
        exe.run("main")


def test_state_must_be_there(exe):
    out = paddle.nn.Linear(2, 1)(paddle.static.data("x", [None, 2]))
    with pytest.raises(
        ProgramError, match=r"'linear_0.w_0' holds no value in this scope.*Run the startup program"
    ):
        exe.run(feed={"x": ones(1, 2)}, fetch_list=[out])
    assert exe.run(paddle.static.default_startup_program()) == []
    assert exe.run(feed={"x": ones(1, 2)}, fetch_list=[out])[0].shape == (1, 1)


def test_an_error_names_the_operator_and_its_line(exe):
    x = paddle.static.data("x", [None, 2])
    y = paddle.static.data("y", [None, 2])
    out = x + y
    with pytest.raises(
        ValueError,
        match=r"operator 0 'elementwise_add', recorded at .*test_executor.py:\d+.*float32\[3, 2\]",
    ):
        exe.run(feed={"x": ones(2, 2), "y": ones(3, 2)}, fetch_list=[out])


def test_a_program_is_lowered_once(exe):
    x = paddle.static.data("x", [None, 2])
    y = x * 2.0
    main = paddle.static.default_main_program()
    for rows in (1, 2, 3):
        exe.run(feed={"x": ones(rows, 2)}, fetch_list=[y])
    assert len(main.lowered) == 1
    exe.run(feed={"x": ones(1, 2)}, fetch_list=[x])
    assert len(main.lowered) == 2
    z = y + 1.0  # another version
    assert not main.lowered
    np.testing.assert_array_equal(
        exe.run(feed={"x": ones(1, 2)}, fetch_list=[z])[0], 3 * ones(1, 2)
    )


def test_scopes_keep_values_apart(exe):
    weight = paddle.static.create_parameter(
        [2], "float32", name="w", default_initializer=paddle.nn.initializer.Constant(1.0)
    )
    out = weight * 2.0
    startup = paddle.static.default_startup_program()
    exe.run(startup)
    other = paddle.static.Scope()
    exe.run(startup, scope=other)
    tensor = other.find_var("w").get_tensor()
    tensor.set(np.array([5.0, 6.0], "float32"), paddle.CPUPlace())
    assert tensor.shape() == [2]
    np.testing.assert_array_equal(exe.run(fetch_list=[out], scope=other)[0], [10.0, 12.0])
    np.testing.assert_array_equal(exe.run(fetch_list=[out])[0], [2.0, 2.0])
    with paddle.static.scope_guard(other):
        assert paddle.static.global_scope() is other
        np.testing.assert_array_equal(np.array(weight.get_value()), [5.0, 6.0])
        weight.set_value(np.array([1.0, 0.0], "float32"))
    np.testing.assert_array_equal(exe.run(fetch_list=[out], scope=other)[0], [2.0, 0.0])
    assert other.find_var("nowhere") is None
    with pytest.raises(UsageError, match="has shape"):
        weight.set_value(ones(3))


def test_a_global_variable_counts_runs(exe):
    count = paddle.static.create_global_var([1], 0.0, "float32", persistable=True, name="count")
    paddle.assign(count + 1.0, count)
    exe.run(paddle.static.default_startup_program())
    for expected in (1.0, 2.0, 3.0):
        [value] = exe.run(fetch_list=[count])
        assert value.tolist() == [expected]
    assert np.array(paddle.static.global_scope().find_var("count").get_tensor()).tolist() == [3.0]


def test_batch_norm_moves_its_statistics_and_test_programs_use_them(exe):
    x = paddle.static.data("x", [None, 2])
    norm = paddle.nn.BatchNorm1D(2, momentum=0.5)
    out = norm(x)
    main = paddle.static.default_main_program()
    test = main.clone(for_test=True)
    exe.run(paddle.static.default_startup_program())
    batch = np.array([[0.0, 2.0], [2.0, 6.0]], "float32")
    exe.run(main, feed={"x": batch})
    np.testing.assert_allclose(np.array(norm._mean.get_value()), [0.5, 2.0])
    np.testing.assert_allclose(np.array(norm._variance.get_value()), [1.0, 2.5])
    [value] = exe.run(test, feed={"x": batch}, fetch_list=[out.name])
    np.testing.assert_allclose(
        value, (batch - [0.5, 2.0]) / np.sqrt(np.array([1.0, 2.5]) + 1e-5), rtol=1e-5
    )
    np.testing.assert_allclose(np.array(norm._mean.get_value()), [0.5, 2.0])


def test_pruning_leaves_out_what_fetches_do_not_need(exe):
    x = paddle.static.data("x", [2])
    label = paddle.static.data("label", [2])
    wanted = x * 2.0
    F.mse_loss(wanted, label)
    with pytest.raises(ProgramError, match="'label', which is not fed"):
        exe.run(feed={"x": ones(2)}, fetch_list=[wanted])
    np.testing.assert_array_equal(
        exe.run(feed={"x": ones(2)}, fetch_list=[wanted], use_prune=True)[0], 2 * ones(2)
    )


def test_a_seed_repeats_every_run(exe):
    noise = paddle.rand([4])
    main = paddle.static.default_main_program()
    free = [exe.run(fetch_list=[noise])[0] for _ in range(2)]
    assert not np.array_equal(*free)
    main.random_seed = 3
    seeded = [exe.run(fetch_list=[noise])[0] for _ in range(2)]
    np.testing.assert_array_equal(*seeded)


def test_what_is_fetched_is_a_copy(exe):
    weight = paddle.static.create_parameter(
        [1, 2], "float32", default_initializer=paddle.nn.initializer.Constant(1.0)
    )
    view = weight.reshape([2])
    loss = view.sum()
    paddle.optimizer.SGD(0.25).minimize(loss)
    exe.run(paddle.static.default_startup_program())
    before, after = exe.run(fetch_list=[view, weight], return_numpy=False)
    exe.run()
    # a forward value: from before the update
    np.testing.assert_array_equal(before.numpy(), [1.0, 1.0])
    np.testing.assert_array_equal(after.numpy(), [[0.75, 0.75]])


def test_a_closed_executor_refuses():
    with paddle.static.Executor() as executor:
        executor.run(paddle.static.default_startup_program())
    with pytest.raises(RuntimeError, match="closed"):
        executor.run(paddle.static.default_startup_program())


def test_closing_ends_everything_whatever_a_farewell_raises(monkeypatch):
    said = []

    def fails():
        raise OSError("the server is gone")

    monkeypatch.setattr(executors, "farewells", [lambda: said.append("goodbye"), fails])
    x = paddle.static.data("x", [None, 2])
    main, executor = paddle.static.default_main_program(), paddle.static.Executor(paddle.CPUPlace())
    program = paddle.static.CompiledProgram(main).with_data_parallel(
        places=paddle.static.cpu_places(2)
    )
    executor.run(program, feed={"x": ones(2, 2)}, fetch_list=[x])
    with pytest.raises(OSError, match="the server is gone"):
        executor.close()
    assert (said, executors.farewells) == (["goodbye"], [])
    assert not [t for t in threading.enumerate() if t.name.startswith(f"program-{main.id}-")]
    with pytest.raises(UsageError, match="closed"):
        executor.run(main)
    executor.close()


def test_runs_over_datasets_refuse_dumps_of_compiled_programs_too(exe):
    main = paddle.static.default_main_program()
    main._fleet_opt = {"dump_fields": ["x"]}
    for program in (main, paddle.static.CompiledProgram(main)):
        with pytest.raises(
            NotSupported, match=r"train_from_dataset: program\._fleet_opt\['dump_fields'\]"
        ):
            exe.train_from_dataset(program, paddle.distributed.QueueDataset())


def test_the_forward_part_of_a_program_follows_it_and_ends_with_it():
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        y = paddle.static.data("x", [None, 2]) * 2.0
    part = _without_updates(main)
    assert _without_updates(main) is part
    with paddle.static.program_guard(main):
        y = y + 1.0
    assert len(_without_updates(main).global_block().ops) == 2
    gone = weakref.ref(main)
    del main, part, y
    gc.collect()
    assert gone() is None


def test_gradients_stay_off_outside_training(exe):
    out = paddle.nn.Linear(2, 2)(paddle.static.data("x", [None, 2]))
    exe.run(paddle.static.default_startup_program())
    [value] = exe.run(feed={"x": ones(1, 2)}, fetch_list=[out], return_numpy=False)
    assert not value.raw_tensor().requires_grad
    assert paddle.is_grad_enabled()


class Refused(UsageError):
    """A class of ours that cannot be made from a text alone, so that its error stays as it is."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(what, why)


def test_an_error_that_stays_as_it_is_is_not_its_own_cause():
    def refuse(x):
        raise Refused("this", "for a reason")

    x = paddle.static.data("x", [2])
    out = (
        paddle.static.default_main_program()
        .global_block()
        .create_var(name="out", dtype="float32", shape=[2])
    )
    paddle.static.py_func(refuse, x, out)
    with pytest.raises(Refused) as caught:
        paddle.static.Executor().run(feed={"x": np.ones(2, "float32")}, fetch_list=[out])
    assert caught.value.__cause__ is not caught.value


@pytest.mark.parametrize(
    ("shape", "dtype"), [(1, "float32"), ([1.0, 2.0], "float32"), ([1, 2], "complex64")]
)
def test_a_global_variable_of_no_such_kind(shape, dtype):
    with pytest.raises(TypeError, match="create_global_var"):
        paddle.static.create_global_var(shape, 2.0, dtype, persistable=True)


def test_what_a_first_run_costs_grows_with_the_program():
    """Twice as many layers are about twice as many calls of Python, not four times."""

    def num_calls(num_layers):
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup):
            x = paddle.static.data("x", [None, 2])
            outs = [paddle.static.nn.fc(x, 1) for _ in range(num_layers)]
            loss = paddle.concat(outs, axis=1).mean()
            paddle.optimizer.Adam(0.01).minimize(loss)
        exe, count = paddle.static.Executor(), 0

        def note(frame, event, arg):
            nonlocal count
            count += 1

        sys.setprofile(note)
        try:
            exe.run(startup)
            exe.run(main, feed={"x": np.ones((1, 2), "float32")}, fetch_list=[loss])
        finally:
            sys.setprofile(None)
        return count

    num_calls(2)  # what is loaded on first use
    few, many = num_calls(30), num_calls(60)
    assert many < 2.5 * few
