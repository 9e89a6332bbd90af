"""npair_loss in eager mode."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F


def test_labels_of_any_dtype_are_compared() -> None:
    labels = paddle.to_tensor([1, 0], dtype="int32")
    assert F.npair_loss(paddle.ones([2, 3]), paddle.ones([2, 3]), labels).shape == []


@pytest.mark.parametrize("error", [TypeError, ValueError])
def test_an_array_in_place_of_a_tensor_is_a_wrong_type_and_value(error: type[Exception]) -> None:
    with pytest.raises(error):
        F.npair_loss(np.ones([2, 3]), paddle.ones([2, 3]), paddle.ones([2]))
