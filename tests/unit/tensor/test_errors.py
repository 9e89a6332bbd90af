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
