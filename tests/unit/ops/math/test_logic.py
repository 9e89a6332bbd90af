"""Shifts against Python integers."""

import numpy as np
import pytest
import torch

from argosy.foundation.errors import UnsupportedDtype
from argosy.ops.math import logic


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64])
def test_logical_right_shift_fills_with_zeros(dtype):
    bits = dtype.itemsize * 8
    values = [-1, -100, 0, 1, 77]
    x = torch.tensor(values, dtype=dtype)
    for count in range(bits + 1):
        shifted = logic.bitwise_right_shift(x, torch.tensor(count, dtype=dtype), False)
        expected = [(value % 2**bits) >> count for value in values]
        unsigned = shifted.numpy().astype(f"int{bits}").view(f"uint{bits}")
        assert unsigned.tolist() == expected


def test_unsigned_shift_needs_no_correction():
    x = torch.tensor([200, 3], dtype=torch.uint8)
    assert logic.bitwise_right_shift(
        x, torch.tensor([1, 1], dtype=torch.uint8), False
    ).tolist() == [100, 1]


def test_shift_of_floats_is_refused():
    with pytest.raises(UnsupportedDtype, match="bitwise_left_shift"):
        logic.bitwise_left_shift(torch.ones(2), 1)


def test_isin_matches_numpy():
    x, test_x = np.arange(12).reshape(3, 4), np.array([[1, 5], [7, 30]])
    found = logic.isin(torch.tensor(x), torch.tensor(test_x)).numpy()
    np.testing.assert_array_equal(found, np.isin(x, test_x))
