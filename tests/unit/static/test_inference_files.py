"""What saving and loading an inference model refuses and warns of, as Paddle 2.6.2 does."""

from __future__ import annotations

import numpy as np
import pytest

import paddle

pytestmark = pytest.mark.usefixtures("static_mode")


@pytest.fixture
def model():
    """An executor, an input and an output."""
    x = paddle.static.data("x", [None, 2])
    out = paddle.static.nn.fc(x, 1)
    exe = paddle.static.Executor(paddle.CPUPlace())
    exe.run(paddle.static.default_startup_program())
    return exe, x, out


@pytest.mark.parametrize("path", [None, "folder/"])
def test_a_path_must_have_a_prefix(model, path):
    exe, x, out = model
    with pytest.raises(ValueError, match="folder/prefix"):
        paddle.static.save_inference_model(path, [x], [out], exe)


@pytest.mark.parametrize("kind", [TypeError, ValueError])
def test_names_in_place_of_variables_are_refused(model, tmp_path, kind):
    exe, x, out = model
    prefix = str(tmp_path / "model")
    with pytest.raises(kind, match="feed_vars must be a Variable"):
        paddle.static.save_inference_model(prefix, "x", [out], exe)
    with pytest.raises(kind, match="fetch_vars must be a Variable"):
        paddle.static.save_inference_model(prefix, [x], ["out"], exe)


def test_a_folder_is_not_overwritten(model, tmp_path):
    exe, x, out = model
    (tmp_path / "model.pdmodel").mkdir()
    with pytest.raises(ValueError, match="is an existing directory"):
        paddle.static.save_inference_model(str(tmp_path / "model"), [x], [out], exe)


def test_a_compiled_program_is_saved_as_the_program_it_stands_for(model, tmp_path):
    exe, x, out = model
    compiled = paddle.static.CompiledProgram(paddle.static.default_main_program())
    prefix = str(tmp_path / "model")
    paddle.static.save_inference_model(prefix, [x], [out], exe, program=compiled)
    program, feeds, fetches = paddle.static.load_inference_model(prefix, exe)
    array = np.ones((2, 2), "float32")
    [found] = exe.run(program, feed={feeds[0]: array}, fetch_list=fetches)
    [expected] = exe.run(feed={"x": array}, fetch_list=[out])
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_saving_warns_of_counts_that_a_metric_keeps(tmp_path):
    x = paddle.static.data("x", [None, 2])
    label = paddle.static.data("label", [None, 1], "int64")
    scores = paddle.nn.functional.softmax(x)
    paddle.static.auc(scores, label)
    with pytest.warns(UserWarning, match="set auc states to 0"):
        paddle.static.normalize_program(paddle.static.default_main_program(), [x], [scores])


def test_wrong_arguments_of_loading_are_refused(model):
    with pytest.raises(ValueError, match="path_prefix must be a string"):
        paddle.static.load_inference_model(["model"], model[0])
    with pytest.raises(TypeError, match="must be a Program"):
        paddle.static.deserialize_persistables(None, None, None)


def test_a_program_that_keeps_nothing_has_no_bytes():
    assert paddle.static.io._serialize_persistables(paddle.static.Program(), None) is None
