"""Strategies in programs of a single worker, and what is refused."""

from __future__ import annotations

import numpy as np
import paddle.distributed.fleet as fleet
import pytest

import paddle
from argosy.distributed.fleet._plan import Facts, make_plan
from argosy.distributed.fleet._static_optimizer import recorder
from argosy.foundation.errors import NotSupported, UsageError


@pytest.fixture(autouse=True)
def static_mode():
    paddle.enable_static()
    fleet.init(is_collective=True)
    yield
    paddle.disable_static()
    fleet.init(is_collective=True)


def build(**switches):
    """A program that Fleet's optimizer trains: (optimizer, main, startup, loss, hidden)."""
    strategy = fleet.DistributedStrategy()
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
        hidden = paddle.static.nn.fc(paddle.static.data("x", [None, 3]), 4, name="hidden")
        loss = paddle.static.nn.fc(hidden, 1, name="out").mean()
        if switches.pop("recompute", False):
            switches |= {"recompute": True, "recompute_configs": {"checkpoints": [hidden.name]}}
        for name, value in switches.items():
            setattr(strategy, name, value)
        optimizer = fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), strategy)
        optimizer.minimize(loss, startup)
    return optimizer, main, startup, loss


def test_everything_at_once_records_what_each_records_alone():
    merge = {"gradient_merge": True, "gradient_merge_configs": {"k_steps": 2, "avg": False}}
    # a scale at which no gradient overflows, whatever the weights begin with
    scaling = {"init_loss_scaling": 64.0}
    _, main, startup, loss = build(amp=True, amp_configs=scaling, recompute=True, **merge)
    types = [o.type for o in main.global_block().ops]
    assert {"cast", "count_to_", "check_finite_and_unscale", "sgd"} <= set(types)
    assert types.index("count_to_") < types.index("check_finite_and_unscale")  # sums are unscaled, not every gradient
    scope, exe = paddle.static.Scope(), paddle.static.Executor(paddle.CPUPlace())
    exe.run(startup, scope=scope)
    seen = []
    for _ in range(4):
        exe.run(main, feed={"x": np.ones((2, 3), "float32")}, fetch_list=[loss], scope=scope)
        seen.append(np.array(scope.find_var("out.w_0").get_tensor()).tolist())
    assert seen[1] != seen[0]
    assert seen[2] == seen[1]
    assert seen[3] != seen[2]


def test_loss_scaling_is_within_reach():
    optimizer, _, startup, _ = build(amp=True, amp_configs={"init_loss_scaling": 64.0})
    scope = paddle.static.Scope()
    [value] = paddle.static.Executor(paddle.CPUPlace()).run(
        startup, fetch_list=[optimizer.get_loss_scaling().name], scope=scope
    )
    assert value.tolist() == [64.0]
    optimizer.amp_init(paddle.CPUPlace(), scope=scope)


def test_loss_scaling_without_amp_is_an_error():
    optimizer, *_ = build()
    with pytest.raises(UsageError, match="amp is off"):
        optimizer.get_loss_scaling()


def test_one_worker_needs_no_communication():
    _, main, startup, _ = build()
    assert main._compiled is None
    assert startup._compiled is None


def test_dgc_with_added_gradients_is_refused():
    strategy = fleet.DistributedStrategy()
    strategy.dgc = True
    strategy.gradient_scale_configs = {"scale_strategy": "sum"}
    plan = make_plan(strategy, Facts(num_workers=2, mode="static", optimizer=("Momentum",)))
    with pytest.raises(NotSupported, match="dgc"):
        recorder(plan, fleet.fleet)
