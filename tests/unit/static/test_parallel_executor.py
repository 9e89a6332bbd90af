"""Data-parallel runs: equal to the plain Executor on the whole batch; feeds, fetches, variables on
places.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import paddle
from argosy.foundation.errors import ConfigError, ProgramError, UsageError

F = paddle.nn.functional
static = paddle.static

OPTIMIZERS = {
    "sgd": lambda: paddle.optimizer.SGD(0.2),
    "momentum": lambda: paddle.optimizer.Momentum(
        0.1, grad_clip=paddle.nn.ClipGradByGlobalNorm(0.4), weight_decay=0.01
    ),
    "adam": lambda: paddle.optimizer.Adam(
        0.02, grad_clip=paddle.nn.ClipGradByNorm(0.2), weight_decay=0.01
    ),
}


@pytest.fixture
def exe():
    with static.Executor(paddle.CPUPlace()) as executor:
        yield executor


@pytest.fixture
def parallel(exe):
    """Makes data-parallel programs on a number of places; their threads end with the test."""

    def make(num_places, loss=None, program=None, **options):
        program = static.default_main_program() if program is None else program
        name = None if loss is None else loss.name
        return static.CompiledProgram(program).with_data_parallel(
            name, places=static.cpu_places(num_places), **options
        )

    return make


def classifier(optimizer="sgd"):
    x, y = static.data("x", [None, 5]), static.data("y", [None, 1], "int64")
    loss = F.cross_entropy(static.nn.fc(F.tanh(static.nn.fc(x, 7)), 3), y)
    OPTIMIZERS[optimizer]().minimize(loss)
    return loss


def batch(step=0, rows=8):
    rng = np.random.default_rng(step)
    return {"x": rng.normal(size=(rows, 5)).astype("float32"), "y": rng.integers(0, 3, (rows, 1))}


def values(scope=None):
    scope = scope or static.global_scope()
    return {name: np.array(scope.find_var(name).get_tensor()) for name in scope.local_var_names()}


def restore(held):
    for name, value in held.items():
        static.global_scope().find_var(name).get_tensor().set(value)


def assert_close(found, expected):
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


# -- equality
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_places", [1, 2, 4])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_places_train_as_one_executor_on_the_whole_batch(exe, parallel, optimizer, num_places):
    loss = classifier(optimizer)
    exe.run(static.default_startup_program())
    first = values()
    whole = [exe.run(feed=batch(step), fetch_list=[loss])[0] for step in range(5)]
    expected = values()
    restore(first)
    program = parallel(num_places, loss)
    parts = [exe.run(program, feed=batch(step), fetch_list=[loss])[0] for step in range(5)]
    assert parts[0].shape == (num_places,)
    np.testing.assert_allclose(np.mean(parts, axis=1), whole, rtol=1e-5)
    assert_close(values(), expected)
    for name, value in values(program._runner.replicas.scopes[-1]).items():
        np.testing.assert_array_equal(value, values()[name], err_msg=f"{name} of the last place")


def test_equal_runs_give_equal_bits(exe, parallel):
    loss = classifier("adam")
    exe.run(static.default_startup_program())
    first, seen = values(), []
    for _ in range(2):
        restore(first)
        program = parallel(3, loss)
        for step in range(4):
            exe.run(program, feed=batch(step, 10))
        seen.append(values())
    for name, value in seen[0].items():
        np.testing.assert_array_equal(seen[1][name], value, err_msg=name)


def test_the_scheduler_of_the_program_sets_the_rate_on_every_place(exe, parallel):
    x = static.data("x", [None, 1])
    w = static.create_parameter(
        [1, 1], "float32", default_initializer=paddle.nn.initializer.Constant(0.0)
    )
    loss = paddle.mean(x @ w)
    scheduler = paddle.optimizer.lr.StepDecay(1.0, 1, 0.5)
    paddle.optimizer.SGD(scheduler).minimize(loss)
    exe.run(static.default_startup_program())
    program, ones = parallel(2, loss), np.ones((4, 1), "float32")
    for expected in (-1.0, -1.5, -1.75):
        [seen] = exe.run(program, feed={"x": ones}, fetch_list=[w])
        np.testing.assert_allclose(seen, [[expected], [expected]])
        scheduler.step()


def test_row_sparse_gradients_of_places_are_joined(exe, parallel):
    word, y = static.data("word", [None], "int64"), static.data("y", [None, 1], "int64")
    table = static.nn.embedding(word, [6, 3], is_sparse=True)
    loss = F.cross_entropy(table, y)
    paddle.optimizer.SGD(0.5).minimize(loss)
    exe.run(static.default_startup_program())
    first = values()
    feed = {"word": np.array([0, 2, 2, 5]), "y": np.array([[0], [1], [2], [0]])}
    exe.run(feed=feed)
    expected = values()
    restore(first)
    exe.run(parallel(2, loss), feed=feed)
    assert_close(values(), expected)


# -- feeds and fetches
# ------------------------------------------------------------------------------------------------


def test_a_dict_is_cut_on_dimension_0_and_fetches_are_joined(exe, parallel):
    x = static.data("x", [None, 1])
    program, rows = (
        parallel(2, program=static.default_main_program()),
        np.arange(3, dtype="float32")[:, None],
    )
    y, total = x * 10.0, x.sum()
    joined, sums = exe.run(program, feed={"x": rows}, fetch_list=[y, total])
    np.testing.assert_array_equal(joined, rows * 10)
    np.testing.assert_array_equal(sums, [0.0, 3.0])  # one sample, then two
    parts, sums = exe.run(program, feed={"x": rows}, fetch_list=[y, total], return_merged=False)
    assert [p.tolist() for p in parts] == [[[0.0]], [[10.0], [20.0]]]
    assert [float(s) for s in sums] == [0.0, 3.0]
    [tensor] = exe.run(program, feed={"x": rows}, fetch_list=[y], return_numpy=False)
    assert tensor.shape() == [3, 1]
    assert exe.run(program, feed={"x": rows}) == []


@pytest.mark.parametrize(
    ("num_rows", "num_places", "expected"),
    [(3, 2, [1, 2]), (7, 4, [1, 2, 2, 2]), (4, 4, [1] * 4), (10, 4, [2, 3, 2, 3])],
)
def test_how_many_samples_each_place_gets(exe, parallel, num_rows, num_places, expected):
    x = static.data("x", [None, 1])
    count = x.sum()
    [counts] = exe.run(
        parallel(num_places), feed={"x": np.ones((num_rows, 1), "float32")}, fetch_list=[count]
    )
    assert counts.tolist() == expected


def test_a_list_has_a_dict_for_each_place(exe, parallel):
    x = static.data("x", [None, 2])
    total, program = x.sum(), parallel(2)
    feed = [{"x": np.ones((1, 2), "float32")}, {"x": np.ones((5, 2), "float32")}]
    [sums] = exe.run(program, feed=feed, fetch_list=[total])
    assert sums.tolist() == [2.0, 10.0]
    assert exe.run(program, feed=feed[1:], fetch_list=[total])[0].tolist() == [10.0]
    with pytest.raises(
        UsageError, match="one dict for each of the 2 places, but it holds 3 items of type dict"
    ):
        exe.run(program, feed=[*feed, feed[0]], fetch_list=[total])
    with pytest.raises(UsageError, match="items of type dict, ndarray"):
        exe.run(program, feed=[feed[0], feed[0]["x"]], fetch_list=[total])
    with pytest.raises(UsageError, match="must name the same variables"):
        exe.run(program, feed=[feed[0], {}], fetch_list=[total])


def test_places_for_which_there_is_no_sample_are_idle_unless_the_program_trains(exe, parallel):
    x = static.data("x", [None, 2])
    weight = static.data("weight", [1])
    weight.persistable = True
    out, program = paddle.nn.functional.relu(x).sum() * weight, parallel(4)
    rows = np.ones((3, 2), "float32")
    for fed, expected in ((np.float32([2]), [4.0, 4.0, 4.0]), (np.float32([1, 2, 3]), [2, 4, 6])):
        feed = {"x": rows, "weight": fed}
        assert exe.run(program, feed=feed, fetch_list=[out])[0].tolist() == expected
    full = {"x": np.ones((8, 2), "float32"), "weight": np.float32([1])}
    assert exe.run(program, feed=full, fetch_list=[out])[0].tolist() == [4.0] * 4
    loss = paddle.mean(static.nn.fc(x, 1))
    paddle.optimizer.SGD(0.1).minimize(loss)
    exe.run(static.default_startup_program())
    with pytest.raises(
        UsageError, match="feed 'x' has 3 samples for 4 places; each place needs at least one"
    ):
        exe.run(parallel(4, loss), feed={"x": rows, "weight": np.float32([1])}, fetch_list=[loss])


def test_a_loader_may_end_with_fewer_batches_than_places(exe, parallel):
    x = static.data("x", [None, 1])
    loader = paddle.io.DataLoader.from_generator([x], 4, iterable=False, drop_last=False)
    loader.set_batch_generator(lambda: ([np.full((2, 1), i, "float32")] for i in range(5)))
    program, doubled = parallel(3), x * 2.0
    loader.start()
    seen = [exe.run(program, fetch_list=[doubled])[0].ravel().tolist() for _ in range(2)]
    assert seen == [[0, 0, 2, 2, 4, 4], [6, 6, 8, 8]]
    with pytest.raises(paddle.base.core.EOFException):
        exe.run(program, fetch_list=[doubled])
    loader.reset()


def test_wrong_feeds_are_told(exe, parallel):
    x = static.data("x", [None, 2])
    total, program = x.sum(), parallel(4)
    with pytest.raises(UsageError, match="must be 'float32', but received 'float64'"):
        exe.run(program, feed={"x": np.ones((4, 2))}, fetch_list=[total])
    with (
        pytest.warns(UserWarning, match="variable z is not found"),
        pytest.raises(ProgramError, match="needs 'x', which is not fed"),
    ):
        exe.run(program, feed={"z": np.ones((4, 2), "float32")}, fetch_list=[total])
    with pytest.raises(UsageError, match="a single number"):
        exe.run(program, feed={"x": np.float32(1)}, fetch_list=[total])
    with pytest.raises(UsageError, match="must be a dict or a list of dicts, but received int"):
        exe.run(program, feed=3, fetch_list=[total])


def test_results_that_do_not_fit_together_need_return_merged_false(exe, parallel):
    x = static.data("x", [None, None])
    program, wide = parallel(2), x * 1.0
    feed = [{"x": np.ones((1, 2), "float32")}, {"x": np.ones((1, 3), "float32")}]
    with pytest.raises(UsageError, match=r"shapes \[\[1, 2\], \[1, 3\]\] on the places"):
        exe.run(program, feed=feed, fetch_list=[wide])
    [parts] = exe.run(program, feed=feed, fetch_list=[wide], return_merged=False)
    assert [p.shape for p in parts] == [(1, 2), (1, 3)]


def test_sequences_are_cut_between_each_other(exe, parallel):
    words = static.data("words", [None, 1], "float32", lod_level=1)
    pooled = static.nn.sequence_pool(words, "sum")
    program = parallel(2)
    fed = paddle.base.create_lod_tensor(
        np.arange(6, dtype="float32")[:, None], [[1, 3, 2]], paddle.CPUPlace()
    )
    sums, parts = (
        exe.run(program, feed={"words": fed}, fetch_list=[pooled], return_merged=is_merged)[0]
        for is_merged in (True, False)
    )
    assert sums.ravel().tolist() == [0.0, 6.0, 9.0]
    assert [p.ravel().tolist() for p in parts] == [[0.0], [6.0, 9.0]]
    [back] = exe.run(program, feed={"words": fed}, fetch_list=[words], return_numpy=False)
    assert back.recursive_sequence_lengths() == [[1, 3, 2]]
    [parts] = exe.run(parallel(4), feed={"words": fed}, fetch_list=[pooled], return_merged=False)
    assert [p.ravel().tolist() for p in parts] == [[0.0], [6.0], [9.0]]


def test_a_loader_of_the_program_gives_each_place_a_batch(exe, parallel):
    x = static.data("x", [None, 1])
    loader = paddle.io.DataLoader.from_generator(feed_list=[x], capacity=2, iterable=False)
    loader.set_batch_generator(
        lambda: ([np.full((2, 1), number, "float32")] for number in range(5))
    )
    total, program = x.sum(), parallel(2)
    loader.start()
    assert exe.run(program, fetch_list=[total])[0].tolist() == [0.0, 2.0]
    assert exe.run(program, fetch_list=[total])[0].tolist() == [4.0, 6.0]
    with pytest.raises(paddle.base.core.EOFException):
        exe.run(program, fetch_list=[total])
    loader.reset()


# -- variables
# --------------------------------------------------------------------------------------------------


def test_parameters_and_gradients_are_fetched_from_every_place(exe, parallel):
    loss = classifier()
    exe.run(static.default_startup_program())
    program = parallel(2, loss)
    bias, grad, seed = exe.run(
        program, feed=batch(), fetch_list=["fc_1.b_0", "fc_1.b_0@GRAD", loss.name + "@GRAD"]
    )
    assert bias.shape == grad.shape == (6,)
    np.testing.assert_array_equal(grad[:3], grad[3:])  # already combined
    np.testing.assert_array_equal(seed, [0.5, 0.5])


def test_places_follow_what_is_written_to_the_scope(exe, parallel):
    x = static.data("x", [None, 1])
    w = static.create_parameter(
        [1], "float32", default_initializer=paddle.nn.initializer.Constant(2.0)
    )
    y = x * w
    exe.run(static.default_startup_program())
    program, ones = parallel(3), np.ones((3, 1), "float32")
    assert exe.run(program, feed={"x": ones}, fetch_list=[y])[0].ravel().tolist() == [2.0] * 3
    static.global_scope().find_var(w.name).get_tensor().set(np.array([5.0], "float32"))
    assert exe.run(program, feed={"x": ones}, fetch_list=[y])[0].ravel().tolist() == [5.0] * 3


def test_statistics_of_batch_norm_are_each_places_own_and_the_scope_has_the_first(exe, parallel):
    x = static.data("x", [None, 1])
    loss = paddle.mean(static.nn.batch_norm(x, momentum=0.5, moving_mean_name="mean"))
    paddle.optimizer.SGD(0.0).minimize(loss)
    exe.run(static.default_startup_program())
    rows = np.array([[2.0], [4.0], [10.0], [30.0]], "float32")
    [means] = exe.run(parallel(2, loss), feed={"x": rows}, fetch_list=["mean"])
    np.testing.assert_allclose(means, [1.5, 10.0])
    np.testing.assert_allclose(values()["mean"], [1.5])


def test_random_numbers_differ_between_places_and_follow_the_seed(exe, parallel):
    x = static.data("x", [None, 100])
    y, program = F.dropout(x, 0.5), parallel(2)

    def masks():
        [out] = exe.run(program, feed={"x": np.ones((2, 100), "float32")}, fetch_list=[y])
        return out

    paddle.seed(3)
    first, second = masks(), masks()
    assert (first[0] != first[1]).any()
    assert (first != second).any()
    paddle.seed(3)
    np.testing.assert_array_equal(masks(), first)
    static.default_main_program().random_seed = 9
    np.testing.assert_array_equal(masks(), masks())


def test_random_numbers_inside_of_branches_are_the_places_own(exe, parallel):
    x, flag = static.data("x", [None, 100]), static.data("flag", [None], "bool")
    y = static.nn.cond(paddle.any(flag), lambda: F.dropout(x, 0.5), lambda: x * 3.0)
    program, seen = parallel(2), []
    for flags in ([True, True], [True, True], [True, False]):
        paddle.seed(5)
        [out] = exe.run(
            program,
            feed={"x": np.ones((2, 100), "float32"), "flag": np.array(flags)},
            fetch_list=[y],
        )
        seen.append(out)
    assert (seen[0][0] != seen[0][1]).any()
    np.testing.assert_array_equal(seen[1], seen[0])
    np.testing.assert_array_equal(seen[2][0], seen[0][0])
    np.testing.assert_array_equal(seen[2][1], np.full(100, 3.0))


def test_a_test_program_shares_the_variables_of_the_training_program(exe, parallel):
    x = static.data("x", [None, 1])
    hidden = static.nn.batch_norm(x, momentum=0.5, moving_mean_name="mean")
    test = static.default_main_program().clone(for_test=True)
    loss = paddle.mean(hidden)
    paddle.optimizer.SGD(0.1).minimize(loss)
    exe.run(static.default_startup_program())
    train = parallel(2, loss)
    with pytest.raises(UsageError, match="share_vars_from has not run yet"):
        exe.run(
            parallel(2, program=test, share_vars_from=train), feed={"x": np.ones((2, 1), "float32")}
        )
    scope, place = static.global_scope(), paddle.CPUPlace()
    for source, problem in (
        (train, "has not run yet"),
        (static.CompiledProgram(static.default_main_program()), "is not data parallel"),
    ):
        with pytest.raises(ValueError, match=f"share_vars_from {problem}"):
            parallel(2, program=test, share_vars_from=source)._compile(scope, place)
    rows = np.array([[2.0], [4.0], [10.0], [30.0]], "float32")
    exe.run(train, feed={"x": rows})
    [means] = exe.run(
        parallel(2, program=test, share_vars_from=train), feed={"x": rows}, fetch_list=["mean"]
    )
    np.testing.assert_allclose(means, [1.5, 10.0])
    with pytest.raises(UsageError, match="both must have the same places"):
        exe.run(parallel(3, program=test, share_vars_from=train), feed={"x": rows})


def test_every_operator_runs_whatever_is_fetched(exe, parallel):
    x = static.data("x", [None, 1])
    counter = static.create_global_var([1], 0.0, "float32", persistable=True, name="counter")
    paddle.increment(counter)
    exe.run(static.default_startup_program())
    program = parallel(2)
    for _ in range(3):
        exe.run(program, feed={"x": np.ones((2, 1), "float32")}, fetch_list=[x])
    assert values()["counter"] == [3.0]


def test_a_program_that_was_extended_is_lowered_anew(exe, parallel):
    x = static.data("x", [None, 1])
    program, y = parallel(2), x + 1.0
    feed = {"x": np.zeros((2, 1), "float32")}
    assert exe.run(program, feed=feed, fetch_list=[y])[0].ravel().tolist() == [1.0, 1.0]
    z = y * 5.0
    assert exe.run(program, feed=feed, fetch_list=[z])[0].ravel().tolist() == [5.0, 5.0]


# -- ParallelExecutor
# -------------------------------------------------------------------------------------------------


def test_parallel_executor_runs_on_as_many_places_as_cpu_num_says(exe, monkeypatch):
    loss = classifier()
    exe.run(static.default_startup_program())
    monkeypatch.setenv("CPU_NUM", "3")
    with static.ParallelExecutor(use_cuda=False, loss_name=loss.name) as parallel:
        assert parallel.device_count == 3
        [losses] = parallel.run([loss.name], feed=batch(rows=9))
        assert losses.shape == (3,)
        with pytest.warns(DeprecationWarning, match="feed_dict"):
            parallel.run(fetch_list=[loss], feed_dict=batch(rows=9))
        with pytest.raises(UsageError, match="not both"):
            parallel.run([loss], feed={}, feed_dict={})
        [tensor] = parallel.run([loss], feed=batch(rows=9), return_numpy=False)
        assert tensor.shape() == [3]
        assert not parallel._need_create_local_exe_scopes()
        parallel.drop_local_exe_scopes()
        assert parallel._need_create_local_exe_scopes()
        test = static.default_main_program().clone(for_test=True)
        with static.ParallelExecutor(False, main_program=test, share_vars_from=parallel) as tester:
            assert tester.run([loss.name], feed=batch(rows=9))[0].shape == (3,)


def test_parallel_executor_checks_its_arguments(exe, monkeypatch):
    monkeypatch.setenv("CPU_NUM", "2")
    loss = classifier()
    exe.run(static.default_startup_program())
    with pytest.raises(AssertionError, match="share_vars_from must be a ParallelExecutor"):
        static.ParallelExecutor(False, share_vars_from=exe)
    with pytest.raises(TypeError, match="exec_strategy must be a ExecutionStrategy"):
        static.ParallelExecutor(False, exec_strategy=3)
    with pytest.raises(TypeError, match="expected a Program"):
        static.ParallelExecutor(False, main_program="main")
    with pytest.raises(AssertionError, match="loss_name must be set"):
        static.ParallelExecutor(False).run([loss], feed=batch())
    with pytest.raises(ProgramError, match="loss_name 'lost' is no variable"):
        static.ParallelExecutor(False, loss_name="lost").run([loss], feed=batch())
    with pytest.raises(ConfigError, match="has not joined the other trainers"):
        static.ParallelExecutor(False, loss.name, num_trainers=2, trainer_id=1).run(
            [loss], feed=batch()
        )
    with pytest.raises(UsageError, match="trainer_id is 2"):
        static.ParallelExecutor(False, loss.name, num_trainers=2, trainer_id=2).run(
            [loss], feed=batch()
        )


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_cpu_places_stand_for_them(monkeypatch):
    x = static.data("x", [None, 1])
    monkeypatch.setenv("CPU_NUM", "2")
    with pytest.warns(UserWarning, match="no GPU is available"):
        parallel = static.ParallelExecutor(use_cuda=True)
    with parallel:
        assert parallel.device_count == 2
        assert parallel.run([x], feed={"x": np.ones((2, 1), "float32")})[0].shape == (2, 1)


def test_places_of_the_environment(monkeypatch, capsys):
    monkeypatch.setenv("CPU_NUM", "1")  # so that what the call sets is taken away again
    monkeypatch.delenv("CPU_NUM")
    assert static.cpu_places() == [paddle.CPUPlace()]
    assert "CPU_NUM is not set" in capsys.readouterr().err
    assert static.cpu_places() == [paddle.CPUPlace()]  # it is set now
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("CPU_NUM", "3")
    assert len(static.cpu_places()) == len(static.cuda_pinned_places()) == 3
    assert len(static.cpu_places(2)) == 2
    assert static.cuda_places([0, 2]) == [paddle.CUDAPlace(0), paddle.CUDAPlace(2)]
    monkeypatch.setenv("FLAGS_selected_gpus", "1,3")
    assert static.cuda_places() == [paddle.CUDAPlace(1), paddle.CUDAPlace(3)]
    monkeypatch.setenv("CPU_NUM", "many")
    with pytest.raises(ConfigError, match="CPU_NUM must be an integer, but is 'many'"):
        static.cpu_places()
    with pytest.raises(UsageError, match="positive integer"):
        static.cpu_places(0)


def test_compiled_program_checks_its_arguments(exe, parallel):
    x = static.data("x", [None, 1])
    program = parallel(2)
    with pytest.raises(AssertionError, match="called on this program already"):
        program.with_data_parallel()
    with pytest.raises(TypeError, match="share_vars_from must be a CompiledProgram"):
        static.CompiledProgram(static.default_main_program()).with_data_parallel(
            share_vars_from=exe
        )
    with pytest.raises(UsageError, match="at least one place"):
        static.CompiledProgram(static.default_main_program()).with_data_parallel(places=[])
    feed = {"x": np.ones((2, 1), "float32")}
    exe.run(program, feed=feed, fetch_list=[x])
    with pytest.raises(UsageError, match="belongs to the scope of its first run"):
        exe.run(program, feed=feed, fetch_list=[x], scope=static.Scope())
    plain = static.CompiledProgram(static.default_main_program(), static.BuildStrategy())
    assert exe.run(plain, feed=feed, fetch_list=[x.sum()])[0].shape == ()
    by_name = static.CompiledProgram(static.default_main_program()).with_data_parallel(
        places=["cpu", "cpu"]
    )
    assert exe.run(by_name, feed=feed, fetch_list=[x])[0].shape == (2, 1)
