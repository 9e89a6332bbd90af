"""Types of operators in the description of a program that was read: those of Paddle."""

from __future__ import annotations

import paddle


def test_choices_have_the_types_of_the_operators_that_paddle_makes_them_with(tmp_path):
    x = paddle.static.data("x", [1, 2])
    y = paddle.static.nn.cond(x.sum() > 1.0, lambda: x + 1.0, lambda: x - 1.0)
    y = paddle.static.nn.fc(y, 2)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    paddle.static.save_inference_model(str(tmp_path / "m"), [x], [y], exe)
    data = paddle.static.load_from_file(str(tmp_path / "m.pdmodel"))
    block = paddle.static.deserialize_program(data).desc.block(0)
    types = {block.op(i).type() for i in range(block.op_size())}
    assert {"greater_than", "logical_not", "conditional_block", "cast", "select_input"} <= types
