"""Errors of ops: what they derive from can be walked to its end."""

from __future__ import annotations

import pytest

import paddle
from argosy.foundation.errors import raise_as


def causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None:
        assert error not in found, "an error is its own cause"
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def test_an_error_that_is_ours_already_is_not_its_own_cause():
    with pytest.raises(IndexError) as caught:
        paddle.nn.functional.embedding(paddle.to_tensor([9]), paddle.ones([3, 2]))
    assert len(causes(caught.value)) >= 1


def test_an_error_of_the_engine_is_the_cause_of_ours():
    for act in (
        lambda: paddle.ones([2]) + paddle.ones([3]),
        lambda: paddle.matmul(paddle.ones([2]), paddle.ones([3])),
    ):
        with pytest.raises(ValueError) as caught:
            act()
        assert [type(error).__name__ for error in causes(caught.value)] == [
            "UsageError",
            "RuntimeError",
        ]


def test_raising_an_error_as_itself_keeps_its_cause():
    def act():
        try:
            raise second
        except KeyError as error:
            raise_as(error, error)

    first, second = ValueError("first"), KeyError("second")
    second.__cause__ = first
    with pytest.raises(KeyError) as caught:
        act()
    assert causes(caught.value) == [second, first]


def test_no_elements_do_not_take_every_shape():
    assert paddle.zeros([0, 6]).reshape([2, 0, -1]).shape == [2, 0, 3]
    with pytest.raises(ValueError, match="cannot take the shape"):
        paddle.zeros([0]).reshape([2, 0, -1])


def test_cosine_embedding_loss_takes_floats():
    ids = paddle.ones([2, 3], "int64")
    with pytest.raises(ValueError, match="float32 or float64 inputs"):
        paddle.nn.functional.cosine_embedding_loss(ids, ids, paddle.ones([2]))


def test_variance_in_a_program_is_of_floats():
    assert paddle.var(paddle.to_tensor([1, 3])).item() == 2
    with paddle.pir_utils.IrGuard(), paddle.static.program_guard(paddle.static.Program()):
        x = paddle.static.data("x", [2, 3], "int32")
        with pytest.raises(TypeError, match="floating-point dtype"):
            paddle.var(x)


def test_transposed_convolution_of_an_unknown_size_has_the_size_asked_for():
    with paddle.pir_utils.IrGuard(), paddle.static.program_guard(paddle.static.Program()):
        x = paddle.static.data("x", [-1, 2, -1])
        weight = paddle.static.data("w", [2, 3, 3])
        out = paddle.nn.functional.conv1d_transpose(x, weight, stride=2, output_size=[12])
        assert list(out.shape) == [-1, 3, 12]
