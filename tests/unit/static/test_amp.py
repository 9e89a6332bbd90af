"""Mixed precision in programs: casts, lists, levels, loss scaling, low-precision parameters."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import UsageError

F = paddle.nn.functional
amp = paddle.static.amp
Constant = paddle.nn.initializer.Constant


def network(x):
    """Two layers with known weights."""
    rng = np.random.RandomState(0)
    for index, (width, size) in enumerate([(4, 6), (6, 2)]):
        weight = rng.randn(width, size).astype("float32") / 2
        attr = paddle.ParamAttr(name=f"w{index}", initializer=paddle.nn.initializer.Assign(weight))
        x = paddle.nn.Linear(
            width, size, weight_attr=attr, bias_attr=paddle.ParamAttr(name=f"b{index}")
        )(x)
        x = F.relu(x) if index == 0 else x
    return x


def batch(step=0):
    return np.random.RandomState(100 + step).randn(5, 4).astype("float32")


def start():
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    return exe


def types(loss):
    return [operator.type for operator in loss.block.ops if operator.role == "forward"]


def dtype_of(name):
    return paddle.static.default_main_program().global_block().var(name).dtype


# -- auto_cast while recording
# ----------------------------------------------------------------------------------


def test_auto_cast_records_casts_and_computes_as_eager_mode_does():
    x = paddle.static.data("x", [None, 4])
    with paddle.amp.auto_cast(dtype="bfloat16"):
        out = network(x)
        loss = (out**2).mean()
    assert out.dtype == paddle.bfloat16
    assert loss.dtype == paddle.float32
    assert types(loss)[:2] == ["cast", "cast"]
    pairs = paddle.static.append_backward(loss)
    exe = start()
    recorded = exe.run(feed={"x": batch()}, fetch_list=[loss, *[grad for _, grad in pairs]])
    weights = {p.name: np.array(p.get_value()) for p, _ in pairs}
    paddle.disable_static()
    layers = [paddle.nn.Linear(4, 6), paddle.nn.Linear(6, 2)]
    for index, layer in enumerate(layers):
        layer.weight.set_value(weights[f"w{index}"])
        layer.bias.set_value(weights[f"b{index}"])
    with paddle.amp.auto_cast(dtype="bfloat16"):
        loss = (layers[1](F.relu(layers[0](paddle.to_tensor(batch())))) ** 2).mean()
    loss.backward()
    paddle.enable_static()
    eager = {
        f"{kind}{i}": getattr(layers[i], name).grad
        for i in (0, 1)
        for kind, name in (("w", "weight"), ("b", "bias"))
    }
    np.testing.assert_array_equal(recorded[0], loss.numpy())
    for (param, _), grad in zip(pairs, recorded[1:], strict=True):
        np.testing.assert_array_equal(grad, eager[param.name].numpy())


def test_auto_cast_does_nothing_when_disabled():
    x = paddle.static.data("x", [None, 4])
    with paddle.amp.auto_cast(enable=False):
        out = network(x)
    assert "cast" not in types(out)


# -- decorate: what is rewritten
# --------------------------------------------------------------------------------


def test_white_operators_compute_in_low_precision_and_black_ones_in_float32():
    x = paddle.static.data("x", [None, 4])
    hidden = paddle.matmul(x, paddle.static.create_parameter([4, 3], "float32"))
    shifted = F.relu(hidden)
    scores = F.softmax(shifted)
    loss = scores.sum()
    amp.decorate(paddle.optimizer.SGD(0.1), level="O1", dtype="bfloat16").minimize(loss)
    assert types(loss)[:6] == ["cast", "cast", "matmul_v2", "relu", "cast", "softmax"]
    assert [v.dtype for v in (hidden, shifted, scores)] == [
        paddle.bfloat16,
        paddle.bfloat16,
        paddle.float32,
    ]
    assert dtype_of("x.cast_fp16") == paddle.bfloat16
    loss.block.program.verify()
    [value] = start().run(feed={"x": batch()}, fetch_list=[loss])
    np.testing.assert_allclose(value, 5.0, rtol=1e-5)


def test_a_variable_is_cast_once_for_all_its_readers():
    x = paddle.static.data("x", [None, 4])
    w = paddle.static.create_parameter([4, 4], "float32")
    loss = (paddle.matmul(x, w) + paddle.matmul(x, w)).sum()
    amp.decorate(paddle.optimizer.SGD(0.1), dtype="bfloat16").minimize(loss)
    assert types(loss)[:5] == ["cast", "cast", "matmul_v2", "matmul_v2", "elementwise_add"]


def test_a_variable_that_was_overwritten_is_cast_again():
    x = paddle.static.data("x", [2, 2])
    w = paddle.static.create_parameter([2, 2], "float32", default_initializer=Constant(1.0))
    moved = x * 1.0
    first = paddle.matmul(moved, w)
    paddle.assign(moved + x, moved)
    loss = (paddle.matmul(moved, w) - first).sum()
    lists = amp.CustomOpLists(custom_black_list=["elementwise_mul", "elementwise_sub"])
    amp.decorate(paddle.optimizer.SGD(0.1), lists, dtype="bfloat16").minimize(loss)
    [value] = start().run(feed={"x": np.ones((2, 2), "float32")}, fetch_list=[loss])
    assert value == 8.0


def test_custom_lists():
    x = paddle.static.data("x", [None, 4])
    w = paddle.static.create_parameter([4, 3], "float32")
    kept = paddle.matmul(x, w, name=None)
    loss = F.softmax(kept).sum()
    lists = amp.AutoMixedPrecisionLists(
        custom_white_list={"softmax"}, custom_black_list={"matmul_v2"}
    )
    amp.decorate(paddle.optimizer.SGD(0.1), lists, dtype="bfloat16").minimize(loss)
    assert types(loss)[:3] == ["matmul_v2", "cast", "softmax"]
    with pytest.raises(UsageError, match="overlaps"):
        amp.CustomOpLists({"softmax"}, {"softmax"})
    with pytest.raises(UsageError, match="'float16' or 'bfloat16'"):
        amp.CustomOpLists(dtype="float64")


def test_custom_black_variables():
    x = paddle.static.data("x", [None, 4])
    out = paddle.matmul(x, paddle.static.create_parameter([4, 3], "float32", name="exact"))
    lists = amp.CustomOpLists(custom_black_varnames={"exact"})
    amp.decorate(paddle.optimizer.SGD(0.1), lists, dtype="bfloat16").minimize(out.sum())
    assert "cast" not in types(out)


@pytest.mark.parametrize(
    ("level", "expected"), [("OD", paddle.float32), ("O1", paddle.bfloat16), ("O0", paddle.float32)]
)
def test_levels_differ_in_what_follows_a_white_operator(level, expected):
    x = paddle.static.data("x", [None, 4])
    product = paddle.matmul(x, paddle.static.create_parameter([4, 3], "float32"))
    out = F.relu(product)
    amp.decorate(paddle.optimizer.SGD(0.1), level=level, dtype="bfloat16").minimize(out.sum())
    assert out.dtype == expected
    assert product.dtype == (paddle.float32 if level == "O0" else paddle.bfloat16)


def test_promotion_keeps_float32_where_one_input_is():
    x = paddle.static.data("x", [None, 4])
    product = paddle.matmul(x, paddle.static.create_parameter([4, 4], "float32"))
    out = product + x
    amp.decorate(paddle.optimizer.SGD(0.1), dtype="bfloat16", use_promote=True).minimize(out.sum())
    assert out.dtype == paddle.float32


def test_branches_and_loops_compute_in_float32():
    x = paddle.static.data("x", [None, 4])
    product = paddle.matmul(
        x, paddle.static.create_parameter([4, 4], "float32", default_initializer=Constant(0.5))
    )
    inside = []

    def branch():
        inside.append(product * 2.0)
        return paddle.static.nn.cond(x.sum() > 1, lambda: inside[0] + product, lambda: product)

    out = paddle.static.nn.cond(x.sum() > 0, branch, lambda: product)
    count = paddle.zeros([1])
    _, total = paddle.static.nn.while_loop(
        lambda i, t: i < 2, lambda i, t: [i + 1, t + product], [count, product.detach()]
    )
    loss = out.sum() + total.sum()
    amp.decorate(paddle.optimizer.SGD(0.1), dtype="bfloat16").minimize(loss)
    assert product.dtype == paddle.bfloat16
    assert [v.dtype for v in (inside[0], out, total)] == [paddle.float32] * 3
    paddle.static.default_main_program().verify()
    exe = start()
    [value] = exe.run(feed={"x": np.ones((2, 4), "float32")}, fetch_list=[loss])
    np.testing.assert_allclose(
        value, 2 * 4 * 2.0 * (3 + 3)
    )  # one product is 2; three of them in the branch and the loop each


def test_a_rewrite_that_fails_changes_nothing(monkeypatch):
    x = paddle.static.data("x", [None, 4])
    product = paddle.matmul(x, paddle.static.create_parameter([4, 4], "float32"))
    loss = paddle.static.nn.cond(x.sum() > 0, lambda: product * 2.0, lambda: product).sum()

    def operators():
        return [str(o) for block in paddle.static.default_main_program().blocks for o in block.ops]

    def fail(rewriter, operator):
        if operator.type == "reduce_sum" and operator.output_arg_names == [loss.name]:
            raise RuntimeError("no shape")

    before = operators()
    monkeypatch.setattr("argosy.static.amp._rewrite._Rewriter._infer_outputs", fail)
    with pytest.raises(RuntimeError, match="no shape"):
        amp.decorate(paddle.optimizer.SGD(0.1), dtype="bfloat16").minimize(loss)
    assert operators() == before
    assert product.dtype == paddle.float32


# -- level O2
# --------------------------------------------------------------------------------------------------


def pure(guarded=False, **options):
    x = paddle.static.data("x", [None, 4])
    outside = F.relu(
        x
        * paddle.static.create_parameter(
            [4], "float32", name="scale", default_initializer=Constant(1.0)
        )
    )
    if guarded:
        with amp.fp16_guard():
            out = network(outside)
    else:
        out = network(outside)
    loss = (out.astype("float32") ** 2).mean()
    optimizer = amp.decorate(paddle.optimizer.Adam(0.05), **options)
    optimizer.minimize(loss)
    exe = start()
    optimizer.amp_init(paddle.CPUPlace())
    return exe, loss, optimizer


def test_parameters_become_low_precision_beside_float32_masters():
    exe, loss, _ = pure(level="O2", dtype="bfloat16", init_loss_scaling=1.0)
    assert dtype_of("w0") == dtype_of("b1") == paddle.bfloat16
    first = float(exe.run(feed={"x": batch()}, fetch_list=[loss])[0])
    for _ in range(5):
        exe.run(feed={"x": batch()})
    assert float(exe.run(feed={"x": batch()}, fetch_list=[loss])[0]) < first
    scope = paddle.static.global_scope()
    master = scope.find_var("w0_fp32_master_0").get_tensor().raw_tensor()
    assert master.dtype.is_floating_point
    assert master.itemsize == 4
    low = scope.find_var("w0").get_tensor().raw_tensor()
    np.testing.assert_array_equal(
        low.detach().float().numpy(), master.to(low.dtype).float().numpy()
    )
    assert (low.detach().float() != master).any()  # the master knows more digits
    assert scope.find_var("w0_fp32_master_0_moment1_0") is not None


def test_without_masters_the_parameter_itself_is_updated():
    exe, _, _ = pure(level="O2", dtype="bfloat16", init_loss_scaling=1.0, master_weight=False)
    names = paddle.static.default_main_program().global_block().vars
    assert not [name for name in names if "master" in name]
    before = np.array(paddle.static.global_scope().find_var("w0").get_tensor())
    exe.run(feed={"x": batch()})
    assert (np.array(paddle.static.global_scope().find_var("w0").get_tensor()) != before).any()


def test_the_guard_chooses_the_operators():
    exe, loss, _ = pure(guarded=True, init_loss_scaling=8.0, use_pure_fp16=True)
    assert dtype_of("w0") == paddle.float16
    assert dtype_of("scale") == paddle.float32
    assert np.isfinite(exe.run(feed={"x": batch()}, fetch_list=[loss])[0])


def test_parameters_of_norms_stay_float32():
    x = paddle.static.data("x", [None, 4])
    loss = paddle.static.nn.batch_norm(paddle.static.nn.fc(x, 3)).astype("float32").sum()
    optimizer = amp.decorate(
        paddle.optimizer.SGD(0.1), level="O2", dtype="bfloat16", init_loss_scaling=1.0
    )
    optimizer.minimize(loss)
    dtypes = {p.name: p.dtype for p in loss.block.program.all_parameters()}
    assert {name for name, dtype in dtypes.items() if dtype == paddle.float32} == {
        f"batch_norm_0.{suffix}" for suffix in ("w_0", "b_0", "w_1", "w_2")
    }
    exe = start()
    optimizer.amp_init(paddle.CPUPlace())
    assert np.isfinite(exe.run(feed={"x": batch()}, fetch_list=[loss])[0])


def test_a_test_program_is_rewritten_by_amp_init():
    x = paddle.static.data("x", [None, 4])
    out = network(x)
    loss = out.astype("float32").mean()
    test_program = paddle.static.default_main_program().clone(for_test=True)
    optimizer = amp.decorate(
        paddle.optimizer.SGD(0.1), level="O2", dtype="bfloat16", init_loss_scaling=1.0
    )
    optimizer.minimize(loss)
    exe = start()
    optimizer.amp_init(paddle.CPUPlace(), test_program=test_program, use_fp16_test=True)
    assert test_program.global_block().var("w0").dtype == paddle.bfloat16
    [tested] = exe.run(test_program, feed={"x": batch()}, fetch_list=[loss.name])
    [trained] = exe.run(feed={"x": batch()}, fetch_list=[loss])
    np.testing.assert_array_equal(tested, trained)


@pytest.mark.parametrize("multi_precision", [True, False])
def test_parameters_that_are_float16_from_the_start_train(multi_precision):
    attr = paddle.ParamAttr(name="w", initializer=Constant(1.0))
    w = paddle.static.create_parameter([2], "float16", attr=attr)
    loss = (w.astype("float32") * 3.0).sum()
    paddle.optimizer.Momentum(1e-4, 0.9, multi_precision=multi_precision).minimize(loss)
    exe = start()
    for _ in range(3):
        exe.run()
    expected = 1.0 - 3e-4 * (1 + 1.9 + 2.71)
    value = np.array(w.get_value())
    assert value.dtype == np.float16
    # Below 1 float16 has steps of 2**-11: a master loses half of one, without it every update does.
    np.testing.assert_allclose(
        value.astype("float64"), expected, rtol=0, atol=2**-12 * (1.01 if multi_precision else 3)
    )
    masters = [n for n in loss.block.vars if n == "w_fp32_master_0"]
    assert bool(masters) is multi_precision
    if multi_precision:
        master = np.array(paddle.static.global_scope().find_var("w_fp32_master_0").get_tensor())
        np.testing.assert_allclose(master, expected, rtol=1e-6)


# -- loss scaling
# -----------------------------------------------------------------------------------------------


def scaled(optimizer, **options):
    x = paddle.static.data("x", [1])
    w = paddle.static.create_parameter([1], "float32", name="w", default_initializer=Constant(1.0))
    loss = (w * x).sum()
    lists = amp.CustomOpLists(custom_black_list=["elementwise_mul", "reduce_sum"])
    decorated = amp.decorate(optimizer, lists, **options)
    decorated.minimize(loss)
    return start(), w, decorated


def test_gradients_are_unscaled_and_the_scale_persists():
    exe, w, decorated = scaled(paddle.optimizer.SGD(0.5), init_loss_scaling=64.0)
    assert decorated.get_loss_scaling().name == "loss_scaling_0"
    outs = exe.run(
        feed={"x": np.array([1.0], "float32")}, fetch_list=["w@GRAD", decorated.get_scaled_loss()]
    )
    assert outs[0] == 1.0
    assert outs[1] == 64.0
    assert np.array(w.get_value()) == 0.5


def test_an_overflow_leaves_parameters_alone_and_shrinks_the_scale():
    exe, w, decorated = scaled(
        paddle.optimizer.Adam(0.5), init_loss_scaling=64.0, decr_every_n_nan_or_inf=1
    )
    exe.run(feed={"x": np.array([np.inf], "float32")})
    assert np.array(w.get_value()) == 1.0
    assert np.array(decorated.get_loss_scaling().get_value()) == 32.0
    scope = paddle.static.global_scope()
    power = np.array(scope.find_var("w_beta1_pow_acc_0").get_tensor())
    assert power == np.float32(0.9)  # the step did not happen


def test_one_gradient_of_two_parameters_is_unscaled_once_each():
    a = paddle.static.create_parameter([1], "float32", name="a", default_initializer=Constant(1.0))
    b = paddle.static.create_parameter([1], "float32", name="b", default_initializer=Constant(1.0))
    loss = (a + b).sum()
    lists = amp.CustomOpLists(custom_black_list=["elementwise_add", "reduce_sum"])
    amp.decorate(paddle.optimizer.SGD(0.5), lists, init_loss_scaling=4.0).minimize(loss)
    start().run()
    assert np.array(a.get_value()) == np.array(b.get_value()) == 0.5


def test_sparse_gradients_are_unscaled_as_they_are():
    ids = paddle.static.data("ids", [None], "int64")
    table = paddle.static.create_parameter(
        [3, 1], "float32", name="table", default_initializer=Constant(1.0)
    )
    loss = F.embedding(ids, table, sparse=True).sum()
    lists = amp.CustomOpLists(custom_black_list=["reduce_sum"])
    amp.decorate(paddle.optimizer.Adam(0.5, lazy_mode=True), lists, init_loss_scaling=4.0).minimize(
        loss
    )
    exe = start()
    [grad] = exe.run(feed={"ids": np.array([1, 1])}, fetch_list=["table@GRAD"])
    assert grad[:, 0].tolist() == [0.0, 2.0, 0.0]
    np.testing.assert_array_equal(np.array(table.get_value())[[0, 2]], 1.0)


def test_bfloat16_needs_no_dynamic_scaling():
    with pytest.warns(UserWarning, match="bfloat16"):
        decorated = amp.decorate(
            paddle.optimizer.SGD(0.1), dtype="bfloat16", use_dynamic_loss_scaling=True
        )
    w = paddle.static.create_parameter([1], "float32", name="w")
    decorated.minimize((w * 2.0).sum())
    assert "num_good_steps_0" not in paddle.static.default_main_program().global_block().vars


def test_wrong_uses():
    with pytest.raises(UsageError, match="minimize"):
        amp.decorate(paddle.optimizer.SGD(0.1)).get_loss_scaling()
    with pytest.raises(UsageError, match="amp_init"):
        amp.decorate(paddle.optimizer.SGD(0.1)).amp_init(paddle.CPUPlace())
    with pytest.raises(UsageError, match="level"):
        amp.decorate(paddle.optimizer.SGD(0.1), level="O9")
    with pytest.raises(UsageError, match="exclude each other"):
        amp.decorate(paddle.optimizer.SGD(0.1), level="O2", use_pure_fp16=True)


# -- the names for bfloat16
# -------------------------------------------------------------------------------------


def test_bf16_functions():
    x = paddle.static.data("x", [None, 4])
    out = network(x)
    program = paddle.static.default_main_program()
    lists = amp.bf16.AutoMixedPrecisionListsBF16(custom_fp32_list={"softmax"})
    assert "softmax" in lists.fp32_list
    amp.bf16.rewrite_program_bf16(program, lists)
    assert out.dtype == paddle.bfloat16
    assert dtype_of("w0") == paddle.float32
    assert amp.bf16.convert_float_to_uint16([1.0]).tolist() == [0x3F80]


def test_decorate_bf16_trains():
    x = paddle.static.data("x", [None, 4])
    with amp.bf16.bf16_guard():
        out = network(x)
    loss = (out.astype("float32") ** 2).mean()
    optimizer = amp.bf16.decorate_bf16(paddle.optimizer.SGD(0.05), use_pure_bf16=True)
    optimizer.minimize(loss)
    assert dtype_of("w0") == paddle.bfloat16
    exe = start()
    optimizer.amp_init(paddle.CPUPlace())
    losses = [float(exe.run(feed={"x": batch()}, fetch_list=[loss])[0]) for _ in range(8)]
    assert losses[-1] < losses[0]


def test_parameters_are_bfloat16_from_the_start_where_minimize_knows_what_fills_them():
    x = paddle.static.data("x", [None, 4])
    weight = paddle.ParamAttr(name="w", initializer=paddle.nn.initializer.Uniform())
    loss = (paddle.nn.Linear(4, 2, weight, paddle.ParamAttr(name="b"))(x) ** 2).mean()
    optimizer = amp.bf16.decorate_bf16(paddle.optimizer.SGD(0.05), None, True, False)
    optimizer.minimize(loss, paddle.static.default_startup_program())
    exe = start()
    held = paddle.static.global_scope()
    assert {np.array(held.find_var(n).get_tensor()).dtype.name for n in "wb"} == {"uint16"}
    losses = [exe.run(feed={"x": batch()}, fetch_list=[loss])[0].item() for _ in range(8)]
    assert losses[-1] < losses[0]


def test_values_that_are_given_stay_float32_until_they_are_cast():
    out = network(paddle.static.data("x", [None, 4]))
    main, startup = paddle.static.default_main_program(), paddle.static.default_startup_program()
    assert amp.bf16.cast_model_to_bf16(main, startup, None, False) == {"w0", "w1"}
    exe = start()
    amp.bf16.cast_parameters_to_bf16(paddle.CPUPlace(), main, None, {"w0", "w1"})
    assert exe.run(feed={"x": batch()}, fetch_list=[out])[0].dtype.name == "uint16"
