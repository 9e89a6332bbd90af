"""Ops on sequences: empty ones, gradients, what is refused."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from argosy.foundation.errors import OutOfRange, UsageError
from argosy.ops.sequences import sequence as ops
from argosy.ops.sequences import sequence_shape as shape_ops

OFFSETS = torch.tensor([0, 2, 2, 5, 6])


def values(rows=6, width=2, seed=3):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, width, generator=generator, dtype=torch.float64).requires_grad_()


def by_loop(x, offsets, kind, pad_value):
    """The pool, one sequence at a time."""
    reduce = {
        "sum": lambda s: s.sum(0),
        "average": lambda s: s.mean(0),
        "sqrt": lambda s: s.sum(0) / len(s) ** 0.5,
        "max": lambda s: s.max(0).values,
        "first": lambda s: s[0],
        "last": lambda s: s[-1],
    }[kind]
    parts = [x[start:end] for start, end in pairwise(offsets)]
    return torch.stack(
        [reduce(s) if len(s) else torch.full(x.shape[1:], pad_value, dtype=x.dtype) for s in parts]
    )


@pytest.mark.parametrize("kind", ops.POOL_TYPES)
@pytest.mark.parametrize("lengths", [[2, 0, 3, 1], [0, 0, 6], [6, 0], [1, 1, 1, 1, 1, 1]])
def test_pool_equals_a_loop_over_the_sequences(kind, lengths):
    offsets = torch.tensor([0, *lengths]).cumsum(0)
    x = values()
    torch.testing.assert_close(
        ops.sequence_pool(x, offsets, kind, 7.0), by_loop(x, offsets, kind, 7.0)
    )


@pytest.mark.parametrize("kind", ops.POOL_TYPES)
def test_pool_has_gradients_of_any_order(kind):
    def pool(x):
        return ops.sequence_pool(x, OFFSETS, kind, 7.0)

    assert torch.autograd.gradcheck(pool, values())
    assert torch.autograd.gradgradcheck(pool, values())


@pytest.mark.parametrize("kind", ops.POOL_TYPES)
def test_pool_of_empty_sequences_only(kind):
    out = ops.sequence_pool(torch.zeros(0, 3), torch.tensor([0, 0, 0]), kind, 4.0)
    torch.testing.assert_close(out, torch.full((2, 3), 4.0))


def test_the_first_of_equal_rows_gets_the_gradient_of_the_largest():
    x = torch.ones(3, 1, requires_grad=True)
    ops.sequence_pool(x, torch.tensor([0, 1, 3]), "max", 0.0).sum().backward()
    assert x.grad.flatten().tolist() == [1, 1, 0]


def test_softmax_sums_to_one_in_each_sequence_also_for_large_numbers():
    x = torch.tensor([1e4, 1e4 + 1, -1e4, 3.0, 2.0, 5.0], dtype=torch.float64, requires_grad=True)
    out = ops.sequence_softmax(x, OFFSETS)
    torch.testing.assert_close(
        ops.sequence_pool(out.unsqueeze(1), OFFSETS, "sum", 1.0), torch.ones(4, 1).double()
    )
    assert torch.autograd.gradcheck(lambda v: ops.sequence_softmax(v, OFFSETS), values(6, 1))
    assert ops.sequence_softmax(torch.zeros(0, 1), torch.tensor([0, 0])).shape == (0, 1)


def test_conv_sees_zeros_outside_of_its_sequence():
    weight = torch.eye(3, dtype=torch.float64)
    x = torch.arange(1.0, 7.0, dtype=torch.float64).unsqueeze(1)
    out = ops.sequence_conv(x, OFFSETS, weight, -1, 3)
    assert out.tolist() == [[0, 1, 2], [1, 2, 0], [0, 3, 4], [3, 4, 5], [4, 5, 0], [0, 6, 0]]
    assert ops.sequence_conv(x[:0], torch.tensor([0, 0]), weight, -1, 3).shape == (0, 3)
    both = values(), values(6, 4, seed=4)
    assert torch.autograd.gradcheck(lambda v, w: ops.sequence_conv(v, OFFSETS, w, 0, 3), both)


@pytest.mark.parametrize(
    "name", ["reverse", "pad", "expand", "expand sequences", "slice", "reshape"]
)
def test_rearranging_has_gradients(name):
    start, length = torch.tensor([[1], [0], [0], [0]]), torch.tensor([[1], [0], [2], [1]])
    functions = {
        "reverse": lambda x: ops.sequence_reverse(x, OFFSETS),
        "pad": lambda x: shape_ops.sequence_pad(x, OFFSETS, torch.zeros(1).double(), 4)[0],
        "expand": lambda x: shape_ops.sequence_expand(x, torch.tensor([0, 2, 2, 3, 5, 5, 9]), None),
        "expand sequences": lambda x: shape_ops.sequence_expand(
            x, torch.tensor([0, 2, 5, 5, 6]), OFFSETS
        )[0],
        "slice": lambda x: shape_ops.sequence_slice(x, OFFSETS, start, length)[0],
        "reshape": lambda x: shape_ops.sequence_reshape(x, OFFSETS, 1)[0],
    }
    assert torch.autograd.gradcheck(functions[name], values())


def test_unpad_undoes_pad():
    x = values()
    padded, lengths = shape_ops.sequence_pad(x, OFFSETS, torch.tensor([9.0]).double(), -1)
    assert padded.shape == (4, 3, 2)
    assert lengths.tolist() == [2, 0, 3, 1]
    again, offsets = shape_ops.sequence_unpad(padded, lengths)
    torch.testing.assert_close(again, x)
    assert offsets.tolist() == OFFSETS.tolist()


def test_results_without_rows():
    none, two = torch.zeros(0, 3), torch.tensor([0, 0, 0])
    assert shape_ops.sequence_pad(none, two, torch.tensor(7.0), 2)[0].eq(7.0).all()
    assert shape_ops.sequence_pad(none, two, torch.tensor(7.0), -1)[0].shape == (2, 0, 3)
    assert ops.sequence_reverse(none, two).shape == (0, 3)
    assert ops.sequence_enumerate(torch.zeros(0, 1, dtype=torch.int64), two, 2, 0).shape == (0, 2)
    out, offsets = shape_ops.sequence_concat([none, none], [two, two])
    assert (out.shape, offsets.tolist()) == ((0, 3), [0, 0, 0])
    out, offsets = shape_ops.sequence_expand(torch.ones(2, 3), two, torch.tensor([0, 1, 2]))
    assert (out.shape, offsets.tolist()) == ((0, 3), [0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x: ops.sequence_softmax(x, OFFSETS),
            r"one number per row, but its shape is \[6, 2\]",
        ),
        (
            lambda x: ops.sequence_enumerate(x, OFFSETS, 2, 0),
            r"one id per row, but its shape is \[6, 2\]",
        ),
        (
            lambda x: shape_ops.sequence_expand(x, OFFSETS, None),
            "x has 6 rows, but y has 4 sequences",
        ),
        (
            lambda x: shape_ops.sequence_expand_as(x, OFFSETS),
            "sequence_expand_as: x has 6 rows, but y has 4 sequences",
        ),
        (
            lambda x: shape_ops.sequence_expand(x, torch.tensor([0, 6]), OFFSETS),
            "x has 4 sequences, but y has 1 sequences",
        ),
        (
            lambda x: shape_ops.sequence_pad(x, OFFSETS, x.new_zeros(1), 2),
            "maxlen=2, but the longest sequence has 3 rows",
        ),
        (
            lambda x: shape_ops.sequence_pad(x, OFFSETS, x.new_zeros(3), -1),
            r"shape of a row, \[2\], but its shape is \[3\]",
        ),
        (
            lambda x: shape_ops.sequence_pad(x[:, 0], OFFSETS, x.new_zeros(1), -1),
            r"but its shape is \[6\]",
        ),
        (
            lambda x: shape_ops.sequence_unpad(x, torch.tensor([1, 2, 3, 0, 0, 0])),
            r"length must be 6 numbers from 0 to 2, but received \[1, 2, 3, 0, 0, 0\]",
        ),
        (lambda x: shape_ops.sequence_unpad(x, torch.ones(6, 1).long()), r"\[6, 2\] and \[6, 1\]"),
        (
            lambda x: shape_ops.sequence_concat([x, x], [OFFSETS, torch.tensor([0, 6])]),
            r"as many sequences, but they have \[4, 1\]",
        ),
        (
            lambda x: shape_ops.sequence_slice(
                x, OFFSETS, torch.zeros(4, 1).long(), torch.zeros(3, 1).long()
            ),
            "4 sequences need as many offsets and lengths, but received 4 and 3",
        ),
        (
            lambda x: shape_ops.sequence_reshape(x, OFFSETS, 4),
            "sequence 2 has 6 numbers, which are no multiple of new_dim=4",
        ),
        (
            lambda x: shape_ops.lod_reset(x, torch.tensor([0, 3])),
            r"must rise from 0 to 6, the rows of x, but is \[0, 3\]",
        ),
        (lambda x: shape_ops.lod_reset(x, torch.tensor([0, 4, 3, 6])), "must rise"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(UsageError, match=message):
        call(values().detach())


def test_what_lies_outside_is_an_index_error():
    x = values().detach()
    start, length = torch.tensor([[0], [0], [2], [0]]), torch.tensor([[1], [0], [2], [1]])
    with pytest.raises(
        OutOfRange, match="sequence 2 has 3 rows, which do not hold 2 rows from row 2 on"
    ):
        shape_ops.sequence_slice(x, OFFSETS, start, length)
    index, updates = torch.tensor([[0], [2]]), x.new_ones(2, 1)
    with pytest.raises(OutOfRange, match=r"index must lie in \[0, 2\), but is \[0, 2\]"):
        ops.sequence_scatter(x[:2], index, updates, torch.tensor([0, 1, 2]))


def test_shapes_without_values():
    """On the meta device a number of rows that values decide is the number of sequences."""
    x = torch.empty(10, 4, device="meta")
    offsets = torch.empty(7, dtype=torch.int64, device="meta")
    lengths = torch.empty(5, dtype=torch.int64, device="meta")
    assert ops.sequence_pool(x, offsets, "max", 0.0).shape == (6, 4)
    assert ops.sequence_conv(x, offsets, torch.empty(12, 5, device="meta"), -1, 3).shape == (10, 5)
    assert ops.sequence_reverse(x, offsets).shape == (10, 4)
    assert shape_ops.sequence_pad(x, offsets, x.new_empty(1), -1)[0].shape == (6, 6, 4)
    assert shape_ops.sequence_pad(x, offsets, x.new_empty(1), 9)[0].shape == (6, 9, 4)
    assert [t.shape for t in shape_ops.sequence_unpad(x.new_empty(5, 8, 2), lengths)] == [
        (5, 2),
        (6,),
    ]
    assert [t.shape for t in shape_ops.sequence_reshape(x, offsets, 2)] == [(6, 2), (7,)]
    assert [t.shape for t in shape_ops.sequence_concat([x, x], [offsets, offsets])] == [
        (6, 4),
        (7,),
    ]
