"""The promotion rules as pure functions of dtypes."""

import pytest
import torch

from argosy.foundation.errors import DtypeError
from argosy.ops.math import promotion


def test_equal_dtypes_pass_untouched():
    x, y = torch.ones(2), torch.ones(2)
    for promote in (promotion.align, promotion.widen, promotion.strict):
        a, b = promote(x, y)
        assert a is x
        assert b is y


@pytest.mark.parametrize("promote", [promotion.align, promotion.widen, promotion.strict])
def test_integers_of_other_types_are_refused(promote):
    with pytest.raises(DtypeError, match="x: int32, y: int64"):
        promote(torch.ones(2, dtype=torch.int32), torch.ones(2, dtype=torch.int64))


def test_a_0d_tensor_adapts_widens_or_is_refused():
    x, y = torch.ones(2, dtype=torch.int32), torch.ones((), dtype=torch.int64)
    assert torch.result_type(*promotion.align(x, y)) is torch.int32
    assert torch.result_type(*promotion.widen(x, y)) is torch.int64
    with pytest.raises(DtypeError):
        promotion.strict(x, y)


def test_double_precision_wins_between_complex_and_real():
    z, d = torch.ones(2, dtype=torch.complex64), torch.ones((), dtype=torch.float64)
    assert torch.result_type(*promotion.align(z, d)) is torch.complex128


def test_half_precision_with_complex_numbers_becomes_single():
    assert (
        torch.result_type(*promotion.align(torch.ones(2, dtype=torch.float16), 1j))
        is torch.complex64
    )


def test_numbers_drop_what_the_dtype_cannot_hold():
    assert promotion.number(2.7, torch.int64) == 2
    assert promotion.number(2.7, torch.bool) is True
    assert promotion.number(2.7, torch.float32) == 2.7
