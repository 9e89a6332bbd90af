"""Ops in Paddle's files: what is written has a form there, and is read as what computes the same.

Real Paddle 2.6.2 and 3.3.1 have run the files of these calls with equal results.
"""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from argosy.static.files.paddle import schema, write
from paddle.nn import functional as F

ROWS = np.random.RandomState(0).rand(4, 6).astype("float32")
SQUARE = (ROWS @ ROWS.T + 4 * np.eye(4)).astype("float32")
IDS = np.random.RandomState(1).randint(0, 4, (4, 6)).astype("int64")
LINES = np.random.RandomState(2).rand(2, 4, 8).astype("float32")

CALLS = {
    "cumsum of all": lambda x, s, i, lines: paddle.cumsum(x),
    "cumprod": lambda x, s, i, lines: paddle.cumprod(x, 1),
    "cummax of all": lambda x, s, i, lines: paddle.cummax(x),
    "logcumsumexp": lambda x, s, i, lines: paddle.logcumsumexp(x),
    "split at the end": lambda x, s, i, lines: paddle.split(x, [2, -1], -1),
    "gather at the end": lambda x, s, i, lines: paddle.gather(x, i[0, :2], -1),
    "std": lambda x, s, i, lines: paddle.std(x, -1),
    "var of all": lambda x, s, i, lines: paddle.var(x, unbiased=False),
    "normalize": lambda x, s, i, lines: F.normalize(x),
    "cosine similarity": lambda x, s, i, lines: F.cosine_similarity(x, x + 1, axis=1),
    "open clip": lambda x, s, i, lines: paddle.clip(x, min=0.3),
    "every second": lambda x, s, i, lines: x[:, ::2],
    "backwards": lambda x, s, i, lines: x[::-1, 1:],
    "new axis": lambda x, s, i, lines: x[..., None, 1],
    "at a variable": lambda x, s, i, lines: x[i[0, 0]],
    "rows of an array": lambda x, s, i, lines: x[i[0]],
    "take along": lambda x, s, i, lines: paddle.take_along_axis(s, i[:1, :4], 0),
    "put along": lambda x, s, i, lines: paddle.put_along_axis(s, i[:, :2], 3.0, 1),
    "unique": lambda x, s, i, lines: paddle.unique(i, True, True, True),
    "linspace": lambda x, s, i, lines: paddle.linspace(0, 1, 5) + x[0, 0],
    "addmm": lambda x, s, i, lines: paddle.addmm(s, s, s, 0.5, 2.0),
    "isclose": lambda x, s, i, lines: paddle.isclose(x, x + 0.1),
    "isnan": lambda x, s, i, lines: paddle.isnan(x),
    "eigvalsh": lambda x, s, i, lines: paddle.linalg.eigvalsh(s),
    "inverse": lambda x, s, i, lines: paddle.inverse(s),
    "argmin of all": lambda x, s, i, lines: paddle.argmin(x),
    "nll loss": lambda x, s, i, lines: F.nll_loss(F.log_softmax(s), i[:, 0]),
    "margin ranking": lambda x, s, i, lines: F.margin_ranking_loss(x, x * 2, paddle.sign(x)),
    "ctc loss": lambda x, s, i, lines: F.ctc_loss(
        lines.transpose([1, 0, 2]),
        paddle.ones([2, 2], "int32"),
        paddle.full([2], 4, "int64"),
        paddle.full([2], 2, "int64"),
    ),
    "pooled lines": lambda x, s, i, lines: [F.avg_pool1d(lines, 3, 1, 1), F.max_pool1d(lines, 2)],
    "axes in another order": lambda x, s, i, lines: paddle.moveaxis(lines, [0, 1], [2, 0]),
    "expanded as": lambda x, s, i, lines: paddle.expand_as(x[:1], x),
}


@pytest.fixture(autouse=True)
def _static():
    paddle.enable_static()
    yield
    paddle.disable_static()


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_written_and_read_as_what_computes_the_same(name):
    given = {"x": ROWS, "s": SQUARE, "i": IDS, "lines": LINES}
    main = paddle.static.Program()
    with paddle.static.program_guard(main, paddle.static.Program()):
        fed = [paddle.static.data(k, v.shape, v.dtype.name) for k, v in given.items()]
        out = CALLS[name](*fed)
    fetches = list(out) if isinstance(out, (list, tuple)) else [out]
    exe = paddle.static.Executor()
    expected = exe.run(main, feed=given, fetch_list=fetches)
    data = write.dumps(main, list(given), [v.name for v in fetches])
    again = paddle.static.deserialize_program(data)
    found = exe.run(again, feed=given, fetch_list=[v.name for v in fetches])
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


def operators(data):
    return schema.decoded(data, "the file")["blocks"][0]["ops"]


def attribute(operator, name):
    return next(a for a in operator["attrs"] if a["name"] == name)


def test_outputs_that_training_reads_are_there_for_versions_that_need_them():
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [2, 4])
        y = F.dropout(x, 0.5, training=False)
    [found] = [o for o in operators(write.dumps(main, ["x"], [y.name])) if o["type"] == "dropout"]
    assert [s["parameter"] for s in found["outputs"]] == ["Mask", "Out"]


def test_a_strided_slice_says_of_each_axis_whether_its_extent_is_known():
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        y = paddle.static.data("x", [2, 4])[:, ::2]
    [found] = [o for o in operators(write.dumps(main, ["x"], [y.name])) if "strided" in o["type"]]
    assert attribute(found, "infer_flags")["ints"] == [1]


def test_a_program_notes_the_versions_of_types():
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        y = paddle.static.data("x", [2, 4]) + 1.0
    pairs = schema.decoded(write.dumps(main, ["x"], [y.name]), "it")["op_version_map"]["pair"]
    found = {pair["op_name"]: pair["op_version"]["version"] for pair in pairs}
    assert (found["fill_constant"], found["roi_align"], found["clip"]) == (2, 3, 1)


# -- attributes that are variables
# --------------------------------------------------------------------------------------------------

VARIABLES = {
    "dropout": lambda x, one: F.dropout(x, one * 0.5, training=False, mode="downscale_in_infer"),
    "cumsum": lambda x, one: paddle.cumsum(x, one.astype("int64")),
    "uniform": lambda x, one: paddle.uniform([2], min=one - 1.0, max=one * 1e-9),
    "pad": lambda x, one: F.pad(x, [1, 1, 0, 0], value=one),
}
NUMBERS = {
    "dropout": ROWS * 0.5,
    "cumsum": np.cumsum(ROWS, 1),
    "uniform": np.zeros(2),
    "pad": np.pad(ROWS, [[1, 1], [0, 0]], constant_values=1.0),
}


@pytest.mark.parametrize("name", VARIABLES)
def test_a_variable_in_the_place_of_an_attribute_counts_in_each_run_and_in_files(name):
    given = {"x": ROWS, "one": np.ones(1, "float32")}
    main = paddle.static.Program()
    with paddle.static.program_guard(main, paddle.static.Program()):
        x, one = (paddle.static.data(k, v.shape) for k, v in given.items())
        out = VARIABLES[name](x, one)
    exe = paddle.static.Executor()
    [found] = exe.run(main, feed=given, fetch_list=[out])
    np.testing.assert_allclose(found, NUMBERS[name], rtol=1e-5, atol=1e-6)
    data = write.dumps(main, list(given), [out.name])
    assert {a["type"] for o in operators(data) for a in o["attrs"]} >= {13}  # VAR
    [again] = exe.run(paddle.static.deserialize_program(data), feed=given, fetch_list=[out.name])
    np.testing.assert_allclose(again, NUMBERS[name], rtol=1e-5, atol=1e-6)
