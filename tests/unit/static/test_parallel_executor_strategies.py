"""What BuildStrategy and ExecutionStrategy change, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import NotSupported, UsageError
from argosy.static.lower import fusion
from argosy.static.parallel.rewrite import owners

F = paddle.nn.functional
static = paddle.static


@pytest.fixture
def exe():
    with static.Executor(paddle.CPUPlace()) as executor:
        yield executor


def strategy(**fields):
    made = static.BuildStrategy()
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def on_places(num_places, loss, build=None, execution=None):
    program = static.CompiledProgram(static.default_main_program())
    return program.with_data_parallel(
        loss.name, build, execution, places=static.cpu_places(num_places)
    )


def slope(rate=1.0):
    """A loss whose gradient is the mean of what is fed; returns it and its parameter, which starts
    from 0.
    """
    x = static.data("x", [None, 1])
    w = static.create_parameter(
        [1, 1], "float32", default_initializer=paddle.nn.initializer.Constant(0.0)
    )
    loss = paddle.mean(x @ w)
    paddle.optimizer.SGD(rate).minimize(loss)
    return loss, w


def column(*numbers):
    return np.array(numbers, "float32")[:, None]


def test_defaults_and_checks_of_fields():
    build, execution = static.BuildStrategy(), static.ExecutionStrategy()
    assert build.reduce_strategy == static.BuildStrategy.ReduceStrategy.AllReduce
    assert (
        build.gradient_scale_strategy == static.BuildStrategy.GradientScaleStrategy.CoeffNumDevice
    )
    assert (build.fuse_all_reduce_ops, build.enable_inplace, build.memory_optimize) == (
        True,
        True,
        None,
    )
    assert (
        build.num_trainers,
        build.trainer_id,
        build.debug_graphviz_path,
        build.trainers_endpoints,
    ) == (1, 0, "", [])
    assert (
        execution.num_threads,
        execution.num_iteration_per_drop_scope,
        execution.num_iteration_per_run,
    ) == (
        0,
        100,
        1,
    )
    build.sync_batch_norm = 1
    assert build.sync_batch_norm is True
    build.memory_optimize = False
    build.trainers_endpoints = ("a:1",)
    assert build.trainers_endpoints == ["a:1"]
    assert static.BuildStrategy().trainers_endpoints == []
    with pytest.raises(
        AttributeError, match=r"no field 'fuse_all_reduce'\. Did you mean 'fuse_all_reduce_ops'"
    ):
        build.fuse_all_reduce = True
    with pytest.raises(TypeError, match="num_trainers must be int, but received 'two'"):
        build.num_trainers = "two"
    with pytest.raises(TypeError, match="reduce_strategy must be ReduceStrategy, but received 1"):
        build.reduce_strategy = 1
    with pytest.raises(TypeError, match="fuse_bn_act_ops must be bool"):
        build.fuse_bn_act_ops = "yes"
    with pytest.raises(TypeError, match="num_threads must be int, but received True"):
        execution.num_threads = True


@pytest.mark.parametrize(("name", "expected"), [("CoeffNumDevice", -3.0), ("One", -6.0)])
def test_scale_of_the_loss_gradient(exe, name, expected):
    loss, w = slope()
    exe.run(static.default_startup_program())
    build = strategy(gradient_scale_strategy=static.BuildStrategy.GradientScaleStrategy[name])
    [values] = exe.run(on_places(2, loss, build), feed={"x": column(1, 1, 5, 5)}, fetch_list=[w])
    assert values.ravel().tolist() == [expected] * 2


@pytest.mark.parametrize("num_places", [1, 2])
def test_the_gradient_of_the_loss_is_fed(exe, num_places):
    loss, w = slope()
    exe.run(static.default_startup_program())
    build = strategy(gradient_scale_strategy=static.BuildStrategy.GradientScaleStrategy.Customized)
    program, feed = on_places(num_places, loss, build), {"x": column(1, 5)}
    with pytest.raises(UsageError, match=f"is fed: '{loss.name}@GRAD'"):
        exe.run(program, feed=feed)
    feed[f"{loss.name}@GRAD"] = np.array([0.5, 2.0][:num_places], "float32")
    values, given = exe.run(program, feed=feed, fetch_list=[w, f"{loss.name}@GRAD"])
    expected = -0.5 * 3 if num_places == 1 else -(0.5 * 1 + 2.0 * 5)
    assert values.ravel().tolist() == [expected] * num_places
    assert given.tolist() == [0.5, 2.0][:num_places]
    feed[f"{loss.name}@GRAD"] = np.ones(5, "float32")
    if num_places == 2:
        with pytest.raises(UsageError, match="one number on each of 2 places, but received 5"):
            exe.run(program, feed=feed)


@pytest.mark.parametrize("num_places", [2, 3, 5])
def test_reduce_updates_each_parameter_once_with_the_same_numbers(exe, num_places):
    x, y = static.data("x", [None, 5]), static.data("y", [None, 1], "int64")
    loss = F.cross_entropy(static.nn.fc(F.relu(static.nn.fc(x, 7)), 3), y)
    paddle.optimizer.Adam(
        0.05, weight_decay=0.01, grad_clip=paddle.nn.ClipGradByGlobalNorm(0.5)
    ).minimize(loss)
    exe.run(static.default_startup_program())
    scope = static.global_scope()

    def kept():
        return {
            name: np.array(scope.find_var(name).get_tensor()) for name in scope.local_var_names()
        }

    first, seen = kept(), []
    rng = np.random.default_rng(0)
    feed = {"x": rng.normal(size=(10, 5)).astype("float32"), "y": rng.integers(0, 3, (10, 1))}
    for reduce in (
        static.BuildStrategy.ReduceStrategy.AllReduce,
        static.BuildStrategy.ReduceStrategy.Reduce,
    ):
        for name, value in first.items():
            scope.find_var(name).get_tensor().set(value)
        program = on_places(num_places, loss, strategy(reduce_strategy=reduce))
        for _ in range(3):
            exe.run(program, feed=feed)
        seen.append(kept())
        for other in program._runner.replicas.scopes[1:]:
            for parameter in static.default_main_program().all_parameters():
                found = np.array(other.find_var(parameter.name).get_tensor())
                np.testing.assert_array_equal(
                    found, seen[-1][parameter.name], err_msg=parameter.name
                )
    updates = [
        o
        for o in program._runner._lowered.values()
        for _, low in o
        for o in low.operators.values()
        if o.type == "adam"
    ]
    assert sorted(len(o.out) for o in updates) == {2: [1, 3], 3: [1, 1, 2], 5: [1] * 5}[num_places]
    for name, value in seen[0].items():
        np.testing.assert_array_equal(seen[1][name], value, err_msg=name)


def test_owners_share_the_load():
    assert owners([1, 100, 50, 49], 2) == [1, 0, 1, 1]
    assert owners([], 2) == []
    assert owners([0, 0, 0], 3) == [0, 1, 2]


def test_statistics_over_all_places(exe):
    x = static.data("x", [None, 2])
    hidden = static.nn.batch_norm(
        x, momentum=0.5, moving_mean_name="mean", moving_variance_name="variance"
    )
    loss = paddle.mean(hidden * hidden * hidden)
    paddle.optimizer.SGD(0.1).minimize(loss)
    exe.run(static.default_startup_program())
    scope = static.global_scope()
    names = scope.local_var_names()
    first = {name: np.array(scope.find_var(name).get_tensor()) for name in names}
    feed = {"x": np.random.default_rng(0).normal(size=(6, 2)).astype("float32")}
    [whole] = exe.run(feed=feed, fetch_list=[hidden])
    expected = {name: np.array(scope.find_var(name).get_tensor()) for name in names}
    for name, value in first.items():
        scope.find_var(name).get_tensor().set(value)
    [parts] = exe.run(
        on_places(3, loss, strategy(sync_batch_norm=True)), feed=feed, fetch_list=[hidden]
    )
    np.testing.assert_allclose(parts, whole, rtol=1e-5, atol=1e-6)
    for name, value in expected.items():
        np.testing.assert_allclose(
            np.array(scope.find_var(name).get_tensor()), value, rtol=1e-5, atol=1e-6, err_msg=name
        )


def test_memory_for_temporary_values_is_given_back_every_so_many_runs(exe):
    loss, _ = slope()
    exe.run(static.default_startup_program())
    execution = static.ExecutionStrategy()
    execution.num_iteration_per_drop_scope = 3
    program, held = on_places(2, loss, None, execution), []
    for _ in range(4):
        exe.run(program, feed={"x": column(1, 2)})
        held.append(all(totals._buffers for totals in program._runner._shared.totals.values()))
    assert held == [True, True, False, True]


def test_a_call_may_run_several_iterations(exe):
    loss, w = slope()
    exe.run(static.default_startup_program())
    execution = static.ExecutionStrategy()
    execution.num_iteration_per_run = 3
    [values] = exe.run(
        on_places(2, loss, None, execution), feed={"x": column(1, 3)}, fetch_list=[w]
    )
    assert values.ravel().tolist() == [-6.0, -6.0]
    execution.num_iteration_per_run = 0
    with pytest.raises(UsageError, match="num_iteration_per_run must be at least 1"):
        exe.run(on_places(2, loss, None, execution), feed={"x": column(1, 3)})


def test_a_dry_run_computes_nothing(exe):
    loss, w = slope()
    exe.run(static.default_startup_program())
    execution = static.ExecutionStrategy()
    execution._dry_run = True
    before = np.array(static.global_scope().find_var(w.name).get_tensor())
    program = on_places(2, loss, None, execution)
    assert exe.run(program) == []
    np.testing.assert_array_equal(static.global_scope().find_var(w.name).get_tensor(), before)
    with pytest.raises(UsageError, match="nothing to fetch"):
        exe.run(program, feed={"x": column(1, 2)}, fetch_list=[loss])


def test_asynchronous_mode_is_refused(exe):
    loss, _ = slope()
    exe.run(static.default_startup_program())
    with pytest.raises(NotSupported, match="async_mode=True"):
        exe.run(on_places(2, loss, strategy(async_mode=True)), feed={"x": column(1, 3)})


# -- fusion
# --------------------------------------------------------------------------------------------------


def test_without_a_compiler_a_warning_and_the_same_result(exe, monkeypatch):
    loss, w = slope()
    exe.run(static.default_startup_program())
    monkeypatch.setattr(fusion.shutil, "which", lambda name: None)
    with pytest.warns(UserWarning, match="no C\\+\\+ compiler was found"):
        [values] = exe.run(
            on_places(2, loss, strategy(enable_auto_fusion=True)),
            feed={"x": column(1, 3)},
            fetch_list=[w],
        )
    assert values.ravel().tolist() == [-2.0, -2.0]


@pytest.mark.skipif(fusion.shutil.which("g++") is None, reason="there is no compiler")
@pytest.mark.filterwarnings("ignore")  # of the compiler itself
@pytest.mark.timeout(300)
def test_a_fused_program_gives_the_same_numbers(exe):
    x = static.data("x", [None, 4])
    w = static.create_parameter(
        [4, 4], "float32", default_initializer=paddle.nn.initializer.Constant(0.1)
    )
    loss = paddle.mean(F.tanh(x @ w) * F.sigmoid(x))
    paddle.optimizer.Momentum(0.5).minimize(loss)
    feed = {"x": np.random.default_rng(0).normal(size=(4, 4)).astype("float32")}
    seen = {}
    for flag in (None, "build_cinn_pass"):
        exe.run(static.default_startup_program())
        program = on_places(2, loss, strategy(**({flag: True} if flag else {})))
        losses = [exe.run(program, feed=feed, fetch_list=[loss])[0] for _ in range(3)]
        seen[flag] = losses, np.array(static.global_scope().find_var(w.name).get_tensor())
        fused = program._runner._lowered and next(iter(program._runner._lowered.values()))[0][1].run
        assert hasattr(fused, "_torchdynamo_orig_callable") is (flag is not None)
    np.testing.assert_allclose(seen["build_cinn_pass"][0], seen[None][0], rtol=1e-5)
    np.testing.assert_allclose(seen["build_cinn_pass"][1], seen[None][1], rtol=1e-5)
