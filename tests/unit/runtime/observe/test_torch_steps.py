"""Updates of torch's optimizers are heard once each."""

from __future__ import annotations

import sys

import pytest
import torch

from argosy.runtime.observe import torch_steps


class Wrapping(torch.optim.Optimizer):
    def __init__(self, inner):
        self.inner = inner
        super().__init__(inner.param_groups, {})

    def step(self, closure=None):
        return self.inner.step(closure)


@pytest.fixture
def heard(monkeypatch):
    """Hooks are the test's own."""
    hooks = sys.modules["torch.optim.optimizer"]  # no attribute of torch.optim
    for name in ("_global_optimizer_pre_hooks", "_global_optimizer_post_hooks"):
        monkeypatch.setattr(hooks, name, type(getattr(hooks, name))())
    found = []
    torch_steps.on_update(found.append)
    return found


def test_one_that_wraps_others_has_made_one_step(heard):
    inner = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))])
    outer = Wrapping(Wrapping(inner))
    outer.step()
    outer.step()
    inner.step()
    assert heard == [outer, outer, inner]


def test_a_step_that_fails_changes_nothing_for_the_next(heard):
    inner = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))])
    outer = Wrapping(inner)

    def fail():
        raise RuntimeError("no")

    for _ in range(2):
        with pytest.raises(RuntimeError):
            outer.step(fail)
    other = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))])
    outer.step()
    other.step()
    assert heard == [outer, other]
