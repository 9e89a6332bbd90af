"""``fluid.dygraph`` layers: what golden data does not show."""

import numpy as np
import pytest

import paddle
import paddle.fluid as fluid


@pytest.fixture(autouse=True)
def guard():
    with fluid.dygraph.guard():
        yield


def variable(array):
    return fluid.dygraph.to_variable(np.asarray(array, "float32"))


def test_are_layers_of_both_versions():
    for layer in (
        fluid.dygraph.Linear(1, 1),
        fluid.dygraph.Sequential(),
        fluid.dygraph.BatchNorm(1),
        fluid.dygraph.Embedding([2, 2]),
    ):
        assert isinstance(layer, fluid.dygraph.Layer)
        assert isinstance(layer, paddle.nn.Layer)


def test_fc_learns_its_input_at_the_first_call():
    fc = fluid.dygraph.FC("fc", 3, num_flatten_dims=2, act="relu")
    assert fc.parameters() == []
    out = fc(variable(np.ones([2, 4, 5, 2])))
    assert out.shape == [2, 4, 3]
    assert fc.weight.shape == [10, 3]
    assert list(fc.state_dict()) == ["_w0", "_b"]
    assert [p.name for p in fc.parameters()] == ["fc_0.w_0", "fc_0.b_0"]
    expected = np.maximum(np.ones([2, 4, 10]) @ fc.weight.numpy() + fc.bias.numpy(), 0)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5)


def test_fc_adds_up_several_inputs():
    fc = fluid.dygraph.FC("fc", 2, bias_attr=False)
    a, b = variable(np.ones([3, 4])), variable(np.ones([3, 5]))
    out = fc([a, b])
    first, second = fc.weight
    assert fc.bias is None
    np.testing.assert_allclose(
        out.numpy(), a.numpy() @ first.numpy() + b.numpy() @ second.numpy(), rtol=1e-5
    )


@pytest.mark.parametrize("origin_mode", [False, True])
def test_gru_unit_by_its_formula(origin_mode):
    unit = fluid.dygraph.GRUUnit(6, origin_mode=origin_mode)
    rng = np.random.RandomState(0)
    x, h = rng.randn(2, 6).astype("float32"), rng.randn(2, 2).astype("float32")
    flat = unit.weight.numpy().ravel()
    gates = 1 / (1 + np.exp(-(x[:, :4] + h @ flat[:8].reshape(2, 4))))
    u, r = gates[:, :2], gates[:, 2:]
    candidate = np.tanh(x[:, 4:] + (r * h) @ flat[8:].reshape(2, 2))
    expected = u * h + (1 - u) * candidate if origin_mode else (1 - u) * h + u * candidate
    np.testing.assert_allclose(
        unit(variable(x), variable(h))[0].numpy(), expected, rtol=1e-5, atol=1e-6
    )


class TestDropout:
    def test_keeps_values_in_training_by_default(self):
        out = fluid.dygraph.Dropout(0.5)(variable(np.ones(1000))).numpy()
        assert set(out) == {0.0, 1.0}
        assert 400 < out.sum() < 600

    def test_upscales_when_asked(self):
        out = fluid.dygraph.Dropout(0.5, dropout_implementation="upscale_in_train")(
            variable(np.ones(1000))
        ).numpy()
        assert set(out) == {0.0, 2.0}

    def test_a_seed_fixes_the_choice(self):
        x = variable(np.ones(100))
        first, second = (fluid.layers.dropout(x, 0.5, seed=7).numpy() for _ in range(2))
        assert (first == second).all()
        assert 0 < first.sum() < 100
        up = fluid.layers.dropout(x, 0.5, seed=7, dropout_implementation="upscale_in_train").numpy()
        assert (up == 2 * first).all()

    def test_the_function_follows_the_layers(self):
        x = variable(np.ones(1000))
        x.stop_gradient = False
        model = fluid.dygraph.Linear(1, 1)
        model.eval()
        assert (fluid.layers.dropout(x, 0.25).numpy() == 0.75).all()
        model.train()
        assert (fluid.layers.dropout(x, 0.25).numpy() == 0).any()
        assert (fluid.layers.dropout(x, 0.25, is_test=True).numpy() == 0.75).all()

    def test_refuses_unknown_ways(self):
        with pytest.raises(AssertionError, match="downgrade_in_infer"):
            fluid.layers.dropout(variable([1.0]), 0.5, dropout_implementation="sometimes")
        with pytest.raises(AssertionError, match="between 0 and 1"):
            fluid.dygraph.Dropout(1.5)


def test_conv_starts_from_the_normal_distribution_of_he():
    weight = fluid.dygraph.Conv2D(16, 64, 3).weight.numpy()
    assert weight.std() == pytest.approx(np.sqrt(2 / (9 * 16)), rel=0.05)


def test_truncated_normal_ends_at_two_deviations():
    attr = fluid.ParamAttr(initializer=fluid.initializer.TruncatedNormal(0.5, 0.02))
    weight = fluid.dygraph.Embedding([500, 20], param_attr=attr).weight.numpy()
    assert 0.46 <= weight.min() < 0.465
    assert 0.535 < weight.max() <= 0.54


def test_unknown_activations_are_refused():
    layer = fluid.dygraph.Linear(1, 1, act="rellu")
    with pytest.raises(ValueError, match="'relu'"):
        layer(variable([[1.0]]))


def test_set_dict_is_strict():
    layer = fluid.dygraph.Linear(2, 1)
    state = {"weight": np.ones([2, 1], "float32")}
    with pytest.raises(RuntimeError, match="'bias'"):
        layer.set_dict(state)
    state.update(bias=np.zeros([1], "float32"), other=np.zeros([1], "float32"))
    with pytest.warns(UserWarning, match="other"):
        layer.set_dict(state)
    assert layer.weight.tolist() == [[1.0], [1.0]]
    layer.load_dict(
        {"linear_0.w_0": np.zeros([2, 1], "float32"), "linear_0.b_0": np.ones([1], "float32")},
        use_structured_name=False,
    )
    assert layer.bias.tolist() == [1.0]


def test_sublayers_as_in_the_old_version():
    model = fluid.dygraph.Sequential(
        fluid.dygraph.Linear(1, 1), fluid.dygraph.Sequential(fluid.dygraph.Linear(1, 1))
    )
    assert len(model.sublayers()) == 3
    assert model.sublayers(include_sublayers=False) == []
    assert [n for n, _ in model.named_sublayers(include_self=True, include_sublayers=False)] == [""]


def test_losses_have_one_dimension():
    x = variable(np.ones([2, 3]))
    layers = fluid.layers
    for loss in (
        layers.mean(x),
        layers.reduce_sum(x),
        layers.reduce_mean(x, dim=[0, 1]),
        layers.mse_loss(x, x),
    ):
        assert loss.shape == [1]
        assert loss.numpy()[0] == float(loss)


def test_operands_that_do_not_fit_are_refused():
    with pytest.raises(
        ValueError, match=r"\[3\] does not fit into x of shape \[2, 3\] from axis 2"
    ):
        fluid.layers.elementwise_add(variable(np.ones([2, 3])), variable(np.ones(3)), axis=2)
