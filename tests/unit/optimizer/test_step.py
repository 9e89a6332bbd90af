"""Stepping: which parameters move, what is left alone, what is refused."""

import numpy as np
import pytest
import torch

import paddle


def parameter(value=1.0, shape=(2,), **attr):
    constant = paddle.nn.initializer.Constant(value)
    return paddle.create_parameter(
        list(shape), "float32", attr=paddle.ParamAttr(**attr), default_initializer=constant
    )


def backward(*params):
    sum((p * p).sum() for p in params).backward()


def test_step_leaves_gradients_alone():
    w = parameter()
    sgd = paddle.optimizer.SGD(0.1, parameters=[w], weight_decay=0.5)
    backward(w)
    sgd.step()
    assert w.grad.tolist() == [2.0, 2.0]


def test_step_without_gradient_is_skipped():
    moved, still = parameter(), parameter()
    adam = paddle.optimizer.Adam(0.1, parameters=[moved, still])
    backward(moved)
    adam.step()
    assert still.tolist() == [1.0, 1.0]
    assert moved.tolist() != [1.0, 1.0]
    assert not any(still.name in key for key in adam.state_dict())


def test_cleared_gradient_counts_as_zero_and_is_not_stored():
    w = parameter()
    adam = paddle.optimizer.Adam(0.1, parameters=[w])
    backward(w)
    adam.step()
    adam.clear_grad()
    assert w.raw.grad is None
    before = w.tolist()
    adam.step()
    assert w.tolist() != before
    assert w.grad.tolist() == [0.0, 0.0]


def test_zero_grad_takes_torch_words():
    w = parameter()
    sgd = paddle.optimizer.SGD(0.1, parameters=[w])
    backward(w)
    sgd.zero_grad()
    assert w.grad is None
    backward(w)
    sgd.zero_grad(set_to_none=False)
    assert w.grad.tolist() == [0.0, 0.0]


def test_clear_grad_leaves_frozen_parameters_alone():
    w = parameter()
    sgd = paddle.optimizer.SGD(0.1, parameters=[w])
    backward(w)
    w.stop_gradient = True
    sgd.clear_grad()
    assert w.grad.tolist() == [2.0, 2.0]
    sgd.step()
    assert w.tolist() == [1.0, 1.0]


def test_step_keeps_the_parameter_tensor():
    w = parameter()
    raw = w.raw
    adam = paddle.optimizer.Adam(0.1, parameters=[w])
    backward(w)
    adam.step()
    assert w.raw is raw
    assert raw.requires_grad
    assert torch.is_grad_enabled()


def test_failing_step_restores_grad_mode():
    w = parameter()
    backward(w)
    with pytest.raises(NotImplementedError, match="cannot be used directly"):
        paddle.optimizer.Optimizer(0.1, parameters=[w]).step()
    assert torch.is_grad_enabled()


def test_replaced_tensor_is_followed():
    w = parameter()
    sgd = paddle.optimizer.SGD(0.25, parameters=[w])
    backward(w)
    sgd.step()
    sgd.clear_grad()
    w.raw = torch.full((2,), 4.0, requires_grad=True)
    backward(w)
    sgd.step()
    assert w.tolist() == [2.0, 2.0]


def test_changed_rate_of_a_parameter_takes_effect():
    w = parameter()
    sgd = paddle.optimizer.SGD(0.1, parameters=[w])
    backward(w)
    sgd.step()
    w.set_value(np.ones(2, "float32"))
    w.optimize_attr["learning_rate"] = 2.0
    sgd.step()
    np.testing.assert_allclose(w.numpy(), [0.6, 0.6], rtol=1e-6)


def test_changed_regularizer_of_a_parameter_takes_effect():
    w = parameter()
    sgd = paddle.optimizer.SGD(0.1, parameters=[w])
    backward(w)
    sgd.step()
    w.set_value(np.ones(2, "float32"))
    w.regularizer = paddle.regularizer.L2Decay(1.0)
    sgd.step()
    np.testing.assert_allclose(w.numpy(), [0.7, 0.7], rtol=1e-6)


def test_changed_group_setting_takes_effect():
    w = parameter()
    adamw = paddle.optimizer.AdamW(0.1, parameters=[{"params": [w], "weight_decay": 0.0}])
    backward(w)
    adamw.step()
    w.set_value(np.ones(2, "float32"))
    adamw._param_groups[0]["weight_decay"] = 5.0
    w.grad = paddle.zeros([2])
    adamw._accumulators["moment1"][w.name].raw.zero_()
    adamw.step()
    np.testing.assert_allclose(w.numpy(), [0.5, 0.5], rtol=1e-6)


def test_own_regularizer():
    class Pull(paddle.regularizer.WeightDecayRegularizer):
        def __call__(self, param, grad, block):
            return param * 3.0

    w = parameter()
    sgd = paddle.optimizer.SGD(0.1, parameters=[w], weight_decay=Pull())
    backward(w)
    sgd.step()
    np.testing.assert_allclose(w.numpy(), [0.5, 0.5], rtol=1e-6)


@pytest.mark.parametrize("rate", [float("nan"), float("inf")])
def test_rate_that_is_not_finite_is_refused(rate):
    w = parameter()
    sgd = paddle.optimizer.SGD(rate, parameters=[w])
    backward(w)
    with pytest.raises(ValueError, match=f"SGD.step: the learning rate is {rate}"):
        sgd.step()
    assert w.tolist() == [1.0, 1.0]


def test_scheduler_that_gives_nan_is_named():
    w = parameter()
    schedule = paddle.optimizer.lr.LambdaDecay(0.1, lambda epoch: float("nan") if epoch else 1.0)
    sgd = paddle.optimizer.SGD(schedule, parameters=[w])
    schedule.step()
    backward(w)
    with pytest.raises(ValueError, match="LambdaDecay"):
        sgd.step()


def test_strided_gradients_and_parameters():
    """The fused kernels walk raw memory; whatever the layout, elements must meet their own
    gradients.
    """
    value = np.arange(6, dtype="float32").reshape(2, 3)
    grad = torch.arange(6.0).reshape(3, 2).t()
    w = parameter(shape=(2, 3))
    w.set_value(value)
    w.raw.grad = grad
    expected = value - 0.1 * grad.numpy()
    paddle.optimizer.Momentum(0.1, momentum=0.5, parameters=[w]).step()
    np.testing.assert_allclose(w.numpy(), expected, rtol=1e-6)
    w.raw = torch.from_numpy(value.T.copy()).t().requires_grad_()
    w.raw.grad = grad.contiguous()
    paddle.optimizer.Momentum(0.1, momentum=0.5, parameters=[w]).step()
    np.testing.assert_allclose(w.numpy(), expected, rtol=1e-6)


def test_plain_tensors_are_optimized():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    sgd = paddle.optimizer.SGD(0.5, parameters=[x])
    backward(x)
    sgd.step()
    assert x.tolist() == [0.0, 0.0]


def test_parameters_may_be_a_generator():
    w = parameter()
    sgd = paddle.optimizer.SGD(0.5, parameters=(p for p in [w]))
    backward(w)
    sgd.step()
    sgd.step()
    assert w.tolist() == [-1.0, -1.0]


def test_beta_as_tensor():
    a, b = parameter(), parameter()
    for w, beta in ((a, 0.5), (b, paddle.to_tensor([0.5]))):
        adam = paddle.optimizer.Adam(0.1, beta1=beta, parameters=[w])
        backward(w)
        adam.step()
    assert a.tolist() == b.tolist()


def test_rate_as_tensor_replaces_the_optimizers():
    w = parameter()
    w.optimize_attr["learning_rate"] = paddle.to_tensor(0.25)
    sgd = paddle.optimizer.SGD(100.0, parameters=[w])
    backward(w)
    sgd.step()
    assert w.tolist() == [0.5, 0.5]


def test_rate_of_another_type_is_refused():
    w = parameter(learning_rate="fast")
    sgd = paddle.optimizer.SGD(0.1, parameters=[w])
    backward(w)
    with pytest.raises(ValueError, match="must be a number or a Tensor, but is str"):
        sgd.step()


def test_minimize_leaves_out_no_grad_set():
    kept, moved = parameter(), parameter()
    sgd = paddle.optimizer.SGD(0.25, parameters=[kept, moved])
    loss = (kept * kept + moved * moved).sum()
    loss.backward()
    _, pairs = sgd.minimize(loss, no_grad_set={kept.name})
    assert [p is moved for p, _ in pairs] == [True]
    assert kept.tolist() == [1.0, 1.0]
    assert moved.tolist() == [0.5, 0.5]


def test_minimize_by_name():
    kept, moved = parameter(), parameter()
    sgd = paddle.optimizer.SGD(0.25, parameters=[kept, moved])
    loss = (kept * kept + moved * moved).sum()
    loss.backward()
    sgd.minimize(loss, parameters=[moved.name])
    assert kept.tolist() == [1.0, 1.0]
    assert moved.tolist() == [0.5, 0.5]


def test_momentum_rescales_gradients():
    w = parameter()
    momentum = paddle.optimizer.Momentum(0.1, parameters=[w], rescale_grad=0.5)
    backward(w)
    momentum.step()
    np.testing.assert_allclose(w.numpy(), [0.9, 0.9], rtol=1e-6)


def test_adamw_lr_ratio():
    near, far = parameter(), parameter()
    adamw = paddle.optimizer.AdamW(
        0.1, parameters=[near, far], weight_decay=0.0, lr_ratio=lambda p: 0.5 if p is near else 1.0
    )
    backward(near, far)
    adamw.step()
    np.testing.assert_allclose(1 - near.numpy(), (1 - far.numpy()) / 2, rtol=1e-5)


def test_adamw_names_what_it_lacks():
    with pytest.raises(NotImplementedError, match="use_lowprecision_moment"):
        paddle.optimizer.AdamW(0.1, parameters=[parameter()], use_lowprecision_moment=True)


def test_rprop_refuses_a_scheduler():
    with pytest.raises(NotImplementedError, match="Rprop: learning_rate as a scheduler"):
        paddle.optimizer.Rprop(paddle.optimizer.lr.StepDecay(0.1, 3), parameters=[parameter()])


def test_missing_parameters_say_what_to_pass():
    with pytest.raises(AttributeError, match=r"parameters=model.parameters\(\)"):
        paddle.optimizer.Adam(0.1)
