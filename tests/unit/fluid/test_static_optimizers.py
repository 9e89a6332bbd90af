"""``fluid.optimizer``, ``fluid.clip`` and ``fluid.layer_helper`` in programs: what golden data does
not show.
"""

import numpy as np
import pytest

import paddle.fluid as fluid
from argosy.foundation.errors import NotSupported

pytestmark = pytest.mark.usefixtures("static_mode")


def parameter(name, value=1.0):
    return fluid.layers.create_parameter(
        [1], "float32", name=name, default_initializer=fluid.initializer.Constant(value)
    )


def step(*fetches):
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return [np.asarray(v).item() for v in exe.run(fetch_list=list(fetches))]


class TestLearningRate:
    def test_is_a_variable_of_one_element_that_scripts_set(self):
        w = parameter("w")
        sgd = fluid.optimizer.SGD(0.5)
        sgd.minimize(fluid.layers.mean(w * 1.0))
        rate = sgd._global_learning_rate()
        assert (rate.name, list(rate.shape)) == ("learning_rate_0", [1])
        assert step("w") == [0.5]
        held = fluid.global_scope().find_var(rate.name).get_tensor()
        held.set(np.array([0.25], "float32"), fluid.CPUPlace())
        [value] = fluid.Executor(fluid.CPUPlace()).run(fetch_list=["w"])
        assert value.tolist() == [0.25]

    def test_may_be_a_variable(self):
        w = parameter("w")
        rate = fluid.layers.fill_constant([1], "float32", 0.125)
        sgd = fluid.optimizer.SGD(rate)
        sgd.minimize(fluid.layers.mean(w * 1.0))
        assert sgd._global_learning_rate() is rate
        assert step("w") == [0.875]
        with pytest.raises(ValueError, match="fetch it"):
            sgd.get_lr()

    def test_is_a_float_or_a_variable(self):
        with pytest.raises(TypeError, match="float, LearningRateDecay or a variable"):
            fluid.optimizer.SGD(1)


class TestMinimize:
    def test_of_chosen_parameters(self):
        loss = fluid.layers.mean(parameter("a") + parameter("b") + parameter("c"))
        _, pairs = fluid.optimizer.SGD(0.5).minimize(
            loss, parameter_list=["a", "b"], no_grad_set={"b"}
        )
        assert [p.name for p, _ in pairs] == ["a"]
        assert step("a", "b", "c") == [0.5, 1.0, 1.0]

    def test_in_two_parts(self):
        loss = fluid.layers.mean(parameter("a") * 2.0)
        sgd = fluid.optimizer.SGD(0.5)
        pairs = sgd.backward(loss)
        operators = sgd.apply_gradients([(p, g * 0.5) for p, g in pairs])
        assert [o.type for o in operators] == ["sgd"]
        assert step("a") == [0.5]

    def test_apply_optimize_initialises_in_the_given_program(self):
        loss = fluid.layers.mean(parameter("a") * 2.0)
        momentum = fluid.optimizer.Momentum(0.5, 0.9)
        startup = fluid.Program()
        momentum.apply_optimize(loss, startup, momentum.backward(loss))
        assert any("velocity" in name for name in startup.global_block().vars)
        assert not any(
            "velocity" in name for name in fluid.default_startup_program().global_block().vars
        )

    def test_takes_the_clip_of_older_versions(self):
        loss = fluid.layers.mean(parameter("a") * 2.0)
        fluid.optimizer.SGD(1.0).minimize(loss, grad_clip=fluid.clip.GradientClipByValue(0.25))
        assert step("a") == [0.75]


class TestSetGradientClip:
    def test_of_some_parameters(self):
        loss = fluid.layers.mean(parameter("a") * 2.0 + parameter("b") * 2.0)
        fluid.clip.set_gradient_clip(fluid.clip.GradientClipByValue(0.5), param_list=["b"])
        fluid.optimizer.SGD(0.25).minimize(loss)
        assert step("a", "b") == [0.5, 0.875]

    def test_global_norms_are_by_group(self):
        loss = fluid.layers.mean(parameter("a") * 3.0 + parameter("b") * 4.0 + parameter("c") * 8.0)
        fluid.clip.set_gradient_clip(
            fluid.clip.GradientClipByGlobalNorm(1.0), param_list=["a", "b"]
        )
        fluid.clip.set_gradient_clip(
            fluid.clip.GradientClipByGlobalNorm(2.0, "other"), param_list=["c"]
        )
        fluid.optimizer.SGD(1.0).minimize(loss)
        assert step("a", "b", "c") == pytest.approx([0.4, 0.2, -1.0])

    def test_one_group_has_one_norm(self):
        loss = fluid.layers.mean(parameter("a") + parameter("b"))
        fluid.clip.set_gradient_clip(fluid.clip.GradientClipByGlobalNorm(1.0), param_list=["a"])
        fluid.clip.set_gradient_clip(fluid.clip.GradientClipByGlobalNorm(2.0), param_list=["b"])
        with pytest.raises(ValueError, match="same 'clip_norm'"):
            fluid.optimizer.SGD(1.0).minimize(loss)

    def test_the_optimizer_goes_first(self):
        loss = fluid.layers.mean(parameter("a") * 2.0)
        fluid.clip.set_gradient_clip(fluid.clip.GradientClipByValue(0.5))
        fluid.optimizer.SGD(1.0, grad_clip=fluid.clip.GradientClipByValue(1.5)).minimize(loss)
        assert step("a") == [-0.5]

    def test_a_number_is_no_clip(self):
        with pytest.raises(TypeError, match="GradientClipBase"):
            fluid.clip.set_gradient_clip(1.0)

    def test_only_parameters_have_a_clip(self):
        clip = fluid.clip.GradientClipByNorm(1.0)
        with pytest.raises(TypeError, match="param_list"):
            fluid.clip.set_gradient_clip(clip, param_list=[fluid.data("x", [1])])

    def test_need_clip_is_a_function(self):
        with pytest.raises(TypeError, match="need_clip"):
            fluid.clip.GradientClipByNorm(1.0, need_clip=True)

    def test_need_clip_in_dygraph(self):
        with fluid.dygraph.guard():
            layer = fluid.dygraph.Linear(
                1, 1, param_attr=fluid.ParamAttr(initializer=fluid.initializer.Constant(1.0))
            )
            clip = fluid.clip.GradientClipByValue(0.5, need_clip=lambda p: ".w" in p.name)
            sgd = fluid.optimizer.SGD(1.0, parameter_list=layer.parameters(), grad_clip=clip)
            loss = fluid.layers.mean(
                layer(fluid.dygraph.to_variable(np.full([1, 1], 2.0, "float32")))
            )
            loss.backward()
            sgd.minimize(loss)
            assert (layer.weight.item(), layer.bias.item()) == (0.5, -1.0)


class TestLayerHelper:
    def test_makes_a_layer(self):
        from paddle.fluid.layer_helper import LayerHelper

        def dense(input, size, param_attr=None, bias_attr=None, act=None, name=None):
            helper = LayerHelper("dense", **locals())
            w = helper.create_parameter(
                helper.param_attr, [input.shape[1], size], helper.input_dtype()
            )
            return helper.append_activation(helper.append_bias_op(fluid.layers.matmul(input, w)))

        ones = fluid.initializer.Constant(1.0)
        out = dense(
            fluid.data("x", [None, 3]),
            2,
            param_attr=fluid.ParamAttr(initializer=ones),
            act="square",
        )
        assert [p.name for p in fluid.default_main_program().all_parameters()] == [
            "dense_0.w_0",
            "dense_0.b_0",
        ]
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        assert exe.run(feed={"x": np.ones((1, 3), "float32")}, fetch_list=[out])[0].tolist() == [
            [9.0, 9.0]
        ]

    def test_makes_variables_that_persist(self):
        helper = fluid.layer_helper.LayerHelper("counting")
        counter, is_new = helper.create_or_get_global_variable(
            name="counter", dtype="int64", shape=[1], persistable=True, stop_gradient=True
        )
        assert is_new
        assert helper.create_or_get_global_variable(name="counter") == (counter, False)
        helper.set_variable_initializer(counter, fluid.initializer.Constant(7))
        fluid.layers.increment(counter)
        assert step("counter") == [8]

    def test_bias_of_inner_axes(self):
        helper = fluid.layer_helper.LayerHelper(
            "own", bias_attr=fluid.ParamAttr(initializer=fluid.initializer.Constant(2.0))
        )
        out = helper.append_bias_op(
            fluid.layers.zeros([2, 3, 4], "float32"), dim_start=1, dim_end=2
        )
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        assert exe.run(fetch_list=[out])[0].tolist() == np.full([2, 3, 4], 2.0).tolist()

    def test_adds_operators_by_type(self):
        helper = fluid.layer_helper.LayerHelper("own")
        x = fluid.layers.ones([2, 3], "float32")
        weight = helper.create_parameter(
            None, [3, 1], "float32", default_initializer=fluid.initializer.Constant(2.0)
        )
        out = helper.create_variable_for_type_inference("float32")
        helper.append_op(
            type="mul",
            inputs={"X": x, "Y": weight},
            outputs={"Out": out},
            attrs={"x_num_col_dims": 1},
        )
        assert (out.name, list(out.shape)) == ("own_0.tmp_0", [2, 1])
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        assert exe.run(fetch_list=[out])[0].tolist() == [[6.0], [6.0]]
        with pytest.raises(NotSupported, match=r"append_op\(type='own'\)"):
            helper.append_op(type="own", inputs={"X": x}, outputs={"Out": out})

    def test_one_input(self):
        with pytest.raises(ValueError, match="only takes one input"):
            fluid.layer_helper.LayerHelper("own", input=[1, 2]).input()


class TestMetrics:
    def test_auc_counts_over_batches(self):
        metric = fluid.metrics.Auc("auc", num_thresholds=200)
        metric.update(np.array([[0.1, 0.9], [0.8, 0.2]]), np.array([[1], [0]]))
        assert metric.eval() == 1.0
        metric.update(np.array([[0.1, 0.9], [0.8, 0.2]]), np.array([[0], [1]]))
        assert metric.eval() == 0.5
        metric.reset()
        assert metric.eval() == 0.0

    def test_precision_and_recall(self):
        both = fluid.metrics.CompositeMetric()
        both.add_metric(fluid.metrics.Precision())
        both.add_metric(fluid.metrics.Recall())
        both.update(np.array([[0.9], [0.8], [0.3], [0.2]]), np.array([[1], [0], [1], [1]]))
        assert both.eval() == [1 / 2, 1 / 3]
        both.reset()
        assert both.eval() == [0.0, 0.0]

    def test_edit_distance(self):
        metric = fluid.metrics.EditDistance("edit")
        metric.update(np.array([[0.0], [2.0], [4.0]]), 3)
        assert metric.eval() == (2.0, 2 / 3)
        assert metric.get_config()["states"]["seq_num"] == 3
        metric.reset()
        with pytest.raises(ValueError, match="no data"):
            metric.eval()


# What Paddle 1.8.5 has after three steps; of Ftrl with l1 = l2, which it cannot tell apart.
OLDER_RULES = {
    "Ftrl": (
        {"lr_power": -0.7},
        [[-0.10029877, 0.01203432], [0.11100173, 0.2232719], [0.33672082, 0.444398]],
    ),
    "DecayedAdagrad": (
        {},
        [[-0.16905648, -0.22939381], [0.10767557, 0.04995577], [0.22332555, 0.15936297]],
    ),
    "Dpsgd": (
        {"clip": 0.05, "batch_size": 1.0, "sigma": 0.0},
        [[-0.00124061, 0.09831866], [0.1983021, 0.29761621], [0.39608237, 0.49471125]],
    ),
}


@pytest.mark.parametrize("name", OLDER_RULES)
def test_rules_that_only_paddle_1_has(name):
    settings, expected = OLDER_RULES[name]
    x = fluid.layers.data("x", [3])
    first = np.arange(6).reshape(3, 2).astype("float32") * 0.1
    w = fluid.layers.create_parameter(
        [3, 2],
        "float32",
        attr=fluid.ParamAttr(name="w", learning_rate=0.5),
        default_initializer=fluid.initializer.NumpyArrayInitializer(first),
    )
    y = fluid.layers.mul(x, w)
    optimizer = getattr(fluid.optimizer, name)(0.1, **settings)
    operators, _ = optimizer.minimize(fluid.layers.mean(y * y))
    assert [operator.type for operator in operators] == ["scale", optimizer.type]
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    batch = np.array([[1, 2, 3], [0.5, -1, 2]], "float32")
    for i in range(3):
        [made] = exe.run(feed={"x": batch * (i + 1)}, fetch_list=["w"])
    np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-6)


def test_dpsgd_adds_one_number_to_all_elements():
    w = parameter("w")
    optimizer = fluid.optimizer.Dpsgd(0.1, clip=10.0, batch_size=2.0, sigma=1.0)
    optimizer._seed = 3
    optimizer.minimize(fluid.layers.mean(w * 1.0))
    first = step("w")
    assert first != [pytest.approx(0.9)]
    assert step("w") == first  # a seed draws the same number again


def test_rates_of_programs_are_those_of_the_formula():
    rate = fluid.layers.exponential_decay(1.0, 5, 0.5)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    made = [exe.run(fetch_list=[rate])[0] for _ in range(12)]
    assert {v.dtype for v in made} == {np.dtype("float32")}
    assert [v.item() for v in made] == [np.float32(0.5 ** (i / 5)) for i in range(12)]


def test_initialisers_go_before_others_and_make_half_precision_as_float32():
    block = fluid.Program().global_block()
    for name, dtype in (("a", "float32"), ("b", "float16")):
        initializer = fluid.initializer.Uniform(seed=3)
        block.create_parameter([2], dtype, name, initializer=initializer)
    kinds = [(o.type, block.var(o.output_arg_names[0]).dtype.name) for o in block.ops]
    assert kinds == [
        ("uniform_random", "float32"),
        ("uniform_random", "float32"),
        ("cast", "float16"),
    ]
    assert block.ops[2].output_arg_names == ["b"]
    assert block.ops[0].output_arg_names == block.ops[2].input_arg_names
    assert block.ops[1].output_arg_names == ["a"]


def test_several_places_refuse_an_optimizer_in_a_branch():
    x = fluid.layers.data("x", [2])
    loss = fluid.layers.mean(fluid.layers.fc(x, 1))
    condition = fluid.layers.fill_constant([1], "bool", True)
    rules = [fluid.optimizer.SGD(0.1), fluid.optimizer.Adam(0.1)]
    fluid.layers.cond(
        condition, lambda: rules[0].minimize(loss)[1:0], lambda: rules[1].minimize(loss)[1:0]
    )
    fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
    compiled = fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(
        loss_name=loss.name, places=[fluid.CPUPlace(), fluid.CPUPlace()]
    )
    with pytest.raises(NotImplementedError, match="branch"):
        fluid.Executor(fluid.CPUPlace()).run(
            compiled, feed={"x": np.ones([4, 2], "float32")}, fetch_list=[loss]
        )


def test_the_gradient_of_a_variable_cannot_be_set():
    w = parameter("w")
    with pytest.raises(RuntimeError, match="append_backward"):
        w.grad = w
