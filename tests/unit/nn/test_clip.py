"""Clipping of gradients: the raw contract of optimizers, sparse gradients, memory."""

import math

import numpy as np
import pytest
import torch

import paddle
from paddle import nn


def sparse():
    """Row 1 twice, row 3 once; dense it is [[0, 0], [4, 6], [0, 0], [5, 6]]."""
    values = torch.tensor([[1.0, 2.0], [5.0, 6.0], [3.0, 4.0]])
    return torch.sparse_coo_tensor([[1, 3, 1]], values, (4, 2), check_invariants=False)


CLIPS = [nn.ClipGradByValue(0.5), nn.ClipGradByNorm(0.5), nn.ClipGradByGlobalNorm(0.5)]


@pytest.mark.parametrize("clip", CLIPS)
def test_sparse_is_clipped_as_its_dense_form(clip):
    other = torch.tensor([3.0, 4.0])
    dense = clip.apply_raw([sparse().to_dense(), other.clone()], [True, True])
    found = clip.apply_raw([sparse(), other.clone()], [True, True])
    assert found[0].layout is torch.sparse_coo
    assert torch.allclose(found[0].to_dense(), dense[0])
    assert torch.allclose(found[1], dense[1])


@pytest.mark.parametrize("clip", CLIPS)
def test_raw_keeps_order_and_what_needs_no_clip(clip):
    grads = [torch.tensor([3.0]), torch.tensor([40.0]), torch.tensor([4.0])]
    found = clip.apply_raw(grads, [True, False, True])
    assert found[1] is grads[1]
    assert found[1].item() == 40.0
    assert abs(found[0].item()) <= 0.5
    assert found[2].item() > 0.3


@pytest.mark.parametrize("clip", CLIPS)
def test_raw_of_nothing(clip):
    kept = torch.tensor([2.0])
    assert clip.apply_raw([], []) == []
    assert clip.apply_raw([kept], [False])[0] is kept


def test_global_norm_scales_in_place():
    grad = torch.tensor([3.0, 4.0])
    (found,) = nn.ClipGradByGlobalNorm(1.0).apply_raw([grad], [True])
    assert found is grad
    assert torch.allclose(grad, torch.tensor([0.6, 0.8]))


def test_auto_skip_leaves_small_gradients_bit_for_bit():
    grad = torch.tensor([0.1, 0.7], dtype=torch.float32)
    before = grad.clone()
    nn.ClipGradByGlobalNorm(1.0, auto_skip_clip=True).apply_raw([grad], [True])
    assert torch.equal(grad, before)


def test_half_precision_norm_does_not_overflow():
    grads = [torch.full((1000,), 200.0, dtype=torch.float16)]
    (found,) = nn.ClipGradByGlobalNorm(1.0).apply_raw(grads, [True])
    assert found.dtype is torch.float16
    assert abs(float(found.float().norm()) - 1.0) < 1e-2


def test_gradients_stay_outside_the_graph():
    p = paddle.create_parameter([2], "float32")
    [(_, grad)] = nn.ClipGradByNorm(0.1)([(p, paddle.to_tensor([3.0, 4.0]))])
    assert grad.stop_gradient


def test_clip_by_norm_names_the_bound():
    with pytest.raises(ValueError, match=r"max_norm should be greater than 0, but received -1\.0"):
        paddle.nn.clip.clip_by_norm(paddle.ones([2]), -1.0)


def test_subclass_must_clip():
    with pytest.raises(NotImplementedError, match="_clip"):
        nn.clip.ClipGradBase().apply_raw([torch.ones(1)], [True])


def with_grad(array):
    p = paddle.create_parameter(list(np.shape(array)), "float32")
    (p * paddle.to_tensor(array)).sum().backward()
    return p


def test_clip_grad_norm_changes_the_gradient_in_place():
    p = with_grad([3.0, 4.0])
    before = p.raw.grad
    total = nn.utils.clip_grad_norm_([p], 1.0)
    assert total.shape == []
    assert math.isclose(total.item(), 5.0, rel_tol=1e-6)
    assert p.raw.grad is before
    assert np.allclose(p.grad.numpy(), [0.6, 0.8])


def test_clip_grad_norm_takes_a_generator():
    owners = [with_grad([3.0]), with_grad([4.0])]
    nn.utils.clip_grad_norm_((p for p in owners), 1.0)
    assert np.allclose([p.grad.item() for p in owners], [0.6, 0.8])


def test_clip_grad_norm_of_sparse_gradients():
    table = nn.Embedding(4, 2, sparse=True)
    (table(paddle.to_tensor([1, 1])) * 5.0).sum().backward()
    total = nn.utils.clip_grad_norm_(table.parameters(), 1.0)
    assert math.isclose(total.item(), math.sqrt(200.0), rel_tol=1e-6)
    assert math.isclose(float(table.weight.raw.grad.to_dense().norm()), 1.0, rel_tol=1e-5)


def test_clip_grad_norm_non_finite():
    p = with_grad([1.0, float("nan")])
    with pytest.raises(RuntimeError, match=r"order 2\.0 of the gradients is nan"):
        nn.utils.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)


def test_clip_grad_value():
    p = with_grad([-3.0, 0.25, 2.0])
    nn.utils.clip_grad_value_(p, 0.5)
    assert p.grad.tolist() == [-0.5, 0.25, 0.5]
