"""Predictors of 1.x, under the names of ``fluid.core``."""

from __future__ import annotations

import numpy as np
import pytest

import paddle.fluid as fluid

core = fluid.core

pytestmark = pytest.mark.usefixtures("static_mode")


@pytest.fixture
def folder(tmp_path):
    """A folder of 1.x whose model is ``fc(x) + y``, and its mean."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        x, y = fluid.data("x", [None, 4]), fluid.data("y", [None, 2])
        weight = fluid.initializer.NumpyArrayInitializer(np.arange(8).reshape(4, 2) / 8)
        out = fluid.layers.fc(x, 2, param_attr=fluid.ParamAttr(initializer=weight)) + y
        mean = fluid.layers.mean(out)
    exe = fluid.Executor(fluid.CPUPlace())
    with fluid.scope_guard(fluid.Scope()):
        exe.run(startup)
        fluid.io.save_inference_model(str(tmp_path), ["x", "y"], [out, mean], exe, main)
    return str(tmp_path)


X, Y = np.arange(8, dtype="float32").reshape(2, 4), np.ones((2, 2), "float32")
# what Paddle 1.8.5 computes
OUT = np.array([[3.5 + 1, 4.25 + 1], [9.5 + 1, 12.25 + 1]], "float32")


def test_paddle_tensors_go_in_and_come_out(folder):
    predictor = core.create_paddle_predictor(core.AnalysisConfig(folder))
    assert isinstance(predictor, core.AnalysisPredictor)
    assert predictor.get_input_tensor_shape() == {"x": [-1, 4], "y": [-1, 2]}
    out, mean = predictor.run([core.PaddleTensor(X), core.PaddleTensor(Y)])
    assert [out.name, mean.name] == predictor.get_output_names()
    np.testing.assert_allclose(out.as_ndarray(), OUT, rtol=1e-6, strict=True)
    np.testing.assert_allclose(mean.as_ndarray().reshape(()), OUT.mean(), rtol=1e-6)
    assert (out.shape, out.dtype, out.lod) == ([2, 2], core.PaddleDType.FLOAT32, [])


def test_names_decide_only_if_the_config_says_so(folder):
    config = core.AnalysisConfig(folder)
    config.switch_specify_input_names(True)
    predictor = core.create_paddle_predictor(config).clone()
    named = [core.PaddleTensor(Y, "y"), core.PaddleTensor(X, "x")]
    np.testing.assert_allclose(predictor.run(named)[0].as_ndarray(), OUT, rtol=1e-6)
    in_order = core.create_paddle_predictor(core.AnalysisConfig(folder))
    with pytest.raises(core.EnforceNotMet, match="mul"):
        in_order.run(named)


def test_a_wrong_number_of_inputs_is_logged_and_gives_nothing(folder, caplog):
    predictor = core.create_paddle_predictor(core.AnalysisConfig(folder))
    assert predictor.run([core.PaddleTensor(X)]) == []
    assert "need 2 but get 1" in caplog.text
    with pytest.raises(TypeError, match="PaddleTensors"):
        predictor.run([X, Y])


def test_handles_have_their_older_names(folder):
    predictor = core.create_paddle_predictor(core.AnalysisConfig(folder))
    predictor.get_input_tensor("x").copy_from_cpu(X)
    predictor.get_input_tensor("y").copy_from_cpu(Y)
    assert predictor.zero_copy_run() is True
    handle = predictor.get_output_tensor(predictor.get_output_names()[0])
    assert isinstance(handle, core.ZeroCopyTensor)
    np.testing.assert_allclose(handle.copy_to_cpu(), OUT, rtol=1e-6)


def test_the_oldest_config_names_a_model_too(folder):
    config = core.NativeConfig()
    config.model_dir = folder
    predictor = core.create_paddle_predictor(config)
    found = predictor.run([core.PaddleTensor(X), core.PaddleTensor(Y)])[0]
    np.testing.assert_allclose(found.as_ndarray(), OUT, rtol=1e-6)
    native = core.AnalysisConfig(folder).to_native_config()
    assert (native.model_dir, native.use_gpu) == (folder, False)


def test_paddle_tensors_copy_unless_told_not_to():
    array = X.copy()
    copied, shared = core.PaddleTensor(array), core.PaddleTensor(array, "x", [[0, 2]], False)
    array[:] = 0
    np.testing.assert_array_equal(copied.as_ndarray(), X)
    assert not shared.as_ndarray().any()
    assert (shared.name, shared.lod) == ("x", [[0, 2]])


def test_paddle_tensors_are_filled_by_hand():
    tensor = core.PaddleTensor()
    assert (tensor.name, tensor.shape, tensor.data.length()) == ("", [], 0)
    tensor.shape, tensor.data = [2, 2], core.PaddleBuf([1.0, 2.0, 3.0, 4.0])
    assert tensor.as_ndarray().tolist() == [[1, 2], [3, 4]]
    tensor.shape, tensor.dtype = [4], core.PaddleDType.INT64
    with pytest.raises(ValueError, match="needs 4 elements of INT64"):
        tensor.as_ndarray()


def test_buffers_are_bytes():
    buffer = core.PaddleBuf(4)
    assert (buffer.length(), buffer.empty(), core.PaddleBuf(0).empty()) == (4, False, True)
    buffer.resize(16)
    buffer.reset([1.0, 2.0])
    assert (buffer.length(), buffer.float_data()) == (16, [1.0, 2.0, 0.0, 0.0])
    assert core.PaddleBuf(np.arange(3)).int64_data() == [0, 1, 2]
    assert core.PaddleBuf(np.arange(3, dtype="int32")).int32_data() == [0, 1, 2]
    with pytest.raises(ValueError, match="int32, int64 or float32"):
        buffer.tolist("float16")
