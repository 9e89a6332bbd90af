"""Gradients at ties and bounds are the same on every torch: what newer ones get is compared with
what Paddle gives.
"""

import math

import pytest
import torch

from argosy.ops.math import ties

X = [1.0, 2.0, 3.0, math.nan, 1.0, math.nan, -0.5]
Y = [1.0, 1.0, 4.0, 1.0, math.nan, math.nan, -0.5]


def run(function, *args):
    leaves = [torch.tensor(a, requires_grad=True) for a in args]
    out = function(*leaves)
    out.sum().backward()
    return [out.tolist(), *(leaf.grad.tolist() for leaf in leaves)]


@pytest.mark.parametrize(
    ("function", "plain", "to_first"),
    [
        (ties.larger, torch.fmax, [1, 1, 0, 0, 1, 1, 1]),
        (ties.smaller, torch.fmin, [1, 0, 1, 0, 1, 1, 1]),
    ],
)
def test_a_tie_gives_its_gradient_to_the_first(function, plain, to_first):
    values, first, second = run(function, X, Y)
    expected = plain(torch.tensor(X), torch.tensor(Y)).tolist()
    assert str(values) == str(expected)
    assert first == to_first
    assert second == [1 - share for share in to_first]


def test_a_value_on_a_bound_keeps_its_gradient():
    x = [-1.0, 0.0, 0.5, 1.0, 2.0, math.inf, math.nan]
    values, grad = run(lambda t: ties.limited(t, 0.0, 1.0), x)
    assert str(values) == str(torch.clamp(torch.tensor(x), 0.0, 1.0).tolist())
    assert grad == [0, 1, 1, 1, 0, 0, 0]


def test_what_the_ops_use_agrees_with_it():
    assert run(ties.fmax, [1.0], [1.0])[1:] == [[1], [0]]
    assert run(ties.fmin, [1.0], [1.0])[1:] == [[1], [0]]
    assert run(lambda t: ties.clamp(t, 0.0, 1.0), [0.0, 1.0])[1] == [1, 1]
