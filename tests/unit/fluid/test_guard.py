"""``fluid.dygraph.guard`` and what belongs to it."""

import gc

import numpy as np
import pytest

import paddle
import paddle.fluid as fluid
from argosy.fluid.dygraph.tracer import tracers
from argosy.foundation.errors import UsageError


def variable(*shape):
    return fluid.dygraph.to_variable(np.ones(shape, "float32"))


def test_names_are_counted_from_zero_inside():
    paddle.nn.Linear(1, 1)
    with fluid.dygraph.guard():
        assert fluid.dygraph.Linear(1, 1).weight.name == "linear_0.w_0"
    with fluid.dygraph.guard():
        assert fluid.dygraph.Linear(1, 1).weight.name == "linear_0.w_0"


def test_says_whether_it_is_open():
    assert not fluid.dygraph.enabled()
    with fluid.dygraph.guard():
        assert fluid.dygraph.enabled()
        assert fluid.in_dygraph_mode()
        with fluid.dygraph.guard():
            assert fluid.dygraph.enabled()
        assert fluid.dygraph.enabled()
    assert not fluid.dygraph.enabled()


def test_decorates_functions():
    @fluid.dygraph.guard()
    def inside():
        return fluid.dygraph.enabled()

    assert inside()
    assert not fluid.dygraph.enabled()


def test_enable_and_disable():
    fluid.enable_dygraph()
    fluid.enable_dygraph()
    assert fluid.dygraph.enabled()
    fluid.disable_dygraph()
    assert not fluid.dygraph.enabled()
    assert not paddle.in_dynamic_mode()
    fluid.disable_dygraph()
    paddle.disable_static()


def test_is_closed_by_an_error():
    with pytest.raises(KeyError), fluid.dygraph.guard(fluid.CPUPlace()):
        raise KeyError
    assert not fluid.dygraph.enabled()


@pytest.mark.skipif(paddle.is_compiled_with_cuda(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_falls_back():
    before = paddle.get_device()
    with (
        pytest.warns(UserWarning, match="running on the CPU"),
        fluid.dygraph.guard(fluid.CUDAPlace(0)),
    ):
        assert variable(1).place.is_cpu_place()
    assert paddle.get_device() == before


def test_a_wrong_place_leaves_nothing_open():
    with pytest.raises(ValueError, match="device"), fluid.dygraph.guard("moon"):
        pass
    assert not fluid.dygraph.enabled()


def test_knows_its_parameters_without_keeping_them():
    with fluid.dygraph.guard():
        kept = fluid.dygraph.Linear(2, 2)
        fluid.dygraph.Linear(2, 2)
        free = fluid.layers.create_parameter([2], "float32")
        gc.collect()
        assert [id(p) for p in tracers.current.all_parameters()] == [
            id(kept.weight),
            id(kept.bias),
            id(free),
        ]
        with fluid.dygraph.guard():
            assert tracers.current.all_parameters() == []


def test_random_seed_makes_parameters_equal():
    def weights():
        with fluid.dygraph.guard():
            fluid.default_startup_program().random_seed = 90
            fluid.default_main_program().random_seed = 90
            return fluid.dygraph.Conv2D(2, 2, 3).weight.numpy()

    try:
        assert (weights() == weights()).all()
        assert fluid.default_main_program().random_seed == 90
    finally:
        fluid.default_startup_program().random_seed = fluid.default_main_program().random_seed = 0


class TestToVariable:
    def test_keeps_dtype_and_name(self):
        made = fluid.dygraph.to_variable(np.zeros([2], "float64"), name="x")
        assert (made.dtype, made.name, made.stop_gradient) == (paddle.float64, "x", True)

    def test_casts(self):
        assert fluid.dygraph.to_variable([1, 2], dtype="float32").dtype == paddle.float32
        assert fluid.dygraph.to_variable(variable(2), dtype="int32").dtype == paddle.int32

    def test_returns_tensors_as_they_are(self):
        x = variable(2)
        assert fluid.dygraph.to_variable(x) is x

    def test_shares_memory_only_when_asked(self):
        array = np.zeros(2, "float32")
        copied, shared = (
            fluid.dygraph.to_variable(array),
            fluid.dygraph.to_variable(array, zero_copy=True),
        )
        array[:] = 1
        assert copied.tolist() == [0, 0]
        assert shared.tolist() == [1, 1]

    def test_refuses_other_things(self):
        with pytest.raises(TypeError, match="str"):
            fluid.dygraph.to_variable("text")


def test_no_grad_as_context_and_decorator():
    x = variable(2)
    x.stop_gradient = False
    with fluid.dygraph.no_grad():
        assert (x * 2).stop_gradient

    @fluid.dygraph.no_grad
    def double(v):
        return v * 2

    assert double(x).stop_gradient
    assert not (x * 2).stop_gradient


def test_grad():
    x = variable(1)
    x.stop_gradient = False
    (found,) = fluid.dygraph.grad(x * x * x, x)
    assert found.tolist() == [3.0]
    with pytest.raises(AssertionError, match="backward_strategy"):
        fluid.dygraph.grad(x * x, x, backward_strategy=object())


def test_places():
    assert [p.get_device_id() for p in fluid.cuda_places([0, 2])] == [0, 2]
    assert len(fluid.cpu_places(3)) == 3


def test_selected_gpus_name_the_places(monkeypatch):
    monkeypatch.setenv("FLAGS_selected_gpus", "1,3")
    monkeypatch.setenv("CPU_NUM", "2")
    assert [p.get_device_id() for p in fluid.cuda_places()] == [1, 3]
    assert len(fluid.cpu_places()) == 2


def test_an_element_has_an_axis_inside_of_a_guard_of_1_x():
    with fluid.dygraph.guard():
        x = variable(2, 3)
        assert x[0][0].shape == [1]
        assert x[0, 1].shape == [1]
        assert x[1].shape == [3]
        with paddle.base.dygraph.guard():
            assert x[0, 1].shape == []
        assert x[0, 1].shape == [1]
    assert x[0, 1].shape == []


def test_backward_leaves_gradients_with_results_inside_of_a_guard_of_1_x():
    with fluid.dygraph.guard():
        x = variable(2, 2)
        x.stop_gradient = False
        top, bottom = fluid.layers.split(x * 3.0, 2, dim=0)
        loss = fluid.layers.reduce_sum(top * 2.0 + bottom)
        assert top.gradient() is None
        loss.backward()
        np.testing.assert_array_equal(top.gradient(), [[2.0, 2.0]])
        np.testing.assert_array_equal(bottom.gradient(), [[1.0, 1.0]])
        np.testing.assert_array_equal(loss.gradient(), [1.0])
        np.testing.assert_array_equal(x.gradient(), [[6.0, 6.0], [3.0, 3.0]])
        top.clear_gradient()
        np.testing.assert_array_equal(top.gradient(), [[0.0, 0.0]])


def test_a_result_beside_one_that_is_used_has_a_gradient_of_zeros_in_1_x():
    with fluid.dygraph.guard():
        x = variable(2, 2)
        x.stop_gradient = False
        top, bottom = fluid.layers.split(x * 3.0, 2, dim=0)
        top.backward()
        np.testing.assert_array_equal(top.gradient(), [[1.0, 1.0]])
        np.testing.assert_array_equal(bottom.gradient(), [[0.0, 0.0]])


def test_backward_leaves_gradients_with_leaves_only_elsewhere():
    with paddle.base.dygraph.guard():
        x = variable(2, 2)
        x.stop_gradient = False
        middle = x * 3.0
        middle.sum().backward()
        assert middle.grad is None
        assert x.grad is not None


def test_made_up_names_are_those_of_1_x_inside_of_its_guard():
    with fluid.dygraph.guard():
        assert variable(1).name == "generated_var_0"
    with paddle.base.dygraph.guard():
        assert variable(1).name == "generated_tensor_0"


def test_to_variable_of_base_copies_and_says_so():
    array = np.zeros(2, "float32")
    with paddle.base.dygraph.guard():
        with pytest.warns(UserWarning, match="zero_copy is not supported"):
            x = paddle.base.dygraph.to_variable(array, zero_copy=True)
        array[0] = 1.0
        assert x.numpy()[0] == 0.0
        assert paddle.base.dygraph.base.to_variable(array).numpy()[0] == 1.0


def test_enabling_dygraph_of_base_keeps_the_tensors_of_today():
    paddle.base.enable_dygraph()
    try:
        assert variable(2)[0].shape == []
    finally:
        paddle.base.disable_dygraph()
        paddle.disable_static()


def test_a_layer_makes_variables_of_the_program_that_is_recorded():
    paddle.enable_static()
    try:
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            layer = fluid.dygraph.Layer("cell")
            x = fluid.layers.fill_constant([2, 2], "float32", 3.0)
            out = layer.create_variable(dtype="float32")
            layer._helper.append_op(
                type="elementwise_add", inputs={"X": x, "Y": x}, outputs={"Out": out}
            )
            [found] = fluid.Executor().run(fetch_list=[out])
    finally:
        paddle.disable_static()
    assert out.name == "cell_0._generated_var_0"
    np.testing.assert_array_equal(found, np.full([2, 2], 6.0))


@pytest.mark.parametrize(
    "declare",
    [
        lambda: fluid.data("image", [None, 3], "int64"),
        lambda: fluid.layers.data("image", [3], dtype="int64"),
    ],
)
def test_what_is_declared_in_a_guard_has_a_shape_and_no_values(declare):
    with fluid.dygraph.guard():
        image = declare()
        assert (image.name, list(image.shape), image.dtype) == ("image", [-1, 3], paddle.int64)
        assert image.stop_gradient
        with pytest.raises(UsageError, match=r"'image' is declared by fluid\.data inside of"):
            _ = image + 1
        with pytest.raises(UsageError, match="it has no values"):
            image.numpy()


def test_the_helper_of_a_layer_pairs_inputs_with_attributes():
    with fluid.dygraph.guard():
        helper = fluid.dygraph.Layer("mine")._helper
        x, y = fluid.layers.ones([2], "float32"), fluid.layers.zeros([2], "float32")
        pairs = list(helper.iter_inputs_and_params([x, y], fluid.ParamAttr(name="w")))
        assert [pair[0] is one for pair, one in zip(pairs, (x, y), strict=True)] == [True, True]
        assert [attr.name for _, attr in pairs] == ["w", "w"]
