"""Texts of programs and variables, and warnings about what files will hold."""

from __future__ import annotations

import pytest

import paddle
import paddle.fluid as fluid


def test_details_are_what_is_set_on_variables():
    x = paddle.static.data("x", [2, 3])
    paddle.static.nn.fc(x, 3, weight_attr=paddle.ParamAttr("w", learning_rate=0.5))
    main = paddle.static.default_main_program()
    assert main.to_string(True) == str(main)
    details = main.to_string(False, with_details=True)
    assert details.startswith(str(main))
    assert "optimize_attr: {'learning_rate': 0.5}" in details
    assert x.to_string(True) == repr(x)
    assert x.to_string(True, True) == f"{x!r} (persistable: False, is_data: True)"


def test_saving_a_program_that_keeps_an_auc_warns(tmp_path):
    x = paddle.static.data("x", [None, 2])
    label = paddle.static.data("label", [None, 1], "int64")
    y = paddle.nn.functional.softmax(paddle.static.nn.fc(x, 2))
    paddle.static.auc(y, label)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    main = paddle.static.default_main_program()
    with pytest.warns(UserWarning, match="set auc states to 0 before saving"):
        paddle.static.normalize_program(main, [x], [y])
    with pytest.warns(UserWarning, match="auc states") as seen:
        fluid.io.save_inference_model(str(tmp_path), ["x"], [y], exe)
    assert str(seen[0].message).startswith("please ensure that you have set the auc states")


def test_a_list_of_places_is_refused_when_it_is_asked_for():
    from paddle.fluid.layers.device import get_places

    with pytest.raises(NotImplementedError, match="with_data_parallel"):
        get_places()
