"""What is done to torch beyond what it documents."""

from __future__ import annotations

import pytest
import torch

from argosy.foundation import torch_private as private


@pytest.mark.parametrize("is_first", [True, False])
def test_a_hook_for_good_runs_beside_those_of_others(is_first):
    leaf = torch.ones(2, requires_grad=True)
    out = leaf * 2
    seen = []
    if is_first:
        private.hook_for_good(out, lambda grad: seen.append("ours"))
    handle = out.register_hook(lambda grad: seen.append("theirs"))
    dropped = out.register_hook(lambda grad: seen.append("dropped"))
    if not is_first:
        private.hook_for_good(out, lambda grad: seen.append("ours"))
    dropped.remove()
    out.sum().backward(retain_graph=True)
    assert sorted(seen) == ["ours", "theirs"]
    handle.remove()
    out.sum().backward()
    assert sorted(seen) == ["ours", "ours", "theirs"]


def test_a_hook_for_good_does_not_outlive_its_tensor():
    leaf = torch.ones(2, requires_grad=True)
    out = leaf * 2
    private.hook_for_good(out, lambda grad: pytest.fail("it ran for another tensor"))
    del out
    (leaf * 2).sum().backward()
    assert leaf.grad.tolist() == [2.0, 2.0]
