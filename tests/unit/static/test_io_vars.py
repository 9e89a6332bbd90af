"""Programs and values as bytes; files of variables; inference models in folders."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import CheckpointError, UsageError

X = np.random.RandomState(0).randn(4, 6).astype("float32")


@pytest.fixture
def exe():
    return paddle.static.Executor()


@pytest.fixture
def model():
    x = paddle.static.data("x", [None, 6])
    y = paddle.static.data("y", [None, 3])
    scores = paddle.nn.functional.dropout(paddle.static.nn.fc(x, 3), 0.5)
    loss = ((scores - y) ** 2).mean()
    paddle.optimizer.Momentum(0.1).minimize(loss)
    return x, scores


def test_bytes_of_a_program_and_of_its_values(exe, model, tmp_path):
    x, scores = model
    exe.run(paddle.static.default_startup_program())
    [expected] = exe.run(
        paddle.static.normalize_program(paddle.static.default_main_program(), [x], [scores]),
        feed={"x": X},
        fetch_list=[scores.name],
    )
    program = paddle.static.serialize_program([x], [scores])
    values = paddle.static.serialize_persistables([x], [scores], exe)
    path = str(tmp_path / "folder" / "program")
    paddle.static.save_to_file(path, program)
    again = paddle.static.deserialize_program(paddle.static.load_from_file(path))
    with paddle.static.scope_guard(paddle.static.Scope()):
        paddle.static.deserialize_persistables(again, values, exe)
        [value] = exe.run(again, feed={"x": X}, fetch_list=[scores.name])
        np.testing.assert_array_equal(value, expected)
        restored, feeds, targets = paddle.static.load_inference_model(
            None, exe, model_filename=program, params_filename=values
        )
        np.testing.assert_array_equal(
            exe.run(restored, feed={feeds[0]: X}, fetch_list=targets)[0], expected
        )
    with pytest.raises(UsageError, match="content must be bytes"):
        paddle.static.save_to_file(path, "text")


def test_a_program_without_values(exe):
    x = paddle.static.data("x", [None, 2])
    y = x * 2.0
    assert paddle.static.serialize_persistables([x], [y], exe) is None
    program = paddle.static.deserialize_program(paddle.static.serialize_program([x], [y]))
    paddle.static.deserialize_persistables(program, None, exe)
    [value] = exe.run(program, feed={"x": np.ones((1, 2), "float32")}, fetch_list=[y.name])
    assert value.tolist() == [[2, 2]]


def test_a_folder_without_values(exe, tmp_path):
    x = paddle.static.data("x", [None, 2])
    y = x * 2.0
    with pytest.warns(UserWarning, match="no variable in your model"):
        paddle.static.save_inference_model(str(tmp_path / "model"), [x], [y], exe)
    program, _, targets = paddle.static.load_inference_model(str(tmp_path / "model"), exe)
    assert exe.run(program, feed={"x": np.ones((1, 2), "float32")}, fetch_list=targets)[
        0
    ].tolist() == [[2, 2]]


def test_strings_of_programs(model):
    main = paddle.static.default_main_program()
    again = paddle.static.Program.parse_from_string(main.desc.serialize_to_string())
    assert str(again) == str(main)
    with pytest.raises(CheckpointError, match=r"Program\.parse_from_string"):
        paddle.static.Program.parse_from_string(b"nonsense")


def test_normalized_programs(exe, model):
    x, scores = model
    main = paddle.static.default_main_program()
    small = paddle.static.normalize_program(main, [x], [scores])
    assert {o.role for o in small.global_block().ops} == {"forward"}
    assert "y" not in small.global_block().vars
    whole = paddle.static.normalize_program(main, [x], [scores], skip_prune_program=True)
    assert "y" in whole.global_block().vars
    with pytest.warns(UserWarning, match="which are not among feed_vars"):
        paddle.static.normalize_program(main, [], [scores])
    with pytest.raises(UsageError, match="unknown options"):
        paddle.static.normalize_program(main, [x], [scores], prune=False)
    with pytest.raises(TypeError, match="must be a Program"):
        paddle.static.normalize_program("main", [x], [scores])


def test_files_of_variables(exe, model, tmp_path):
    main = paddle.static.default_main_program()
    exe.run(paddle.static.default_startup_program())
    folder = str(tmp_path)
    paddle.static.save_vars(exe, folder, main, predicate=lambda v: v.persistable)
    weight = np.array(paddle.static.global_scope().find_var("fc_0.w_0").get_tensor())
    exe.run(paddle.static.default_startup_program())
    paddle.static.load_vars(exe, folder, main, vars=[main.global_block().var("fc_0.w_0")])
    np.testing.assert_array_equal(
        np.array(paddle.static.global_scope().find_var("fc_0.w_0").get_tensor()), weight
    )
    with pytest.raises(TypeError, match="vars must hold variables"):
        paddle.static.load_vars(exe, folder, main, vars=[3])


def test_an_update_that_counts_no_steps_keeps_no_count(model):
    kept = {v.name for v in paddle.static.default_main_program().list_vars() if v.persistable}
    assert kept == {
        "fc_0.w_0",
        "fc_0.b_0",
        "fc_0.w_0_velocity_0",
        "fc_0.b_0_velocity_0",
        "learning_rate_0",
    }


def test_a_branch_survives_an_inference_model(exe, tmp_path):
    x = paddle.static.data("x", [2])
    y = paddle.static.nn.cond(x.sum() > 0, lambda: x * 2.0, lambda: x - 1.0)
    with pytest.warns(UserWarning, match="no variable in your model"):
        paddle.static.save_inference_model(str(tmp_path / "model"), [x], [y], exe)
    program, _, targets = paddle.static.load_inference_model(str(tmp_path / "model"), exe)
    for value, expected in (([1.0, 2.0], [2.0, 4.0]), ([-1.0, 0.0], [-2.0, -1.0])):
        [got] = exe.run(program, feed={"x": np.array(value, "float32")}, fetch_list=targets)
        assert got.tolist() == expected
