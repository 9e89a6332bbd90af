"""``framework.Variable(block, ...)``: the class of variables, called by scripts."""

from __future__ import annotations

import pytest

import paddle
from paddle.base import framework


def test_a_variable_can_be_made_by_its_class():
    block = paddle.static.default_main_program().global_block()
    made = framework.Variable(block, shape=[-1, 2], name="made", dtype="int64", persistable=True)
    assert block.var("made") is made
    assert made.shape == (-1, 2)
    assert made.dtype == paddle.int64
    assert made.persistable
    assert made.block is block
    assert (made + 1).shape == (-1, 2)
    assert framework.Variable(block=block, shape=[3]).shape == (3,)


def test_what_a_variable_does_not_know_is_refused():
    block = paddle.static.default_main_program().global_block()
    with pytest.raises(ValueError, match="unknown arguments"):
        framework.Variable(block, shape=[1], wings=2)
