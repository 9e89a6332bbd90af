"""fleet.metrics against the numbers of real Paddle."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import paddle
import paddle.distributed.fleet as fleet

GOLDEN = json.loads(
    (Path(__file__).parents[3] / "goldens" / "data" / "fleet_3.3.1.json").read_text()
)["metrics"]
POS, NEG = np.array(GOLDEN["pos"]), np.array(GOLDEN["neg"])
ERROR, TOTAL = np.array(GOLDEN["error"], "float32"), np.array(GOLDEN["total"], "float32")


class Twice:
    """A util of a job in which another worker has counted the same."""

    def all_reduce(self, input, mode="sum", comm_world="worker"):
        return np.array(input) * 2 if mode == "sum" else np.array(input)


def test_numbers_of_paddle():
    m = fleet.metrics
    assert m.auc(POS, NEG) == pytest.approx(GOLDEN["auc"], rel=1e-12)
    assert m.auc(np.zeros_like(POS), NEG) == GOLDEN["auc_empty"]
    for name in ("mae", "rmse", "mse", "acc"):
        assert getattr(m, name)(ERROR, TOTAL) == pytest.approx(GOLDEN[name], rel=1e-12)
    table = np.array(GOLDEN["table"], "float32")
    for name in ("sum", "max", "min"):
        assert getattr(m, name)(table).tolist() == GOLDEN[name]


def test_over_workers():
    m, twice = fleet.metrics, Twice()
    assert m.sum(np.array([[1, 2]]), util=twice).tolist() == [[2, 4]]
    assert m.max(np.array([1, 2]), util=twice).tolist() == [1, 2]
    assert m.mse(ERROR, np.array([4.0]), util=twice) == pytest.approx(3.25 / 4)
    assert m.auc(POS, NEG, util=twice) == pytest.approx(GOLDEN["auc"], rel=1e-12)


def test_util_of_fleet_can_be_replaced():
    before = fleet.util
    fleet.util = Twice()
    try:
        assert fleet.metrics.sum(np.array([3])).tolist() == [6]
        assert fleet.fleet.util is fleet.util
    finally:
        fleet.util = before


def test_variables_and_names():
    paddle.enable_static()
    try:
        scope = paddle.static.Scope()
        scope.var("errors").get_tensor().set(ERROR, paddle.CPUPlace())
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            variable = main.global_block().create_var(name="errors", shape=[1], dtype="float32")
        assert fleet.metrics.mae("errors", TOTAL, scope=scope) == GOLDEN["mae"]
        assert fleet.metrics.mae(variable, TOTAL, scope=scope) == GOLDEN["mae"]
        with pytest.raises(ValueError, match="no variable 'missing'"):
            fleet.metrics.sum("missing", scope=scope)
    finally:
        paddle.disable_static()
    assert fleet.metrics.sum(paddle.to_tensor([1.5])).tolist() == [1.5]
