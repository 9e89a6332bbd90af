"""Operators of initialisers have the attributes that Paddle's have."""

from __future__ import annotations

import pytest
from paddle.nn import initializer as I

import paddle


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
