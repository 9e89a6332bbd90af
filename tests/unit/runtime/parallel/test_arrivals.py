"""Gradients are noted when they come; what follows from them happens in time."""

from __future__ import annotations

import pytest
import torch

from argosy.foundation.errors import UsageError
from argosy.runtime.comm.backends.loopback import LoopbackBackend
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.module import DataParallelModule
from argosy.runtime.parallel.reducer import ReducerOptions


class Chain(torch.nn.Module):
    """A product of weights: their gradients come in the order in which they are named, as the first
    is multiplied last.
    """

    def __init__(self, names: str) -> None:
        super().__init__()
        for name in names:
            self.register_parameter(name, torch.nn.Parameter(torch.ones(1)))

    def forward(self, x: torch.Tensor, names: str) -> torch.Tensor:
        for name in reversed(names):
            x = x * self.get_parameter(name)
        return x


@pytest.fixture
def wrapped():
    """A chain of a, b, c, d: the first three are in one bucket, d in the last."""
    group = Group(id=0, name="alone", ranks=[0], global_rank=0, transport=LoopbackBackend())
    module = Chain("dcba")
    model = DataParallelModule(module, group, ReducerOptions(last_bucket_bytes=1))
    yield module, model
    model.close()
    group.close()


X = torch.tensor([2.0])


def test_a_bucket_leaves_before_the_end_also_when_the_order_has_changed(wrapped):
    module, model = wrapped
    sent = []
    first = model._reducer._buckets[0]
    module.d.register_hook(lambda grad: sent.append(first.is_sent))  # before d's has come
    for order in ("abcd", "abcd", "acbd", "acbd", "bcad"):
        module.zero_grad()
        model(X, order).backward()
        assert [p.grad.tolist() for p in module.parameters()] == [[2.0]] * 4
    assert sent == [True, True, False, True, True]


def test_a_gradient_is_only_noted_until_something_can_follow(wrapped):
    module, model = wrapped
    seen = []
    noted = model._reducer._arrivals.indices
    for name in "bd":
        module.get_parameter(name).register_hook(lambda grad: seen.append(list(noted)))
    model(X, "abcd").backward()
    assert seen == [[3], []]  # a's, when b's comes; nothing after c's, with which the bucket left
    assert noted == []


class Again(torch.autograd.Function):
    """Runs a backward of its own in backward."""

    @staticmethod
    def forward(ctx, x, weights):
        (ctx.weight,) = weights  # a list, so that the graph does not lead to it
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        with torch.enable_grad():
            (ctx.weight * 3).sum().backward()
        return grad, None


class Twice(Chain):
    """Gives a weight a second gradient when the others but d's have come."""

    def forward(self, x: torch.Tensor, name: str) -> torch.Tensor:
        x = Again.apply(x * self.d, [self.get_parameter(name)])
        return x * self.c * self.b * self.a


def test_a_second_gradient_after_the_first_has_left(wrapped):
    module, model = wrapped
    module.__class__ = Twice
    with pytest.raises(UsageError, match=r"'a' got a second gradient in one backward, after the"):
        model(X, "a").backward()
    module.zero_grad()
    module.__class__ = Chain
    model(X, "abcd").backward()  # completes the round that failed, and runs one
    assert [p.grad.tolist() for p in module.parameters()] == [[2.0]] * 4
