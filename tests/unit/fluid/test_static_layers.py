"""``fluid.layers`` in programs and in dygraph: what golden data does not show."""

import numpy as np
import pytest

import paddle
import paddle.fluid as fluid
from argosy.foundation.errors import NotEager

pytestmark = pytest.mark.usefixtures("fresh_programs")


def run(fetches, feed=None, program=None, startup=True):
    exe = fluid.Executor(fluid.CPUPlace())
    if startup:
        exe.run(fluid.default_startup_program())
    return exe.run(program or fluid.default_main_program(), feed=feed or {}, fetch_list=fetches)


def ones(*shape):
    return np.ones(shape, "float32")


class TestData:
    def test_begins_to_record(self):
        assert fluid.in_dygraph_mode()
        x = fluid.layers.data("x", [3])
        assert not fluid.in_dygraph_mode()
        assert list(x.shape) == [-1, 3]
        assert x.stop_gradient

    @pytest.mark.parametrize(
        ("shape", "append", "expected"),
        [
            ([3], True, [-1, 3]),
            ([3], False, [3]),
            ([None, 3], True, [-1, 3]),
            ([2, -1], True, [2, -1]),
            ([], True, [-1]),
        ],
    )
    def test_puts_a_batch_dimension_in_front(self, shape, append, expected):
        assert list(fluid.layers.data("x", shape, append_batch_size=append).shape) == expected

    def test_takes_gradients_on_request(self):
        assert not fluid.layers.data("x", [3], stop_gradient=False).stop_gradient

    def test_is_for_dense_tensors(self):
        dense = fluid.core.VarDesc.VarType.LOD_TENSOR
        assert list(fluid.layers.data("x", [1], type=dense).shape) == [-1, 1]
        with pytest.raises(NotImplementedError, match="dense tensors"):
            fluid.layers.data("y", [1], type=fluid.core.VarDesc.VarType.SELECTED_ROWS)


class TestRecurrent:
    def test_empty_sequences_and_first_states(self):
        x = fluid.data("x", [None, 6], lod_level=1)
        start = fluid.data("start", [None, 2])
        zero = fluid.ParamAttr(initializer=fluid.initializer.Constant(0.0))
        out = fluid.layers.dynamic_gru(x, 2, param_attr=zero, bias_attr=zero, h_0=start)
        last = fluid.layers.sequence_last_step(out)
        feed = {
            "x": fluid.create_lod_tensor(np.zeros((3, 6), "float32"), [[1, 0, 2]], fluid.CPUPlace())
        }
        feed["start"] = np.array([[4.0, 4.0], [8.0, 8.0], [16.0, 16.0]], "float32")
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        states, final = map(
            np.array, exe.run(feed=feed, fetch_list=[out, last], return_numpy=False)
        )
        assert states[:, 0].tolist() == [2.0, 8.0, 4.0]  # each step halves the state
        assert final[:, 0].tolist() == [2.0, 0.0, 4.0]  # the pool of an empty sequence is zero

    def test_dynamic_lstm_refuses_an_unknown_activation(self):
        x = fluid.data("x", [None, 8], lod_level=1)
        with pytest.raises(ValueError, match=r"dynamic_lstm: activations.*'gelu'"):
            fluid.layers.dynamic_lstm(x, 8, gate_activation="gelu")

    def test_dynamic_lstm_refuses_what_has_no_sequences(self):
        with pytest.raises(ValueError, match="lod_level"):
            fluid.layers.dynamic_lstm(fluid.data("plain", [None, 8]), 8)

    def test_lstm_unit_refuses_states_of_other_widths(self):
        with pytest.raises(ValueError, match="lstm_unit"):
            fluid.layers.lstm_unit(
                fluid.data("a", [2, 3]), fluid.data("b", [2, 3]), fluid.data("c", [2, 4])
            )


class TestParameters:
    def test_are_shared_by_name(self):
        x = fluid.data("x", [None, 3])
        attr = fluid.ParamAttr(name="shared")
        fluid.layers.fc(x, 3, param_attr=attr, bias_attr=False)
        fluid.layers.fc(x, 3, param_attr=attr, bias_attr=False)
        assert [p.name for p in fluid.default_main_program().all_parameters()] == ["shared"]

    def test_attributes_reach_them(self):
        x = fluid.data("x", [None, 3])
        decay = fluid.regularizer.L2Decay(0.1)
        attr = fluid.ParamAttr(
            initializer=fluid.initializer.Constant(2.0),
            learning_rate=0.5,
            regularizer=decay,
            trainable=False,
        )
        out = fluid.layers.fc(x, 2, param_attr=attr)
        weight, bias = fluid.default_main_program().all_parameters()
        assert (weight.optimize_attr["learning_rate"], weight.regularizer, weight.trainable) == (
            0.5,
            decay,
            False,
        )
        assert bias.trainable
        assert run([out], {"x": ones(1, 3)})[0].tolist() == [[6.0, 6.0]]

    def test_are_noted_by_the_guard_in_dygraph(self):
        with fluid.dygraph.guard():
            x = fluid.dygraph.to_variable(ones(2, 3))
            attr = fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(1.0))
            out = fluid.layers.fc(x, 1, param_attr=attr)
            loss = fluid.layers.mean(out)
            loss.backward()
            _, pairs = fluid.optimizer.SGD(1.0).minimize(loss)
            assert {p.name for p, _ in pairs} == {"w", "fc_0.b_0"}
            assert {p.name: p.numpy().ravel().tolist() for p, _ in pairs}["w"] == [0.0, 0.0, 0.0]
            assert loss.shape == [1]

    @pytest.mark.parametrize(
        "build",
        [
            lambda x: fluid.layers.conv2d(x, 2, 3, param_attr=False),
            lambda x: fluid.layers.batch_norm(x, bias_attr=False),
            lambda x: fluid.layers.layer_norm(x, param_attr=False),
        ],
    )
    def test_that_are_needed_cannot_be_false(self, build):
        with pytest.raises(AssertionError, match="should not be False"):
            build(fluid.data("x", [2, 3, 5, 5]))

    def test_normalised_weight_begins_as_its_direction(self):
        x = fluid.data("x", [None, 2])
        attr = fluid.WeightNormParamAttr(
            dim=0, name="wn", initializer=fluid.initializer.Uniform(0.5, 1.0)
        )
        out = fluid.layers.fc(x, 3, param_attr=attr, bias_attr=False)
        result, direction, length = run([out, "wn_v", "wn_g"], {"x": np.eye(2, dtype="float32")})
        np.testing.assert_allclose(result, direction, rtol=1e-6)
        np.testing.assert_allclose(length, np.sqrt((direction**2).sum(1, keepdims=True)), rtol=1e-6)

    def test_normalised_weights_are_for_programs(self):
        with fluid.dygraph.guard(), pytest.raises(ValueError, match="WeightNormParamAttr"):
            fluid.layers.fc(
                fluid.dygraph.to_variable(ones(2, 3)), 1, param_attr=fluid.WeightNormParamAttr()
            )


class TestErrors:
    def test_embedding_wants_a_last_dimension_of_one(self):
        with pytest.raises(ValueError, match=r"last dimension.*fluid\.embedding"):
            fluid.layers.embedding(fluid.data("ids", [None, 4], "int64"), [10, 2])

    def test_fc_needs_known_widths(self):
        with pytest.raises(ValueError, match="must be known"):
            fluid.layers.fc(fluid.data("x", [None, None]), 2)
        with pytest.raises(ValueError, match="num_flatten_dims"):
            fluid.layers.fc(fluid.data("y", [None, 3]), 2, num_flatten_dims=2)
        with pytest.raises(ValueError, match=r"2 inputs.*attributes for 1"):
            fluid.layers.fc([fluid.data("a", [1, 3])] * 2, 2, param_attr=[None])

    def test_conv_names_channels_and_groups(self):
        with pytest.raises(ValueError, match=r"conv2d: the channels.*groups \(2\)"):
            fluid.layers.conv2d(fluid.data("x", [None, 3, 5, 5]), 2, 3, groups=2)

    def test_unknown_activations_suggest_known_ones(self):
        with pytest.raises(ValueError, match="'relu'"):
            fluid.layers.fc(fluid.data("x", [None, 3]), 2, act="rellu")

    def test_counters_belong_to_programs(self):
        with fluid.dygraph.guard():
            with pytest.raises(ValueError, match="autoincreased_step_counter"):
                fluid.layers.autoincreased_step_counter()
            with pytest.raises(ValueError, match=r"fluid\.metrics\.Auc"):
                fluid.layers.auc(
                    fluid.dygraph.to_variable(ones(2, 2)),
                    fluid.dygraph.to_variable(np.zeros((2, 1), "int64")),
                )


class TestDropout:
    def test_follows_the_test_program(self):
        x = fluid.data("x", [None, 1000])
        out = fluid.layers.dropout(x, 0.25)
        test = fluid.default_main_program().clone(for_test=True)
        [trained] = run([out], {"x": ones(1, 1000)})
        assert set(np.unique(trained)) == {0.0, 1.0}
        assert 650 < trained.sum() < 850
        [tested] = run([out.name], {"x": ones(1, 1000)}, test)
        assert set(np.unique(tested)) == {0.75}

    @pytest.mark.parametrize("implementation", ["downgrade_in_infer", "upscale_in_train"])
    def test_a_seed_chooses_the_same_elements(self, implementation):
        x = fluid.data("x", [None, 100])
        out = fluid.layers.dropout(x, 0.5, seed=7, dropout_implementation=implementation)
        test = fluid.default_main_program().clone(for_test=True)
        first, again = (run([out], {"x": ones(1, 100)})[0] for _ in range(2))
        assert np.array_equal(first, again)
        assert set(np.unique(first)) == (
            {0.0, 1.0} if implementation == "downgrade_in_infer" else {0.0, 2.0}
        )
        [tested] = run([out.name], {"x": ones(1, 100)}, test)
        assert set(np.unique(tested)) == (
            {0.5} if implementation == "downgrade_in_infer" else {1.0}
        )


class TestBatchNorm:
    def test_test_program_takes_running_statistics(self):
        x = fluid.data("x", [None, 2])
        out = fluid.layers.batch_norm(
            x, momentum=0.5, moving_mean_name="mean", moving_variance_name="variance"
        )
        test = fluid.default_main_program().clone(for_test=True)
        batch = np.array([[1.0, 2.0], [3.0, 6.0]], "float32")
        run([out], {"x": batch})
        mean = np.array(fluid.global_scope().find_var("mean").get_tensor())
        variance = np.array(fluid.global_scope().find_var("variance").get_tensor())
        assert mean.tolist() == [1.0, 2.0]
        [tested] = run([out.name], {"x": batch}, test, startup=False)
        np.testing.assert_allclose(tested, (batch - mean) / np.sqrt(variance + 1e-5), rtol=1e-5)
        assert np.array(fluid.global_scope().find_var("mean").get_tensor()).tolist() == [1.0, 2.0]


class TestShapesThatRunsTell:
    def test_images_of_any_size(self):
        x = fluid.data("x", [None, 2, None, None])
        outs = [
            fluid.layers.pool2d(x, pool_type=kind, global_pooling=True) for kind in ("avg", "max")
        ] + [fluid.layers.flatten(x, 2)]
        results = run(outs, {"x": np.arange(24.0, dtype="float32").reshape(1, 2, 3, 4)})
        assert [r.ravel().tolist() for r in results[:2]] == [[5.5, 17.5], [11.0, 23.0]]
        assert results[2].shape == (2, 12)

    def test_rows_like_another_variable(self):
        x = fluid.data("x", [None, 3])
        made = fluid.layers.fill_constant_batch_size_like(x, [-1, 2], "float32", 4.0)
        wide = fluid.layers.expand_as(fluid.layers.reduce_sum(x, dim=1, keep_dim=True), x)
        results = run([made, wide], {"x": ones(5, 3)})
        assert [r.shape for r in results] == [(5, 2), (5, 3)]

    def test_repeats_cannot_be_counted_between_unknown_extents(self):
        with pytest.raises(
            ValueError, match=r"expand_as: where the shapes \[-1, 2\] and \[6, 4\] differ"
        ):
            fluid.layers.expand_as(fluid.data("x", [None, 2]), fluid.data("y", [6, 4]))

    def test_operand_with_two_unknown_dimensions(self):
        x, y = fluid.data("x", [None, None, 2]), fluid.data("y", [None, None])
        [out] = run(
            [fluid.layers.elementwise_add(x, y, axis=0)], {"x": ones(3, 4, 2), "y": ones(3, 4)}
        )
        assert out.tolist() == (ones(3, 4, 2) * 2).tolist()


@pytest.mark.parametrize(("shape", "along"), [([4, 3], 1), ([4, 3, 2], 1), ([5], 0)])
def test_l2_normalize_without_an_axis(shape, along):
    values = np.random.RandomState(0).randn(*shape).astype("float32")
    x = fluid.data("x", shape)
    [out] = run([fluid.layers.l2_normalize(x, None)], {"x": values})
    np.testing.assert_allclose(
        out, values / np.sqrt((values**2).sum(along, keepdims=True)), rtol=1e-5
    )


class TestVariables:
    def test_global_variables_persist_or_begin_anew(self):
        kept = fluid.layers.create_global_var([1], 1.0, "float32", persistable=True, name="kept")
        fresh = fluid.layers.create_global_var([1], 1.0, "float32", name="fresh")
        for variable in (kept, fresh):
            fluid.layers.assign(variable * 2.0, variable)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        values = [[v.item() for v in exe.run(fetch_list=["kept", "fresh"])] for _ in range(3)]
        assert values == [[2.0, 2.0], [4.0, 2.0], [8.0, 2.0]]

    def test_sums_and_constants_into_a_tensor(self):
        out = fluid.layers.create_tensor("float32", name="out")
        fluid.layers.fill_constant([2], "float32", 3.0, out=out)
        fluid.layers.sums([out, out], out=out)
        assert list(out.shape) == [2]
        assert run(["out"])[0].tolist() == [6.0, 6.0]

    def test_counter_comes_first_and_is_made_once(self):
        x = fluid.data("x", [1])
        y = x + 1.0
        counter = fluid.layers.autoincreased_step_counter(begin=5)
        assert fluid.layers.autoincreased_step_counter() is counter
        assert fluid.default_main_program().global_block().ops[0].type == "increment"
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        assert [
            exe.run(feed={"x": ones(1)}, fetch_list=[counter, y])[0].tolist() for _ in range(2)
        ] == [[5], [6]]
        test = fluid.default_main_program().clone(for_test=True)
        assert exe.run(test, feed={"x": ones(1)}, fetch_list=[counter.name])[0].tolist() == [7]

    def test_a_schedule_of_ones_own(self):
        """As scripts write it that compute a rate themselves."""
        from paddle.fluid.layers.learning_rate_scheduler import _decay_step_counter

        with fluid.default_main_program()._lr_schedule_guard():
            rate = fluid.layers.tensor.create_global_var(
                [1], 0.0, "float32", persistable=True, name="learning_rate"
            )
            step = _decay_step_counter()
            fluid.layers.tensor.assign(0.5 / (step + 1.0), rate)
        w = fluid.layers.create_parameter(
            [1], "float32", name="w", default_initializer=fluid.initializer.Constant(1.0)
        )
        loss = fluid.layers.mean(w * 1.0)
        test = fluid.default_main_program().clone(for_test=True)
        assert "increment" not in [o.type for o in test.global_block().ops]
        fluid.optimizer.SGD(rate).minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        seen = [exe.run(fetch_list=[rate, "w"]) for _ in range(2)]
        assert [[v.item() for v in row] for row in seen] == [[0.5, 0.5], [0.25, 0.25]]


def test_nets_check_what_they_are_given():
    x = fluid.data("x", [2, 3, 4])
    with pytest.raises(ValueError, match="divisible by num_heads=3"):
        fluid.nets.scaled_dot_product_attention(x, x, x, num_heads=3)
    with pytest.raises(ValueError, match="one width"):
        fluid.nets.scaled_dot_product_attention(x, fluid.data("k", [2, 3, 5]), x)
    with pytest.raises(ValueError, match="2 convolutions, but 3 of conv_padding"):
        fluid.nets.img_conv_group(fluid.data("i", [1, 2, 8, 8]), [2, 2], 2, conv_padding=[1, 1, 1])


def test_what_an_activation_takes_has_the_name_that_1x_gives_it():
    x = fluid.data("x", [2, 3])
    out = fluid.layers.elementwise_add(x, x, act="relu", name="block.add")
    fluid.layers.elementwise_mul(x, x, act="relu")
    made = [op.output_arg_names for op in fluid.default_main_program().global_block().ops]
    assert made == [
        ["block.add.tmp_0"],
        ["block.add.tmp_1"],
        ["elementwise_mul_0.tmp_0"],
        ["elementwise_mul_0.tmp_1"],
    ]
    assert out.name == "block.add.tmp_1"


def test_collectives_check_what_they_are_given():
    x = fluid.data("x", [3, 2])
    with pytest.raises(TypeError, match="expected one of"):
        fluid.layers.collective._c_allreduce(x, reduce_type="mean")
    with pytest.raises(ValueError, match="3 rows cannot be divided among 2 ranks"):
        fluid.layers.collective._c_reducescatter(x, 2)
    with pytest.raises(TypeError, match="must be a Variable"):
        fluid.layers.collective._c_reducescatter([1], 2)


@pytest.mark.parametrize("tail", [[], [1]])
def test_cross_entropy_has_the_shape_of_its_labels(tail):
    x, label = fluid.data("x", [None, None, 5]), fluid.data("label", [None, None, *tail], "int64")
    loss = fluid.layers.cross_entropy(fluid.layers.softmax(x), label)
    assert list(loss.shape) == [-1, -1, *tail]
    feed = {"x": np.zeros((4, 3, 5), "float32"), "label": np.ones((4, 3, *tail), "int64")}
    [found] = run([loss], feed, startup=False)
    np.testing.assert_allclose(found, np.full((4, 3, *tail), np.log(5.0)), rtol=1e-6)


def test_a_variable_of_a_1x_program_is_true():
    """Scripts of 1.x ask ``if mask:``, and mean that there is one."""
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        mask = fluid.layers.relu(fluid.data("x", [None, 3])) - 1.0
        with pytest.warns(UserWarning, match="True in a program of 1.x, whatever value"):
            assert mask


def test_a_variable_of_todays_program_has_no_truth():
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        paddle.enable_static()
        x = paddle.static.data("x", [None, 3])
        with pytest.raises(NotEager, match="has no value while the program is recorded"):
            bool(x - 1.0)


@pytest.mark.parametrize(
    ("operate", "expected"),
    [
        (lambda x, y: x * y, lambda x, y: x * y[..., None]),
        (lambda x, y: x + y, lambda x, y: x + y[..., None]),
        (lambda x, y: x - y, lambda x, y: x - y[..., None]),
        (lambda x, y: x / y, lambda x, y: x / y[..., None]),
    ],
)
def test_operators_of_scripts_put_samples_under_samples(operate, expected):
    """1.x aligns an operand from the first dimension where that counts the samples."""
    out = operate(fluid.data("x", [None, 3, 2]), fluid.data("y", [None, 3]))
    assert list(out.shape) == [-1, 3, 2]
    assert out.name == "tmp_0"
    x, y = np.arange(1, 19, dtype="float32").reshape(3, 3, 2), ones(3, 3) * [[2], [3], [5]]
    y = y.astype("float32")
    (got,) = run([out], {"x": x, "y": y})
    np.testing.assert_allclose(got, expected(x, y), rtol=1e-6)


def test_operators_align_the_last_dimensions_of_what_has_no_samples():
    weight = fluid.layers.assign(np.arange(9, dtype="float32").reshape(3, 3))
    out = fluid.data("x", [None, 3, 3]) * weight
    (got,) = run([out], {"x": ones(2, 3, 3)})
    np.testing.assert_array_equal(got[1], np.arange(9).reshape(3, 3))
