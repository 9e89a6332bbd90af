"""The layers of ``static.nn`` beyond the common ones: parameters, sparse tables, errors."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import BadArgument, DtypeError, NotSupported, UsageError

nn = paddle.static.nn


def data(*shape, name="x", dtype="float32"):
    return paddle.static.data(name, [None, *shape], dtype)


def shapes():
    return {p.name: list(p.shape) for p in paddle.static.default_main_program().all_parameters()}


def fetched(out, **feed):
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    return exe.run(feed=feed, fetch_list=[out])[0]


def test_parameters_of_convolutions():
    nn.conv3d(data(4, 5, 5, 5), 6, [1, 2, 3], groups=2)
    assert shapes() == {"conv3d_0.w_0": [6, 2, 1, 2, 3], "conv3d_0.b_0": [6]}


def test_transposed_convolutions_find_the_filter_size():
    out = nn.conv2d_transpose(
        data(3, 4, 5), 2, output_size=[9, 11], stride=2, padding=1, bias_attr=False
    )
    assert shapes() == {"conv2d_transpose_0.w_0": [3, 2, 5, 5]}
    assert list(out.shape) == [-1, 2, 9, 11]
    out = nn.conv3d_transpose(
        data(3, 2, 2, 2, name="y"), 2, output_size=4, stride=2, data_format="NCDHW"
    )
    assert list(out.shape) == [-1, 2, 4, 4, 4]


def test_wrong_convolutions():
    x = data(3, 4, 5)
    with pytest.raises(UsageError, match="divisible by groups"):
        nn.conv2d(x, 4, 3, groups=2)
    with pytest.raises(UsageError, match="data_format"):
        nn.conv2d(x, 4, 3, data_format="NCDHW")
    with pytest.raises(UsageError, match="5 dimensions"):
        nn.conv3d(x, 4, 3)
    with pytest.raises(BadArgument, match="param_attr"):
        nn.conv2d_transpose(x, 4, filter_size=2, param_attr=False)
    with pytest.raises(UsageError, match="output_size must be set"):
        nn.conv2d_transpose(x, 4)
    with pytest.raises(UsageError, match="must be known"):
        nn.conv2d_transpose(paddle.static.data("free", [None, 3, None, 4]), 4, output_size=8)
    with pytest.raises(NotSupported, match="not variables"):
        nn.conv2d_transpose(x, 4, output_size=x)


def test_norms_have_parameters_only_when_asked():
    nn.group_norm(data(4, 3), 2)
    nn.instance_norm(data(4, 3, name="y"))
    assert shapes() == {}
    nn.group_norm(data(4, 3, name="z"), 3, param_attr="g", bias_attr="h", data_layout="NHWC")
    assert shapes() == {"g": [3], "h": [3]}
    with pytest.raises(BadArgument, match="same time"):
        nn.instance_norm(data(4, 3, name="v"), param_attr=False)
    with pytest.raises(UsageError, match="data_layout"):
        nn.group_norm(data(4, name="u"), 2, data_layout="NCDHW")


def test_a_spectral_norm_is_one_of_the_result():
    weight = paddle.static.create_parameter([4, 6], "float32")
    out = nn.spectral_norm(weight, dim=0, power_iters=60)
    assert shapes()["spectral_norm_0.w_0"] == [4]
    assert shapes()["spectral_norm_0.w_1"] == [6]
    assert np.linalg.norm(fetched(out), 2) == pytest.approx(1.0, rel=1e-3)
    with pytest.raises(UsageError, match="dim must be 0"):
        nn.spectral_norm(weight, dim=2)


def test_data_norm_counts_in_its_gradients():
    x = data(2)
    out = nn.data_norm(
        x, name="d", param_attr={"batch_size": 4.0, "batch_sum": 8.0, "batch_square": 16.0}
    )
    paddle.static.append_backward(out.sum())
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    rows = np.array([[1.0, 2.0], [3.0, 5.0]], "float32")
    grads = [f"d.{key}@GRAD" for key in ("batch_size", "batch_sum", "batch_square_sum")]
    value, *counted = exe.run(feed={"x": rows}, fetch_list=[out, *grads])
    np.testing.assert_allclose(value, (rows - 2.0) * 0.5, rtol=1e-6)
    np.testing.assert_allclose(counted[0], [2, 2])
    np.testing.assert_allclose(counted[1], [4, 7])
    np.testing.assert_allclose(counted[2], [2 + 2e-5, 9 + 2e-5], rtol=1e-6)


def test_data_norm_of_axes_of_one():
    x = paddle.static.data("x", [None, 2, 1])
    flat = paddle.static.data("flat", [None, 2])
    outs = [nn.data_norm(x, name="a"), nn.data_norm(flat, name="b")]
    assert list(outs[0].shape) == [-1, 2, 1]
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    values = np.arange(6, dtype="float32").reshape(3, 2)
    fed = {"x": values[:, :, None], "flat": values}
    deep, plain = exe.run(feed=fed, fetch_list=outs)
    np.testing.assert_array_equal(deep, plain[:, :, None])


def test_what_data_norm_refuses():
    x = data(4)
    for wrong, message in (
        ({"sync_stats": True}, "sync_stats"),
        ({"summary_decay_rate": 0.5}, "summary_decay_rate"),
        ({"moving_mean_name": "m"}, "moving_mean_name"),
    ):
        with pytest.raises(NotSupported, match=message):
            nn.data_norm(x, **wrong)
    with pytest.raises(UsageError, match="does not divide"):
        nn.data_norm(x, slot_dim=3)
    with pytest.raises(UsageError, match="known width"):
        nn.data_norm(data(4, 4, name="y"))


def test_wrong_slopes():
    with pytest.raises(UsageError, match="mode"):
        nn.prelu(data(3), "row")
    with pytest.raises(UsageError, match="cannot be sized"):
        nn.prelu(paddle.static.data("free", [None, None]), "element")
    with pytest.raises(UsageError, match="2 dimensions"):
        nn.bilinear_tensor_product(data(3, 2, name="y"), data(3, name="z"), 2)


# -- sparse_embedding
# -------------------------------------------------------------------------------------------


def test_a_sparse_embedding_trains_in_this_process():
    ids = data(1, name="ids", dtype="int64")
    attr = paddle.ParamAttr(name="table", initializer=paddle.nn.initializer.Constant(1.0))
    out = nn.sparse_embedding(ids, [5, 2], param_attr=attr)
    assert list(out.shape) == [-1, 2]
    paddle.optimizer.Adam(0.5, lazy_mode=True).minimize(out.sum())
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    exe.run(feed={"ids": np.array([[1], [3]])})
    table = np.array(paddle.static.global_scope().find_var("table").get_tensor())
    assert (table[[0, 2, 4]] == 1.0).all()
    assert (table[[1, 3]] < 1.0).all()


def test_padding_reads_as_zeros():
    ids = data(1, name="ids", dtype="int64")
    attr = paddle.ParamAttr(initializer=paddle.nn.initializer.Constant(1.0))
    out = nn.sparse_embedding(ids, [5, 2], padding_idx=-1, param_attr=attr)
    assert fetched(out, ids=np.array([[4], [0]])).tolist() == [[0.0, 0.0], [1.0, 1.0]]


def test_what_a_table_is_told_is_noted_on_the_parameter():
    ids = data(1, name="ids", dtype="int64")
    entry = paddle.distributed.CountFilterEntry(3)
    nn.sparse_embedding(
        ids, [5, 2], entry=entry, table_class="SSDSparseTable", slot=7, param_attr="table"
    )
    noted = paddle.static.default_main_program().global_block().var("table").sparse_table
    assert (noted.entry, noted.table_class, noted.slot, noted.is_test) == (
        entry,
        "SSDSparseTable",
        7,
        False,
    )
    lookup = paddle.static.default_main_program().global_block().ops[-1]
    assert (lookup.attr("entry"), lookup.attr("slot")) == ("count_filter_entry:3", 7)
    assert (lookup.attr("is_distributed"), lookup.attr("is_test")) == (True, False)


def test_wrong_sparse_embeddings():
    ids = data(1, name="ids", dtype="int64")
    with pytest.raises(DtypeError, match="int64"):
        nn.sparse_embedding(data(1, name="wrong", dtype="int32"), [5, 2])
    with pytest.raises(DtypeError, match="float32 or float64"):
        nn.sparse_embedding(ids, [5, 2], dtype="float16")
    with pytest.raises(UsageError, match="table_class"):
        nn.sparse_embedding(ids, [5, 2], table_class="Dense")
    with pytest.raises(UsageError, match="ProbabilityEntry"):
        nn.sparse_embedding(ids, [5, 2], entry="count_filter_entry:3")


def test_entries_as_text():
    assert paddle.distributed.ProbabilityEntry(0.25)._to_attr() == "probability_entry:0.25"
    assert paddle.distributed.CountFilterEntry(0)._to_attr() == "count_filter_entry:0"
    assert (
        paddle.distributed.ShowClickEntry("show", "click")._to_attr()
        == "show_click_entry:show:click"
    )


@pytest.mark.parametrize("wrong", [1.0, 0.0, -0.5, 1, "0.5"])
def test_a_probability_lies_between_zero_and_one(wrong):
    with pytest.raises(ValueError, match=r"\(0,1\)"):
        paddle.distributed.ProbabilityEntry(wrong)


@pytest.mark.parametrize("wrong", [-1, 1.5, "3", True])
def test_a_count_is_a_whole_number(wrong):
    with pytest.raises(ValueError, match="integer"):
        paddle.distributed.CountFilterEntry(wrong)


def test_show_and_click_are_names():
    with pytest.raises(ValueError, match="strings"):
        paddle.distributed.ShowClickEntry("show", 1)


# -- weight normalisation
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dim", "extents"), [(None, [1, 1]), (0, [3, 1]), (1, [1, 4]), (-1, [1, 4])]
)
def test_a_normalised_weight_starts_as_its_direction(dim, extents):
    value = np.random.RandomState(0).randn(3, 4).astype("float32")
    attr = paddle.static.WeightNormParamAttr(
        dim, name="w", initializer=paddle.nn.initializer.Assign(value)
    )
    x = data(3)
    out = nn.fc(x, 4, weight_attr=attr, bias_attr=False)
    assert shapes() == {"w_v": [3, 4], "w_g": extents}
    np.testing.assert_allclose(fetched(out, x=np.eye(3, dtype="float32")), value, rtol=1e-5)


def test_a_normalised_weight_trains_as_the_layer_does():
    value = np.random.RandomState(0).randn(3, 4).astype("float32")
    rows = np.random.RandomState(1).randn(5, 3).astype("float32")
    initializer = paddle.nn.initializer.Assign(value)
    attr = paddle.static.WeightNormParamAttr(1, initializer=initializer)
    layer = paddle.nn.utils.weight_norm(paddle.nn.Linear(3, 4, weight_attr=initializer), dim=1)
    x = data(3)
    losses = [(nn.fc(x, 4, weight_attr=attr) ** 2).mean(), (layer(x) ** 2).mean()]
    paddle.optimizer.SGD(0.1).minimize(losses[0] + losses[1])
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    seen = np.array([exe.run(feed={"x": rows}, fetch_list=losses) for _ in range(4)])
    np.testing.assert_allclose(seen[:, 0], seen[:, 1], rtol=1e-5)
    assert seen[-1, 0] < seen[0, 0]
    with pytest.raises(NotSupported, match="remove_weight_norm"):
        paddle.nn.utils.remove_weight_norm(layer)


def test_weight_norm_attributes_are_for_programs():
    paddle.disable_static()
    with pytest.raises(UsageError, match="weight_norm"):
        paddle.nn.Linear(3, 4, weight_attr=paddle.static.WeightNormParamAttr())
    paddle.enable_static()


# -- metrics
# --------------------------------------------------------------------------------------------------


def test_sums_of_click_metrics_go_on_from_run_to_run():
    x, y = data(1), data(1, name="y")
    outs = paddle.static.ctr_metric_bundle(x, y)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    feed = {
        "x": np.array([[0.1], [0.7], [0.4]], "float32"),
        "y": np.array([[0], [1], [1]], "float32"),
    }
    for runs in (1, 2):
        values = exe.run(feed=feed, fetch_list=list(outs))
        sigmoids = (1 / (1 + np.exp(-feed["x"]))).sum()
        expected = [0.01 + 0.09 + 0.36, 0.1 + 0.3 + 0.6, 1.2, sigmoids, 2, 3]
        np.testing.assert_allclose(np.concatenate(values), np.array(expected) * runs, rtol=1e-5)
    with pytest.raises(BadArgument, match="must be equal"):
        paddle.static.ctr_metric_bundle(x, data(name="flat"))


def test_a_batch_of_fake_samples_is_not_counted():
    x, y = data(1), data(1, name="y")
    weight = paddle.static.data("tag", [None, 1])
    outs = paddle.static.ctr_metric_bundle(x, y, weight)
    one = np.ones((2, 1), "float32")
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    values = exe.run(
        feed={"x": one, "y": one, "tag": np.zeros((1, 1), "float32")}, fetch_list=list(outs)
    )
    assert [float(v[0]) for v in values] == [0.0, 0.0, 2.0, 0.0, 2.0, 0.0]


def test_the_hook_of_spectral_norm_says_what_to_use_instead():
    with pytest.raises(
        NotSupported, match=r"nn.utils.spectral_norm: .* use paddle.static.nn.spectral_norm"
    ):
        paddle.nn.utils.spectral_norm(paddle.nn.Linear(3, 2))


@pytest.mark.parametrize(("mode", "num_states"), [("SimpleRNN", 1), ("GRU", 1), ("LSTM", 2)])
@pytest.mark.parametrize("direction", ["forward", "bidirect"])
def test_recurrent_layers_are_recorded_without_a_step(monkeypatch, mode, num_states, direction):
    from argosy.ops.nn import recurrent

    def steps(*args):
        raise AssertionError("steps were computed to find a shape")

    for name in ("LSTM", "GRU", "RNN_TANH"):
        monkeypatch.setitem(recurrent._SEQUENCE_KERNELS, name, steps)
    directions = 2 if direction == "bidirect" else 1
    layer = getattr(paddle.nn, mode)(4, 8, 2, direction=direction)
    out, states = layer(paddle.static.data("x", [None, None, 4]))
    assert out.shape == [-1, -1, 8 * directions]
    for state in states if num_states == 2 else [states]:
        assert state.shape == [2 * directions, -1, 8]
