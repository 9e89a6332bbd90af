"""Operators of initialisers have the attributes that Paddle's have."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.nn import initializer as I


@pytest.mark.usefixtures("static_mode")
def test_attributes_of_random_initialisers() -> None:
    with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        paddle.create_parameter([2, 3], "float32", default_initializer=I.Uniform(-0.5, 0.25))
        paddle.create_parameter([2, 3], "float32", default_initializer=I.Normal(1.0, 2.0))
        uniform, normal = paddle.static.default_startup_program().global_block().ops
    assert (uniform.attr("min"), uniform.attr("max"), uniform.attr("seed")) == (-0.5, 0.25, 0)
    assert (normal.attr("mean"), normal.attr("std"), normal.attr("seed")) == (1.0, 2.0, 0)
    with pytest.raises(ValueError, match="low"):
        uniform.attr("low")


@pytest.mark.usefixtures("static_mode")
def test_conversions_say_both_dtypes() -> None:
    cast = paddle.cast(paddle.static.data("x", [2], "float32"), "int64").block.ops[-1]
    assert [cast.attr("in_dtype"), cast.attr("out_dtype")] == [5, 3]
    assert cast.attr("in_dtype") == paddle.float32
    differs = paddle.int64 != cast.attr("out_dtype")
    assert not differs
    assert int(paddle.float32) == 5


@pytest.mark.usefixtures("static_mode")
def test_held_values_stand_in_the_attribute_of_their_dtype() -> None:
    held = {"bool_values": "bool", "int32_values": "int32", "int64_values": "int64"}
    for attr, dtype in {**held, "fp32_values": "float32"}.items():
        made = paddle.assign(np.array([[1, 0]], dtype)).block.ops[-1]
        lists = {name: value for name, value in made.all_attrs().items() if "values" in name}
        assert made.attr("shape") == [1, 2]
        assert lists.keys() == {*held, "fp32_values"}
        assert lists == {**{name: [] for name in lists}, attr: [1, 0]}


@pytest.mark.usefixtures("static_mode")
def test_parameters_of_blocks_take_a_level_of_no_sequences() -> None:
    block = paddle.static.Program().global_block()
    block.create_parameter([2], "float32", "w", lod_level=0, initializer=I.Constant(1.0))
    assert [op.type for op in block.ops] == ["fill_constant"]
    with pytest.raises(NotImplementedError, match="lod_level"):
        block.create_parameter([2], "float32", "v", lod_level=1)


@pytest.mark.usefixtures("static_mode")
def test_a_parameter_that_is_made_twice_is_filled_once() -> None:
    block = paddle.static.Program().global_block()
    for _ in range(2):
        block.create_parameter([2], "float32", "w", initializer=I.Constant(1.0))
    assert [op.type for op in block.ops] == ["fill_constant"]


@pytest.mark.usefixtures("static_mode")
def test_loss_layers_name_their_results() -> None:
    x = paddle.static.data("x", [2], "float32")
    assert "far" in paddle.nn.L1Loss(name="far")(x, x).name
