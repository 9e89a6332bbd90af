"""The small helpers around programs: profiler, averages, estimates of memory, seeds and places."""

import json

import numpy as np
import pytest

import paddle.fluid as fluid

pytestmark = pytest.mark.usefixtures("fresh_programs")


@pytest.fixture
def run_twice():
    y = fluid.layers.relu(fluid.data("x", [None, 3]))
    exe = fluid.Executor(fluid.CPUPlace())

    def run():
        for _ in range(2):
            exe.run(feed={"x": np.ones((2, 3), "float32")}, fetch_list=[y])

    return run


class TestProfiler:
    def test_prints_a_table_and_writes_a_trace(self, run_twice, tmp_path, capsys):
        path = tmp_path / "profile"
        with fluid.profiler.profiler("CPU", "calls", str(path)):
            run_twice()
        lines = capsys.readouterr().out.splitlines()
        header = next(line for line in lines if line.startswith("Event"))
        assert header.split() == ["Event", "Calls", "Total", "Min.", "Max.", "Ave.", "Ratio."]
        rows = {line.split()[0]: line.split()[1:] for line in lines[lines.index(header) + 1 :]}
        calls, total, least, most, average, ratio = (float(text) for text in rows["aten::relu"])
        assert calls == 2
        assert 0 < least <= average <= most <= total
        assert 0 < ratio < 1
        counts = [int(values[0]) for values in rows.values()]
        assert counts == sorted(counts, reverse=True)
        assert json.loads(path.read_text())["traceEvents"]

    def test_starts_stops_and_forgets(self, run_twice, tmp_path, capsys):
        fluid.profiler.start_profiler("All")
        run_twice()
        fluid.profiler.reset_profiler()
        fluid.profiler.stop_profiler("total", str(tmp_path / "profile"))
        assert "aten::relu" not in capsys.readouterr().out
        fluid.profiler.stop_profiler("total", str(tmp_path / "profile"))
        assert capsys.readouterr().out == ""

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [(["TPU"], "state must be 'CPU' or 'GPU' or 'All'"), (["CPU", "All"], "tracer option")],
        ids=["an unknown state", "an unknown detail"],
    )
    def test_a_profile_does_not_start_with(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            fluid.profiler.start_profiler(*arguments)

    def test_a_profile_does_not_end_sorted_by_an_unknown_key(self):
        with pytest.raises(ValueError, match="sorted_key"):
            fluid.profiler.stop_profiler("size")

    def test_a_profile_of_the_gpu_has_two_formats(self):
        with (
            pytest.raises(ValueError, match="output_mode"),
            fluid.profiler.cuda_profiler("out", "xml"),
        ):
            pass

    def test_marks_nothing_without_a_gpu(self, run_twice, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        with fluid.profiler.cuda_profiler("out", "csv"):
            run_twice()
        assert list(tmp_path.iterdir()) == []
        assert capsys.readouterr().out == ""


class TestWeightedAverage:
    def test_numbers_and_arrays(self):
        average = fluid.average.WeightedAverage()
        average.add(np.array([1.0, 3.0]), 1)
        average.add(np.array([5.0, 3.0]), 3)
        np.testing.assert_allclose(average.eval(), [4.0, 3.0])
        average.reset()
        with pytest.raises(ValueError, match="no data"):
            average.eval()

    def test_wrong_values(self):
        average = fluid.average.WeightedAverage()
        with pytest.raises(ValueError, match="value must be"):
            average.add("2", 1)
        with pytest.raises(ValueError, match="weight must be"):
            average.add(2.0, np.ones(3))


class TestMemoryUsage:
    def test_estimates(self):
        x = fluid.data("x", [None, 3])
        fluid.layers.relu(x * 2.0)
        lower, upper, unit = fluid.contrib.memory_usage(fluid.default_main_program(), batch_size=10)
        np.testing.assert_allclose([lower, upper], [240 * 1.05, 240 * 1.1])  # twice 30 numbers
        assert unit == "B"
        assert fluid.contrib.memory_usage(fluid.default_main_program(), batch_size=10**6)[2] == "MB"

    @pytest.mark.parametrize(
        ("program", "batch_size", "error", "message"),
        [
            (lambda: "main", 1, TypeError, "must be a Program"),
            (fluid.Program, 0, ValueError, "positive"),
        ],
        ids=["another thing than a program", "a batch of nothing"],
    )
    def test_memory_is_not_estimated_for(self, program, batch_size, error, message):
        with pytest.raises(error, match=message):
            fluid.contrib.memory_usage(program(), batch_size)

    def test_memory_is_not_estimated_for_two_unknown_extents(self):
        x = fluid.data("x", [None, None])
        _ = x * 2.0
        with pytest.raises(ValueError, match="more than one unknown"):
            fluid.contrib.memory_usage(fluid.default_main_program(), 2)


def test_seed_of_the_startup_program_makes_parameters_equal():
    fluid.default_startup_program().random_seed = 7
    with fluid.program_guard(fluid.default_main_program()):
        fluid.layers.create_parameter([4, 4], "float32", name="w")
    exe = fluid.Executor(fluid.CPUPlace())

    def value():
        exe.run(fluid.default_startup_program())
        return np.array(fluid.global_scope().find_var("w").get_tensor())

    assert (value() == value()).all()


def test_places_of_values_in_a_scope():
    fluid.global_scope().var("w").get_tensor().set(np.zeros((2, 3), "float32"), fluid.CPUPlace())
    tensor = fluid.global_scope().find_var("w").get_tensor()
    assert tensor._get_dims() == [2, 3]
    place = fluid.core.Place()
    place.set_place(tensor._place())
    assert place.is_cpu_place()


def test_a_learning_rate_is_left_out_of_test_programs():
    main = fluid.default_main_program()
    x = fluid.data("x", [None, 1])
    y = fluid.layers.relu(x)
    with main._lr_schedule_guard():
        fluid.layers.exp(fluid.layers.fill_constant([1], "float32", 0.5))
    kinds = [operator.type for operator in main.clone(for_test=True).global_block().ops]
    assert kinds == ["relu"]
    assert y.name in main.clone(for_test=True).global_block().vars


def test_memory_passes_change_nothing():
    x = fluid.data("x", [None, 1])
    fluid.layers.relu(x)
    main = fluid.default_main_program()
    before = str(main)
    fluid.memory_optimize(main, skip_opt_set={"x"})
    fluid.release_memory(main)
    assert str(main) == before


def test_install_check(capsys):
    fluid.install_check.run_check()
    assert "installed successfully" in capsys.readouterr().out


def test_mixed_precision_of_contrib():
    loss = fluid.layers.mean(fluid.layers.fc(fluid.data("x", [None, 4]), 2))
    optimizer = fluid.contrib.mixed_precision.decorate(
        fluid.optimizer.SGD(0.5), init_loss_scaling=8.0
    )
    optimizer.minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    before = np.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor())
    [scale] = exe.run(
        feed={"x": np.ones((2, 4), "float32")}, fetch_list=[optimizer.get_loss_scaling()]
    )
    after = np.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor())
    assert scale == 8.0
    np.testing.assert_allclose(before - after, np.full((4, 2), 0.25), rtol=1e-3)
    assert "cast" in [operator.type for operator in fluid.default_main_program().global_block().ops]
