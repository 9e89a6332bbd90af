"""Handles of inputs and outputs."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.inference import DataType, create_predictor


@pytest.fixture
def predictor(config):
    return create_predictor(config)


@pytest.fixture
def x(predictor):
    return predictor.get_input_handle("x")


@pytest.fixture
def output(predictor):
    return predictor.get_output_handle(predictor.get_output_names()[0])


def test_a_handle_that_nothing_was_written_to_has_no_values(x, output):
    for handle in (x, output):
        assert handle.shape() == [0]
        assert handle.type() is DataType.FLOAT32
        assert handle.lod() == []
        with pytest.raises(RuntimeError, match="has no value yet"):
            handle.copy_to_cpu()
    assert x.name() == "x"


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        ("float32", "FLOAT32"),
        ("float64", "FLOAT64"),
        ("float16", "FLOAT16"),
        ("int64", "INT64"),
        ("int32", "INT32"),
        ("int8", "INT8"),
        ("uint8", "UINT8"),
        ("bool", "BOOL"),
    ],
)
def test_an_array_gives_shape_and_dtype(x, dtype, kind):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    x.copy_from_cpu(array)
    assert x.type() is DataType[kind]
    assert x.shape() == [2, 3]
    np.testing.assert_array_equal(x.copy_to_cpu(), array, strict=True)


def test_integers_of_16_bits_are_widened(x):
    x.copy_from_cpu(np.ones(2, "int16"))
    assert x.copy_to_cpu().dtype == np.int32


def test_arrays_of_any_layout_are_copied(x):
    array = np.arange(12, dtype="float32").reshape(3, 4)
    for view in (array.T, array[::-1], array[:, ::2], np.array(3, "float32")):
        x.copy_from_cpu(view)
        np.testing.assert_array_equal(x.copy_to_cpu(), view, strict=True)


def test_values_are_copied_in_and_out(predictor, arrays, x, output):
    first, second = (a.copy() for a in arrays)
    x.copy_from_cpu(first)
    predictor.get_input_handle("y").copy_from_cpu(second)
    first[:] = second[:] = 9
    predictor.run()
    expected = output.copy_to_cpu()
    output.copy_to_cpu()[:] = 9
    np.testing.assert_array_equal(output.copy_to_cpu(), expected)
    predictor.run()
    np.testing.assert_array_equal(output.copy_to_cpu(), expected)


def test_handles_of_one_name_show_the_same(predictor, x):
    x.copy_from_cpu(np.ones((2, 4), "float32"))
    assert predictor.get_input_handle("x").shape() == [2, 4]
    assert predictor.get_output_handle("x").copy_to_cpu().sum() == 8


def test_reshape_before_values_and_after_them(x):
    x.reshape((3, 4))
    assert x.shape() == [3, 4]
    x.copy_from_cpu(np.arange(4, dtype="float32"))
    assert x.shape() == [4]
    x.reshape([2, 2])
    assert x.copy_to_cpu().tolist() == [[0, 1], [2, 3]]
    x.reshape([5])
    with pytest.raises(RuntimeError, match="has no value yet"):
        x.copy_to_cpu()
    with pytest.raises(TypeError, match="list of integers"):
        x.reshape([2.0, 2])


@pytest.mark.parametrize("value", [[1.0, 2.0], paddle.ones([2]), np.float32(1), None])
def test_only_arrays_are_copied(x, value):
    with pytest.raises(TypeError, match="only support numpy ndarray"):
        x.copy_from_cpu(value)


def test_strings_and_complex_numbers_are_refused(x):
    with pytest.raises(ValueError, match="strings are not supported"):
        x.copy_from_cpu(["a", "b"])
    with pytest.raises(TypeError, match="complex64"):
        x.copy_from_cpu(np.ones(2, "complex64"))


def test_outputs_cannot_be_written(output):
    for write in (
        lambda: output.copy_from_cpu(np.ones(2, "float32")),
        lambda: output.reshape([2]),
        lambda: output.share_external_data(paddle.ones([2])),
    ):
        with pytest.raises(RuntimeError, match="can be read only"):
            write()


def test_shared_memory_is_seen_by_later_runs(predictor, arrays, x, output):
    shared = paddle.to_tensor(arrays[0])
    x.share_external_data(shared)
    predictor.get_input_handle("y").copy_from_cpu(arrays[1])
    predictor.run()
    before = output.copy_to_cpu()
    shared.set_value(arrays[0] * 2)
    predictor.run()
    assert np.abs(output.copy_to_cpu() - before).max() > 1e-3
    x.copy_from_cpu(arrays[0] * 2)
    changed = output.copy_to_cpu()
    predictor.run()
    np.testing.assert_array_equal(output.copy_to_cpu(), changed)


def test_what_can_be_shared(x, static_mode):
    x.share_external_data(
        paddle.base.create_lod_tensor(np.ones((3, 4), "float32"), [[3]], paddle.CPUPlace())
    )
    assert x.shape() == [3, 4]
    assert x.lod() == []
    with pytest.raises(TypeError, match="dynamic graph mode"):
        x.share_external_data(paddle.static.data("other", [2]))
    with pytest.raises(TypeError, match="only support Tensor and LoDTensor"):
        x.share_external_data(np.ones(2))


def test_dtypes_without_a_kind_cannot_be_shared(x):
    with pytest.raises(NotImplementedError, match="int16"):
        x.share_external_data(paddle.ones([2], "int16"))


def test_sequences_go_in_and_come_out(tmp_path, static_mode):
    import paddle.fluid as fluid

    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        words = fluid.data("words", [None, 1], lod_level=1)
        total = fluid.layers.sequence_pool(words, "sum")
        kept = fluid.layers.scale(words, 2.0)
    exe = fluid.Executor(fluid.CPUPlace())
    fluid.io.save_inference_model(str(tmp_path), ["words"], [total, kept], exe, main)
    predictor = create_predictor(paddle.inference.Config(str(tmp_path)))
    handle = predictor.get_input_handle("words")
    handle.copy_from_cpu(np.arange(5, dtype="float32").reshape(5, 1))
    handle.set_lod([[0, 2, 5]])
    assert handle.lod() == [[0, 2, 5]]
    predictor.run()
    sums, doubled = (predictor.get_output_handle(n) for n in predictor.get_output_names())
    assert sums.copy_to_cpu().tolist() == [[1], [9]]
    assert doubled.lod() == [[0, 2, 5]]
    handle.set_lod([[0, 2, 9]])
    with pytest.raises(ValueError, match="there are 5 rows"):
        predictor.run()
    with pytest.raises(TypeError, match="lists of offsets"):
        handle.set_lod([0, 2])
