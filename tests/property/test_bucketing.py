"""Properties of the split of gradients into buckets."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from argosy.runtime.parallel.bucketing import Item, offsets, plan

DTYPES = (torch.float16, torch.float32, torch.float64)


@st.composite
def gradients(draw):
    """Items in an order of arrival that is not that of their indices."""
    shapes = draw(st.lists(st.tuples(st.integers(0, 50), st.sampled_from(DTYPES)), max_size=40))
    items = [Item(index=i, numel=numel, dtype=dtype) for i, (numel, dtype) in enumerate(shapes)]
    return draw(st.permutations(items))


limits = st.integers(0, 400)


@given(gradients(), limits, limits)
def test_every_gradient_is_in_one_bucket_with_others_of_its_dtype(items, limit, last_limit):
    by_index = {item.index: item for item in items}
    buckets = plan(items, limit, last_limit)
    assert sorted(i for bucket in buckets for i in bucket) == sorted(by_index)
    assert all(len({by_index[i].dtype for i in bucket}) == 1 for bucket in buckets)


@given(gradients(), limits, limits)
def test_order_is_that_of_arrival(items, limit, last_limit):
    position = {item.index: at for at, item in enumerate(items)}
    buckets = [[position[i] for i in bucket] for bucket in plan(items, limit, last_limit)]
    assert all(bucket == sorted(bucket) for bucket in buckets)
    complete = [bucket[-1] for bucket in buckets]
    assert complete == sorted(complete)


@given(gradients(), limits, limits)
def test_a_bucket_reaches_its_limit_only_with_the_gradient_that_arrives_first(
    items, limit, last_limit
):
    by_index = {item.index: item for item in items}
    largest = max(limit, last_limit)
    for bucket in plan(items, limit, last_limit):
        rest = sum(by_index[i].num_bytes for i in bucket[1:])
        assert not bucket[1:] or rest < largest


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), limits, limits)
def test_one_dtype_fills_all_but_the_first_bucket(numels, limit, last_limit):
    items = [Item(index=i, numel=n, dtype=torch.float32) for i, n in enumerate(numels)]
    *others, last = plan(items, limit, last_limit)
    sizes = [sum(items[i].num_bytes for i in bucket) for bucket in others]
    assert all(size >= limit for size in sizes[1:])
    if others:
        assert sum(items[i].num_bytes for i in last) >= last_limit
        assert [i for bucket in (*others, last) for i in bucket] == list(range(len(numels)))


@given(gradients(), limits, limits)
def test_the_plan_is_a_function_of_its_input(items, limit, last_limit):
    assert plan(items, limit, last_limit) == plan(list(items), limit, last_limit)


@given(st.lists(st.integers(0, 1000), max_size=40), st.integers(1, 64))
def test_offsets_are_aligned_and_do_not_overlap(numels, alignment):
    starts, total = offsets(numels, alignment)
    assert len(starts) == len(numels)
    assert all(start % alignment == 0 for start in starts)
    ends = [start + numel for start, numel in zip(starts, numels, strict=True)]
    following = [*starts, total][1:]
    assert all(end <= start for end, start in zip(ends, following, strict=True))
    assert total < sum(numels) + alignment * max(len(numels), 1)
