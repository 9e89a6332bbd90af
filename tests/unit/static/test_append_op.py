"""Operators added by hand. The expected values were compared with those of Paddle 2.6.2."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import NotSupported, ProgramError, UsageError

X = np.array([[-1.0, 2.0, 0.5], [3.0, -4.0, 1.0]], "float32")
COLUMN = np.array([2.0, 4.0], "float32")
IDS = np.array([[1], [0]])


def block():
    return paddle.static.default_main_program().global_block()


def compute(type, inputs, outputs=("Out",), **attrs):
    """The results of one operator for arrays."""
    feed = {}

    def declared(array):
        name = f"in{len(feed)}"
        feed[name] = array
        return paddle.static.data(name, array.shape, str(array.dtype))

    given = {
        slot: [declared(a) for a in (v if isinstance(v, list) else [v])]
        for slot, v in inputs.items()
    }
    made = {slot: [block().create_var(f"out{slot}")] for slot in outputs}
    block().append_op(type=type, inputs=given, outputs=made, attrs=attrs)
    fetches = [made[slot][0] for slot in outputs if slot not in ("XShape", "Mask")]
    return [v.tolist() for v in paddle.static.Executor().run(feed=feed, fetch_list=fetches)]


@pytest.mark.parametrize(
    ("type", "inputs", "attrs", "expected"),
    [
        ("relu", {"X": X}, {}, np.maximum(X, 0)),
        ("square", {"X": X}, {}, X * X),
        ("leaky_relu", {"X": X}, {}, np.where(X > 0, X, X * np.float32(0.02))),
        (
            "scale",
            {"X": X},
            {"scale": 2.0, "bias": 1.0, "bias_after_scale": False, "use_mkldnn": True},
            (X + 1) * 2,
        ),
        ("sum", {"X": [X, X, X]}, {}, X * 3),
        ("elementwise_add", {"X": X, "Y": COLUMN}, {"axis": 0}, X + COLUMN[:, None]),
        ("elementwise_div", {"X": X, "Y": COLUMN}, {"axis": 0}, X / COLUMN[:, None]),
        ("less_than", {"X": X, "Y": X * 2}, {}, X * 2 > X),
        ("mul", {"X": X, "Y": X.T}, {"x_num_col_dims": 1, "y_num_col_dims": 1}, X @ X.T),
        ("matmul", {"X": X, "Y": X}, {"transpose_Y": True, "alpha": 2.0}, X @ X.T * 2),
        ("reduce_sum", {"X": X}, {"dim": [1], "keep_dim": True}, X.sum(1, keepdims=True)),
        ("reduce_max", {"X": X}, {"reduce_all": True}, X.max()),
        ("mean", {"X": X}, {}, X.mean()),
        ("cast", {"X": X}, {"in_dtype": "float32", "out_dtype": "int32"}, X.astype("int32")),
        ("concat", {"X": [X, X]}, {"axis": 1}, np.concatenate([X, X], 1)),
        (
            "slice",
            {"Input": X},
            {"axes": [1], "starts": [0], "ends": [1], "decrease_axis": [1], "infer_flags": [1]},
            X[:, 0],
        ),
        ("lookup_table", {"W": X, "Ids": IDS}, {"remote_prefetch": False}, X[IDS[:, 0]]),
        (
            "lookup_table_v2",
            {"W": X, "Ids": IDS},
            {"padding_idx": 0},
            X[IDS] * (IDS != 0)[..., None],
        ),
        ("fill_constant", {}, {"shape": [2], "dtype": "float32", "value": 3.0}, [3.0, 3.0]),
        ("fill_any_like", {"X": X}, {"value": 7.0}, np.full_like(X, 7)),
    ],
)
def test_types(type, inputs, attrs, expected):
    [value] = compute(type, inputs, **attrs)
    np.testing.assert_allclose(value, expected, rtol=1e-6)


def test_outputs_that_only_gradient_operators_of_paddle_read_are_left_out():
    assert compute("reshape2", {"X": X}, ("Out", "XShape"), shape=[0, 3, 1]) == [
        X[:, :, None].tolist()
    ]
    assert compute("dropout", {"X": X}, ("Out", "Mask"), dropout_prob=0.5, is_test=True) == [
        (X / 2).tolist()
    ]


def test_several_outputs():
    largest, places = compute("top_k", {"X": X}, ("Out", "Indices"), k=1)
    assert (largest, places) == ([[2.0], [3.0]], [[1], [0]])
    x = paddle.static.data("x", [None, 3])
    parts = [block().create_var(f"part{i}") for i in range(3)]
    block().append_op("split", {"X": x}, {"Out": parts}, {"num": 3, "axis": 1})
    assert [p.shape for p in parts] == [[-1, 1]] * 3
    with pytest.raises(UsageError, match=r"3 results for \['part0'\]"):
        block().append_op("split", {"X": x}, {"Out": parts[:1]}, {"num": 3, "axis": 1})


def test_the_variable_is_the_very_result_and_gradients_flow():
    x = paddle.static.data("x", [None, 3])
    w = paddle.static.create_parameter(
        [3, 1], "float32", default_initializer=paddle.nn.initializer.Constant(1.0)
    )
    product, loss = block().create_var("product"), block().create_var("loss")
    operator = block().append_op(type="mul", inputs={"X": x, "Y": w}, outputs={"Out": product})
    block().append_op(
        type="mean", inputs={"X": ["product"]}, outputs={"Out": ["loss"]}, attrs={"op_role": 256}
    )
    assert [o.type for o in block().ops] == ["mul", "mean"]
    assert (operator.output_arg_names, product.op is operator, product.shape) == (
        ["product"],
        True,
        [-1, 1],
    )
    paddle.optimizer.SGD(0.5).minimize(loss)
    paddle.static.default_main_program().verify()
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    values = [
        float(exe.run(feed={"x": np.ones((2, 3), "float32")}, fetch_list=[loss])[0])
        for _ in range(2)
    ]
    assert values == [3.0, 1.5]


def test_variables_that_persist_and_the_startup_program():
    startup = paddle.static.default_startup_program().global_block()
    for where in (startup, block()):
        where.create_var("count", [1], "float32", persistable=True)
    startup.append_op(
        type="fill_constant",
        outputs={"Out": "count"},
        attrs={"shape": [1], "value": 5.0, "force_cpu": True},
    )
    block().append_op(
        type="increment", inputs={"X": "count"}, outputs={"Out": "count"}, attrs={"op_role": 16}
    )
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    assert [exe.run(fetch_list=["count"])[0].tolist() for _ in range(2)] == [[6.0], [7.0]]
    assert not paddle.static.default_main_program().clone(for_test=True).global_block().ops


@pytest.mark.parametrize(
    ("op_type", "inputs", "outputs", "attributes", "message"),
    [
        ("scael", "X", "Out", {}, r"type='scael'.*by hand.*'scale'"),
        ("c_comm_init", "X", "Out", {}, r"type='c_comm_init'.*by hand"),
        (
            *("scale", "X", "Out", {"factor": 2.0}),
            r"\['X', 'scale', 'bias', .*\['factor'\] are not known",
        ),
        ("scale", "", "Out", {}, r"\['X'\] are missing"),
        ("scale", "X", "Y", {}, r"its outputs are \['Out'\], but received \['Y'\]"),
        ("scale", "X", "Out", {"op_role": 4}, "op_role=4"),
    ],
    ids=[
        *("misspelt type", "type that cannot be added", "unknown attribute", "missing input"),
        *("unknown output", "role of the backward pass"),
    ],
)
def test_append_op_refuses(op_type, inputs, outputs, attributes, message):
    x = paddle.static.data("x", [None, 3])
    out = block().create_var("out")
    with pytest.raises(NotSupported, match=message):
        block().append_op(op_type, dict.fromkeys(inputs, x), {outputs: out}, attributes)
    assert not block().ops


def test_append_op_does_not_make_variables():
    x = paddle.static.data("x", [None, 3])
    with pytest.raises(ProgramError, match="no variable 'nowhere'; make it with create_var"):
        block().append_op("scale", {"X": x}, {"Out": "nowhere"})
    assert not block().ops


def test_append_op_needs_static_mode():
    x = paddle.static.data("x", [None, 3])
    out = block().create_var("out")
    paddle.disable_static()
    with pytest.raises(UsageError, match="enable_static"):
        block().append_op("scale", {"X": x}, {"Out": out})
