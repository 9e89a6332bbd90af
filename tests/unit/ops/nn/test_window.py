"""The geometry of windows agrees with what the engine and the definitions say."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from argosy.ops.nn import window

sizes = st.integers(1, 12)
small = st.integers(1, 5)


@given(sizes, small, small)
def test_same_padding_gives_one_window_per_stride(size, kernel, stride):
    ((before, after),) = window.to_pairs("SAME", [size], [kernel], [stride])
    assert (size + before + after - kernel) // stride + 1 == -(-size // stride)
    assert 0 <= after - before <= 1


@given(sizes, small, small, st.integers(0, 2))
def test_window_counts_are_the_engines_where_windows_fit(size, kernel, stride, amount):
    amount = min(amount, kernel // 2)
    if size + 2 * amount < kernel:
        return
    expected = torch.nn.functional.max_pool1d(
        torch.zeros(1, 1, size), kernel, stride, amount
    ).shape[-1]
    assert window.pooled_sizes([size], [kernel], [stride], [(amount, amount)], False) == [expected]


@given(sizes, small, small, st.integers(0, 2), st.booleans())
def test_inside_counts_count_elements(size, kernel, stride, before, count_padding):
    windows = 4
    counted = [0] * before + [1] * size + [0] * before
    weights = [1] * len(counted) if count_padding else counted
    expected = [sum(weights[i * stride : i * stride + kernel]) for i in range(windows)]
    assert window.inside_counts(size, kernel, stride, before, windows, count_padding) == expected


def test_two_amounts_per_axis_are_before_and_after():
    assert window.to_pairs([1, 2, 3, 4], [9, 9], [3, 3], [1, 1]) == [(1, 2), (3, 4)]
    assert window.to_pairs([1, 2], [9, 9], [3, 3], [1, 1]) == [(1, 1), (2, 2)]
    assert window.for_engine([(1, 2), (3, 4)]) == [3, 4, 1, 2]
