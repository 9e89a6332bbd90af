"""Split tensors in a group of one: what autograd keeps, and what it does with it."""

from __future__ import annotations

import pytest
import torch
import torch.utils.checkpoint

from argosy.foundation.errors import NotSupported, UsageError
from argosy.runtime.comm.backends.loopback import LoopbackBackend
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.sharding.sharded_parameters import Order, SplitTensor
from argosy.runtime.parallel.sharding.sharded_saving import Saving


class Counting(LoopbackBackend):
    """Counts the gathers."""

    num_gathers = 0

    def all_gather(self, outputs, tensor):
        self.num_gathers += 1
        super().all_gather(outputs, tensor)


@pytest.fixture
def group():
    return Group(id=0, name="alone", ranks=[0], global_rank=0, transport=Counting())


def split_of(group, *shape):
    value = torch.arange(1.0, 1.0 + torch.Size(shape).numel()).view(shape).requires_grad_()
    return SplitTensor("w", value, group, Order()), value.detach()


def product(split, x, is_synchronised=True):
    """``x @ w`` as a layer computes it: the whole is forgotten afterwards."""
    saving = Saving()
    with saving.around():
        weight = split.whole(saving, is_synchronised)
        result = x @ weight
        saving.unwatch(weight)
    return result


def test_an_absent_tensor_has_no_values(group):
    absent = SplitTensor("layer.w", torch.zeros(2, 3, dtype=torch.float64), group, Order()).absent
    assert absent.shape == (2, 3)
    assert absent.dtype is torch.float64
    for use in (
        lambda: absent + 1,
        lambda: torch.ones(2, 2) @ absent,
        lambda: absent.detach(),
        lambda: absent.zero_(),
    ):
        with pytest.raises(UsageError, match=r"parameter 'layer\.w' is split over the ranks"):
            use()
    with pytest.raises(RuntimeError):
        absent.numpy()


def test_what_is_whole_is_gathered_again_in_backward(group):
    split, value = split_of(group, 2, 3)
    x = torch.ones(4, 2, requires_grad=True)
    y = product(split, x)
    assert group.transport.num_gathers == 1
    y.sum().backward()
    assert group.transport.num_gathers == 2
    assert torch.equal(x.grad, value.sum(1).expand(4, 2))
    assert torch.equal(split.share.grad, torch.full((6,), 4.0))
    with pytest.raises(UsageError, match="the gradient of parameter 'w' is split"):
        split.absent.grad  # noqa: B018
    with pytest.raises(NotSupported, match="setting the gradient of parameter 'w'"):
        split.absent.grad = torch.ones(2, 3)


def test_nothing_is_gathered_for_what_backward_does_not_need(group):
    split, _ = split_of(group, 2, 3)
    # the gradient of the weight needs the input only
    product(split, torch.ones(4, 2)).sum().backward()
    assert group.transport.num_gathers == 1
    with torch.no_grad():
        assert not product(split, torch.ones(4, 2)).requires_grad


def test_one_gather_serves_all_that_was_saved(group):
    split, value = split_of(group, 3, 3)
    x = torch.ones(1, 3, requires_grad=True)
    saving = Saving()
    with saving.around():
        weight = split.whole(saving, True)
        y = ((x @ weight) @ weight.t()) * weight.sum()
        saving.unwatch(weight)
    del weight
    y.sum().backward(retain_graph=True)
    assert group.transport.num_gathers == 2
    first = split.share.grad.clone()
    y.sum().backward()
    assert group.transport.num_gathers == 3
    assert torch.equal(split.share.grad, 2 * first)
    twin = value.clone().requires_grad_()
    (((torch.ones(1, 3) @ twin) @ twin.t()) * twin.sum()).sum().backward()
    assert torch.allclose(first, twin.grad.view(-1))


def test_gradients_wait_until_a_synchronised_backward(group):
    split, _ = split_of(group, 2, 2)
    product(split, torch.ones(1, 2), is_synchronised=False).sum().backward()
    assert split.is_waiting
    assert split.share.grad is None
    product(split, torch.ones(1, 2)).sum().backward()
    assert not split.is_waiting
    assert torch.equal(split.share.grad, torch.full((4,), 2.0))


def test_inside_recomputation(group):
    split, value = split_of(group, 2, 2)
    x = torch.ones(3, 2, requires_grad=True)
    kept = []

    def part(t):
        kept.append(t)
        return torch.tanh(product(split, torch.tanh(t)))

    torch.utils.checkpoint.checkpoint(part, x, use_reentrant=False).sum().backward()
    assert len(kept) == 2  # it ran again
    twin = value.clone().requires_grad_()
    other = torch.ones(3, 2, requires_grad=True)
    torch.tanh(torch.tanh(other) @ twin).sum().backward()
    assert torch.allclose(x.grad, other.grad)
    assert torch.allclose(split.share.grad, twin.grad.view(-1))


def test_a_tensor_that_was_changed_is_still_an_error(group):
    split, _ = split_of(group, 2, 2)
    x = torch.ones(1, 2).requires_grad_() * 1.0
    y = product(split, x)
    x.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_gradients_of_gradients(group):
    split, value = split_of(group, 2, 2)
    x = torch.ones(1, 2, requires_grad=True)
    (slope,) = torch.autograd.grad(torch.tanh(product(split, x) * 0.1).sum(), x, create_graph=True)
    (slope**2).sum().backward()
    twin = value.clone().requires_grad_()
    other = torch.ones(1, 2, requires_grad=True)
    (slope,) = torch.autograd.grad(torch.tanh((other @ twin) * 0.1).sum(), other, create_graph=True)
    (slope**2).sum().backward()
    assert torch.allclose(split.share.grad, twin.grad.view(-1))
    with pytest.raises(NotSupported, match="gradient of higher order"):
        (product(split, x) ** 2).sum().backward(create_graph=True)


def test_parts_of_state(group):
    split, value = split_of(group, 2, 3)
    part = split.cut(value)
    assert split.is_part(part)
    assert not split.is_part(torch.zeros(1))
    assert torch.equal(split.gather(part), value)
    assert torch.equal(split.gather_to(0, part), value)
