"""Layers and losses that only dygraph of 1.x has by these names and shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import paddle.fluid as fluid
import paddle.fluid.dygraph as dg


def _var(values: Any) -> Any:
    return dg.to_variable(np.asarray(values, "float32"))


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (lambda: dg.Conv3D(3, 2, 3, act="relu"), [2, 2, 2, 2, 2]),
        (lambda: dg.Conv3DTranspose(3, 2, 3), [2, 2, 6, 6, 6]),
        (lambda: dg.InstanceNorm(3), [2, 3, 4, 4, 4]),
        (lambda: dg.GroupNorm(3, 3), [2, 3, 4, 4, 4]),
    ],
)
def test_layers_over_volumes(layer: Any, shape: list[int]) -> None:
    with dg.guard():
        assert layer()(_var(np.ones([2, 3, 4, 4, 4]))).shape == shape


def test_group_norm_has_parameters_only_on_request() -> None:
    with dg.guard():
        assert dg.GroupNorm(4, 2).parameters() == []
        assert len(dg.GroupNorm(4, 2, param_attr=fluid.ParamAttr()).parameters()) == 1


def test_bilinear_tensor_product_and_spectral_norm() -> None:
    with dg.guard():
        product = dg.BilinearTensorProduct(2, 3, 4)(_var(np.ones([5, 2])), _var(np.ones([5, 3])))
        assert product.shape == [5, 4]
        normed = dg.SpectralNorm([2, 3], power_iters=20)(_var(np.ones([2, 3])))
        assert np.linalg.norm(normed.numpy(), 2) == pytest.approx(1.0)


def test_losses_reduce_to_one_element() -> None:
    with dg.guard():
        a, b = _var([1.0, 2.0]), _var([0.5, 0.25])
        np.testing.assert_allclose(dg.L1Loss()(a, b).numpy(), [1.125])
        np.testing.assert_allclose(dg.MSELoss("sum")(a, b).numpy(), [3.3125])
        np.testing.assert_allclose(dg.L1Loss("none")(a, b).numpy(), [0.5, 1.75])
        half = _var([0.5, 0.5])
        np.testing.assert_allclose(dg.BCELoss()(half, half).numpy(), [np.log(2)], rtol=1e-6)
        logs = _var(np.log([[0.5, 0.5], [0.25, 0.75]]))
        label = dg.to_variable(np.array([0, 0]))
        np.testing.assert_allclose(dg.NLLLoss()(logs, label).numpy(), [1.5 * np.log(2)], rtol=1e-6)


def test_losses_refuse_other_reductions() -> None:
    for loss in (dg.L1Loss, dg.MSELoss, lambda word: dg.BCELoss(reduction=word)):
        with pytest.raises(ValueError, match="reduction"):
            loss("median")


def test_backward_takes_a_strategy() -> None:
    with dg.guard():
        x = _var([2.0])
        x.stop_gradient = False
        strategy = dg.BackwardStrategy()
        strategy.sort_sum_gradient = True
        (x * x).backward(strategy)
        np.testing.assert_array_equal(x.gradient(), [4.0])
        with pytest.raises(AssertionError):
            dg.grad([x * x], [x], backward_strategy=1)


@pytest.mark.usefixtures("static_mode")
def test_variables_of_programs_have_no_values() -> None:
    x = fluid.data("x", [2], "float32")
    for method in (x.backward, x.numpy):
        with pytest.raises(AssertionError):
            method()


def test_layers_run_operators_by_their_types() -> None:
    class Product(dg.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.w = self.create_parameter([3, 2])

        def forward(self, x: Any) -> Any:
            out = self._helper.create_variable_for_type_inference("float32")
            self._helper.append_op("mul", {"X": x, "Y": self.w}, {"Out": out})
            return self._helper.append_activation(out, "relu")

    with dg.guard():
        product = Product()
        out = product(_var(np.ones([4, 3])))
        assert out.shape == [4, 2]
        assert "Variable: " in out.to_string(True)
        fluid.layers.reduce_sum(out).backward()
        assert product.w.gradient() is not None


def test_the_best_loss_is_a_tensor_and_is_saved_as_a_number() -> None:
    with dg.guard():
        rate = dg.ReduceLROnPlateau(1.0)
        rate.step(_var([0.5]))
        assert rate.best_loss.numpy().tolist() == [0.5]
        assert rate.state_dict()["best_loss"] == 0.5
        other = dg.ReduceLROnPlateau(1.0)
        with pytest.warns(UserWarning, match="unused"):
            other.set_dict({**rate.state_dict(), "more": 1})
        other.step(_var([0.25]))
        assert float(other.best_loss) == 0.25


@pytest.mark.usefixtures("static_mode")
def test_parameters_need_shapes_of_integers() -> None:
    for arguments in (([1.0, 2.0],), (1,)):
        with pytest.raises(TypeError):
            fluid.layers.create_parameter(*arguments, dtype="float32")
    with pytest.raises(TypeError):
        fluid.layers.create_parameter([2], "float32", default_initializer=np.ones(2))


@pytest.mark.usefixtures("static_mode")
def test_a_program_without_parameters_has_a_rate() -> None:
    x = fluid.data("x", [3], "float32")
    sgd = fluid.optimizer.SGD(0.5)
    assert sgd.minimize(fluid.layers.mean(x)) == ([], [])
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    rate = sgd._global_learning_rate()
    [value] = exe.run(feed={"x": np.ones(3, "float32")}, fetch_list=[rate])
    assert value.item() == 0.5


@pytest.mark.usefixtures("static_mode")
def test_what_layers_data_declares_is_not_checked() -> None:
    x = fluid.layers.data("x", [3, 2], "float32")
    exe = fluid.Executor(fluid.CPUPlace())
    [out] = exe.run(feed={"x": np.ones([3, 2], "float32")}, fetch_list=[fluid.layers.mean(x)])
    assert out.item() == 1.0
