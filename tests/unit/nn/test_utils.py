"""Weight and spectral normalisation, parameters as a vector."""

import copy
import pickle

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.nn.utils import (
    parameters_to_vector,
    remove_weight_norm,
    spectral_norm,
    vector_to_parameters,
    weight_norm,
)


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Linear(3, 4),
        lambda: nn.Conv2D(3, 4, 3),
        lambda: nn.Conv2DTranspose(3, 4, 3),
        lambda: nn.Conv1D(3, 2, 1),
    ],
)
@pytest.mark.parametrize("wrap", [weight_norm, spectral_norm])
def test_wrapped_layers_train(make, wrap):
    layer = wrap(make())
    shape = {2: [5, 3], 3: [2, 3, 6], 4: [2, 3, 6, 6]}[layer.weight.ndim]
    optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    x = paddle.randn(shape)
    first = layer(x)
    (first**2).mean().backward()
    assert all(p.grad is not None for p in layer.parameters())
    optimizer.step()
    assert not np.allclose(layer(x).numpy(), first.numpy())


def test_weight_norm_keeps_the_function_until_trained():
    layer = nn.Linear(3, 4)
    x = paddle.randn([2, 3])
    before = layer(x).numpy()
    weight_norm(layer, dim=1)
    assert np.allclose(layer(x).numpy(), before, atol=1e-6)
    remove_weight_norm(layer)
    assert isinstance(layer.weight, paddle.nn.Parameter)
    assert np.allclose(layer(x).numpy(), before, atol=1e-6)


def test_computed_weight_is_no_parameter():
    layer = weight_norm(nn.Linear(3, 4))
    assert [name for name, _ in layer.named_parameters()] == ["bias", "weight_v", "weight_g"]
    assert "weight" not in layer.state_dict()


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))]
)
def test_wrapped_layer_can_be_copied(duplicate):
    with paddle.no_grad():
        layer = weight_norm(nn.Linear(3, 4))
        other = duplicate(layer)
        x = paddle.randn([2, 3])
        assert np.allclose(other(x).numpy(), layer(x).numpy())
        other.weight_g.set_value(other.weight_g.numpy() * 2)
        assert not np.allclose(other(x).numpy(), layer(x).numpy())


def test_unknown_parameter_of_a_wrapped_layer_is_still_an_error():
    layer = weight_norm(nn.Linear(3, 4))
    with pytest.raises(KeyError, match="nothing"):
        layer._parameters["nothing"]


def test_second_hook_is_refused():
    with pytest.raises(RuntimeError, match="two weight_norm hooks on the same parameter 'weight'"):
        weight_norm(weight_norm(nn.Linear(2, 2)))


def test_spectral_norm_converges_to_the_largest_singular_value():
    layer = spectral_norm(nn.Linear(6, 4), n_power_iterations=50)
    layer(paddle.zeros([1, 6]))
    assert np.isclose(np.linalg.svd(layer.weight.numpy(), compute_uv=False)[0], 1.0, atol=1e-4)


def test_spectral_norm_stands_still_in_evaluation():
    layer = spectral_norm(nn.Linear(6, 4))
    layer.eval()
    before = layer.weight_u.numpy()
    layer(paddle.zeros([1, 6]))
    assert np.array_equal(layer.weight_u.numpy(), before)


def test_spectral_norm_backward_after_two_forwards():
    layer = spectral_norm(nn.Linear(3, 2))
    x = paddle.randn([2, 3])
    first, second = layer(x), layer(x)
    (first.sum() + second.sum()).backward()
    assert layer.weight_orig.grad is not None


def test_vector_is_a_copy_and_a_leaf():
    layer = nn.Linear(2, 2)
    vector = parameters_to_vector(layer.parameters())
    assert vector.is_leaf
    assert not vector.stop_gradient
    with paddle.no_grad():
        vector.add_(paddle.ones([6]))
    assert layer.bias.tolist() == [0.0, 0.0]


def test_vector_is_copied_into_the_parameters():
    layer = nn.Linear(2, 2)
    weight = layer.weight
    vector_to_parameters(paddle.arange(6, dtype="float32"), layer.parameters())
    assert layer.weight is weight
    assert weight.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert layer.bias.tolist() == [4.0, 5.0]


def test_short_vector_says_how_much_is_needed():
    with pytest.raises(ValueError, match="have 6 elements together, but vec has only 3"):
        vector_to_parameters(paddle.ones([3]), nn.Linear(2, 2).parameters())
