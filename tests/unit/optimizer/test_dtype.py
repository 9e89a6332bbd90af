"""Optimizers know the dtype that they train."""

from __future__ import annotations

import paddle


def test_is_that_of_the_parameters() -> None:
    weight = paddle.create_parameter([2], "float64")
    assert paddle.optimizer.Adam(parameters=[weight])._dtype == paddle.float64
