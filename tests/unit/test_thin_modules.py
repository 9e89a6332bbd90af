"""Modules that Paddle has for scripts of other versions, and small functions at their paths."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import paddle
import paddle.compat as cpt
from paddle.fluid import contrib, core
from paddle.incubate import autotune
from paddle.incubate.layers import batch_fc, partial_concat, partial_sum, shuffle_batch


def test_compat_converts_texts_and_bytes():
    words = ["ä", b"b"]
    assert cpt.to_bytes(words, inplace=True) is words
    assert words == [b"\xc3\xa4", b"b"]
    assert cpt.to_text({b"k": b"v"}) == {"k": "v"}
    assert cpt.to_text(None) is None
    assert cpt.round(2.5) == 3.0
    assert cpt.round(-0.25, 1) == -0.3
    assert cpt.get_exception_message(ValueError("why")) == "why"


def test_parts_of_columns():
    x = paddle.arange(6).reshape([2, 3])
    assert partial_concat([x, x], 1, 1).tolist() == [[1, 1], [4, 4]]
    assert partial_sum([x, x], -2).tolist() == [[2, 4], [8, 10]]
    assert contrib.layers.partial_sum is partial_sum
    with pytest.raises(ValueError, match="leave the 3 columns"):
        partial_sum([x], 2, 2)
    with pytest.warns(UserWarning, match="should be list"):
        partial_concat(x)


def test_layers_side_by_side():
    x = paddle.ones([2, 3, 4])
    one = paddle.ParamAttr(initializer=paddle.nn.initializer.Constant(1.0))
    out = batch_fc(x, [2, 4, 5], one, [2, 5], one, "relu")
    assert out.shape == [2, 3, 5]
    assert out.numpy().max() == out.numpy().min() == 5.0
    with pytest.raises(AssertionError, match="batch_fc"):
        batch_fc(x, [2, 3, 5], one, [2, 5], one)


def test_rows_are_shuffled_in_programs_too():
    rows = np.arange(60, dtype="float32").reshape(20, 3)
    eager = shuffle_batch(paddle.to_tensor(rows.reshape(4, 5, 3)))
    assert eager.shape == [4, 5, 3]
    paddle.enable_static()
    program = paddle.static.Program()
    with paddle.static.program_guard(program):
        out = shuffle_batch(paddle.static.data("x", [-1, 3]))
        exe = paddle.static.Executor()
        runs = [exe.run(program, feed={"x": rows}, fetch_list=[out])[0] for _ in range(2)]
    paddle.disable_static()
    for found in (eager.numpy().reshape(-1, 3), *runs):
        assert sorted(found.tolist()) == rows.tolist()
        assert found.tolist() != rows.tolist()
    assert runs[0].tolist() != runs[1].tolist()


def test_softmax_below_the_diagonal():
    out = paddle.incubate.softmax_mask_fuse_upper_triangle(paddle.zeros([1, 1, 3, 3]))
    np.testing.assert_allclose(out[0, 0].numpy(), np.tril(np.ones([3, 3])) / [[1], [2], [3]], 1e-6)


def test_tuning_is_asked_for(tmp_path):
    flag = "FLAGS_use_autotune"
    autotune.set_config({"kernel": {"enable": True, "tuning_range": [1, 2]}})
    assert paddle.get_flags(flag)[flag]
    file = tmp_path / "tuning.json"
    file.write_text(json.dumps({"kernel": {"enable": 1, "tuning_range": 1}}))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        autotune.set_config(str(file))
    assert len(told) == 2
    autotune.set_config({"kernel": {"enable": False}})
    assert not paddle.get_flags(flag)[flag]


def test_there_are_no_custom_devices():
    with pytest.raises(ValueError, match="npu"):
        paddle.CustomPlace("npu", 0)
    assert not isinstance(paddle.CPUPlace(), core.CustomPlace)


def test_functions_in_modules_of_their_name():
    from paddle.nn.utils.clip_grad_value_ import clip_grad_value_

    assert clip_grad_value_ is paddle.nn.utils.clip_grad_value_


def test_version_of_the_api():
    assert paddle.version.istaged is paddle.version.is_tagged is True
    assert paddle.version.commit.isalnum()
    assert isinstance(paddle.version.cuda_archs(), list)


def test_elements_of_variables_by_function():
    from paddle.base.variable_index import _getitem_static, _setitem_static

    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program()):
            x = paddle.zeros([2, 3])
            changed = _setitem_static(x, (slice(None), 1), 5.0)
            fetches = [x, changed, _getitem_static(changed, (0, slice(1, None)))]
            before, after, part = paddle.static.Executor().run(fetch_list=fetches)
    finally:
        paddle.disable_static()
    assert before.sum() == 0
    assert after.tolist() == [[0, 5, 0], [0, 5, 0]]
    assert part.tolist() == [5, 0]
