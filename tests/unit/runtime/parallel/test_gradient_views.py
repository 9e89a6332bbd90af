"""What users see of gradients that live in buckets."""

from __future__ import annotations

import pytest
import torch

from argosy.runtime.comm.backends.loopback import LoopbackBackend
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.gradient_views import GradientView, lay_out
from argosy.runtime.parallel.module import DataParallelModule
from argosy.runtime.parallel.reducer import ReducerOptions


@pytest.fixture
def group():
    alone = Group(id=0, name="alone", ranks=[0], global_rank=0, transport=LoopbackBackend())
    yield alone
    alone.close()


@pytest.fixture
def pair(group):
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    model = DataParallelModule(module, group, ReducerOptions())
    yield module, model
    model.close()


X = torch.tensor([[1.0, 2.0]])


def test_a_gradient_whose_memory_was_exchanged(pair):
    module, model = pair
    model(X).sum().backward()
    wanted = module[1].bias.grad.clone()
    module[1].bias.grad.data = torch.full((1,), 7.0)
    module.zero_grad()
    model(X).sum().backward()
    assert torch.equal(module[1].bias.grad, wanted)


def test_gradients_that_are_not_contiguous_or_sparse(group):
    class Table(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(2, 3, 2).to(memory_format=torch.channels_last)
            self.weight = torch.nn.Parameter(torch.ones(4, 3))

        def forward(self, x, ids):
            rows = torch.nn.functional.embedding(ids, self.weight, sparse=True)
            return self.conv(x).sum() + rows.sum()

    module = Table()
    model = DataParallelModule(module, group, ReducerOptions())
    x = torch.arange(18.0).view(1, 2, 3, 3)
    for _ in range(2):
        module.zero_grad()
        model(x, torch.tensor([1, 1, 3])).backward()
        kernel = x.unfold(2, 2, 1).unfold(3, 2, 1).sum((2, 3))[0]
        assert torch.equal(module.conv.weight.grad, kernel.expand(3, -1, -1, -1))
        assert module.weight.grad[:, 0].tolist() == [0, 2, 0, 1]
    model.close()


def test_hooks_of_users_see_and_change_gradients(pair):
    module, model = pair
    seen = []
    weight = module[0].weight
    weight.register_hook(lambda grad: grad * 2)
    weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
    with torch.no_grad():
        module[1].weight.fill_(1.0)
    for _ in range(3):
        module.zero_grad()
        model(X).sum().backward()
        assert seen.pop().tolist() == [[2.0, 4.0], [2.0, 4.0]]
        assert weight.grad.tolist() == [[2.0, 4.0], [2.0, 4.0]]


def test_cleared_gradients_are_none_and_those_set_to_zero_are_added_to(pair):
    module, model = pair
    model(X).sum().backward()
    module.zero_grad()
    assert all(p.grad is None for p in module.parameters())
    model(X).sum().backward()
    module.zero_grad(set_to_none=False)
    assert all(float(p.grad.abs().sum()) == 0 for p in module.parameters())
    model(X).sum().backward()
    assert module[1].bias.grad.tolist() == [1.0]


@pytest.mark.parametrize("is_contiguous", [True, False])
def test_a_full_bucket_says_that_every_gradient_is_there(is_contiguous):
    """However they are brought there: in one loop, or by torch if one is not contiguous."""
    params = [torch.nn.Parameter(torch.zeros(2, 3)), torch.nn.Parameter(torch.zeros(4))]
    views = {i: GradientView(i, param, None, False) for i, param in enumerate(params)}
    backend = LoopbackBackend()
    (bucket,) = lay_out(
        views, params, [0, 1], 1 << 20, 1 << 20, lambda n, dtype, *_: backend.make_bucket(n, dtype)
    )
    values = torch.arange(6.0).view(2, 3) if is_contiguous else torch.arange(6.0).view(3, 2).t()
    params[0].grad, params[1].grad = values, torch.ones(4)
    bucket.arrived.update((0, 1))
    bucket.fill((), is_last=False)
    assert bucket.bucket.tensor[-2:].tolist() == [1.0, 1.0]
    assert torch.equal(views[0].place, values)
    assert torch.equal(views[1].place, torch.ones(4))
