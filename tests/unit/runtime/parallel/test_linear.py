"""Linear layers of torch modules that write their weight gradients into the bucket."""

from __future__ import annotations

import copy

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from argosy.runtime.comm.backends.loopback import LoopbackBackend
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.module import DataParallelModule
from argosy.runtime.parallel.reducer import ReducerOptions

WIDTH = 384  # of a weight that is large enough to be written in place


class _Net(torch.nn.Module):
    def __init__(self, has_bias=True, is_checkpointed=False):
        super().__init__()
        self.first = torch.nn.Linear(8, WIDTH)
        self.wide = torch.nn.Linear(WIDTH, WIDTH, bias=has_bias)
        self._is_checkpointed = is_checkpointed

    def forward(self, x):
        hidden = self.first(x)
        if self._is_checkpointed:
            return checkpoint(self.wide, hidden, use_reentrant=False)
        return self.wide(hidden)


@pytest.fixture(params=["loopback", "hierarchical"])
def wrap(request):
    transport = LoopbackBackend()
    transport.kind = request.param  # between hosts gradients of weights come first
    group = Group(id=0, name="alone", ranks=[0], global_rank=0, transport=transport)
    made = []

    def wrapped(module):
        made.append(DataParallelModule(module, group, ReducerOptions()))
        return made[-1]

    yield wrapped
    for model in made:
        model.close()
    group.close()


def _grads(model, module, x, times=1):
    module.zero_grad()
    for _ in range(times):
        model(x).square().sum().backward()
    return [p.grad.clone() for p in module.parameters()]


@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("shape", [(4, 8), (2, 3, 8)])
@pytest.mark.parametrize("times", [1, 2])
def test_gradients_are_those_of_torch(wrap, has_bias, shape, times):
    torch.manual_seed(0)
    module = _Net(has_bias)
    alone = copy.deepcopy(module)
    model = wrap(module)
    x = torch.randn(shape)
    for _ in range(2):
        found, wanted = _grads(model, module, x, times), _grads(alone, alone, x, times)
        assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))


def test_the_gradient_of_a_large_weight_is_written_in_place(wrap):
    module = _Net()
    model = wrap(module)
    places = {}

    def note(name):
        return lambda grad: places.__setitem__(name, grad.data_ptr())

    module.wide.weight.register_hook(note("large"))
    module.first.weight.register_hook(note("small"))
    model(torch.randn(4, 8)).sum().backward()  # after which buckets are laid out anew
    for _ in range(2):
        module.zero_grad()
        model(torch.randn(4, 8)).sum().backward()
        assert places["large"] == module.wide.weight.grad.data_ptr()
        assert places["small"] != module.first.weight.grad.data_ptr()


def test_layers_are_as_they_were_outside_of_forward(wrap):
    module = _Net()
    model = wrap(module)
    seen = []
    module.wide.register_forward_pre_hook(lambda layer, _: seen.append("forward" in vars(layer)))
    model(torch.randn(4, 8))
    assert seen == [True]
    assert "forward" not in vars(module.wide)
    with pytest.raises(RuntimeError):
        model(torch.randn(4, 9))
    assert "forward" not in vars(module.wide)


@pytest.mark.filterwarnings("ignore:.torch.jit.script")  # in forward_ad
def test_where_torch_does_more_than_run_ops(wrap):
    """Autocast, recomputation, vmap, forward-mode derivatives and second derivatives."""
    torch.manual_seed(0)
    module = _Net()
    alone, again = copy.deepcopy(module), _Net(is_checkpointed=True)
    again.load_state_dict(module.state_dict())
    model, recomputed = wrap(module), wrap(again)
    x = torch.randn(4, 8)
    with torch.autocast("cpu", torch.bfloat16):
        assert model(x).dtype is torch.bfloat16
    assert torch.equal(_grads(recomputed, again, x)[2], _grads(alone, alone, x)[2])
    with model.no_sync():
        assert torch.func.vmap(model)(x[None]).shape == (1, 4, WIDTH)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
        assert torch.autograd.forward_ad.unpack_dual(model(dual)).tangent is not None
    x.requires_grad_()
    for net in (model, alone):
        (inner,) = torch.autograd.grad(net(x).square().sum(), x, create_graph=True)
        net.zero_grad()
        inner.square().sum().backward()
    assert torch.allclose(module.wide.weight.grad, alone.wide.weight.grad)
