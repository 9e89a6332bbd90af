"""Strategies in programs of a single worker, and what is refused."""

from __future__ import annotations

import contextlib
import dataclasses

import numpy as np
import pytest

import paddle
import paddle.distributed.fleet as fleet
from argosy.distributed.fleet.planning.settings import Amp
from argosy.distributed.fleet.planning.strategy_plan import Facts, make_plan
from argosy.distributed.fleet.stages.program_optimizer import ProgramRecorder
from argosy.foundation.errors import NotSupported, UsageError
from argosy.static.run.contract import PreparedProgram


@pytest.fixture(autouse=True)
def alone(static_mode):
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


def test_float16_gradients_of_one_worker():
    _, main, startup, _ = build(fp16_allreduce=True)
    casts = [o.output("Out")[0] for o in main.global_block().ops if o.type == "cast"]
    assert len(casts) == 8
    assert all(".cast_fp16" in name for name in casts)
    exe = paddle.static.Executor()
    with paddle.static.scope_guard(paddle.static.Scope()):
        exe.run(startup)
        fed = {"x": np.array([[0.1, 0.2, 1e-9]], "float32")}
        grad, used = exe.run(main, feed=fed, fetch_list=["hidden.w_0@GRAD", casts[4]])
    np.testing.assert_array_equal(used, grad.astype("float16").astype("float32"))
    assert fleet.fleet._get_applied_meta_list() == [
        "FP16AllReduceOptimizer",
        "RawProgramOptimizer",
    ]


def test_float16_gradients_are_not_cast():
    strategy = fleet.DistributedStrategy()
    strategy.fp16_allreduce = True
    loss = paddle.static.nn.fc(paddle.static.data("x", [None, 3], "float16"), 4).mean()
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), strategy).minimize(loss)
    assert "cast" not in [operator.type for operator in loss.block.ops]


def test_a_model_is_taken_back_without_servers(tmp_path):
    _, main, startup, _ = build()
    exe, scope = paddle.static.Executor(), paddle.static.Scope()
    with paddle.static.scope_guard(scope), paddle.static.program_guard(main, startup):
        exe.run(startup)
        fleet.save_persistables(exe, str(tmp_path / "model"), main)
        kept = np.array(scope.find_var("out.w_0").get_tensor())
        exe.run(main, feed={"x": np.ones([2, 3], "float32")})
        assert not np.array_equal(np.array(scope.find_var("out.w_0").get_tensor()), kept)
        fleet.load_model(str(tmp_path / "model"))
        np.testing.assert_array_equal(np.array(scope.find_var("out.w_0").get_tensor()), kept)


def test_workers_without_servers_have_nothing_to_start():
    with pytest.raises(ValueError, match="minimize"):
        fleet.init_worker()
    build()
    fleet.init_worker()
    fleet.stop_worker()


@contextlib.contextmanager
def as_on_a_gpu():
    """Plans are made as for another device than a processor; the programs run here all the same."""
    with pytest.MonkeyPatch.context() as patch:
        planned = fleet.fleet._planned
        patch.setattr(
            fleet.fleet,
            "_planned",
            lambda *args: replanned(planned(*args)),
            raising=False,
        )
        yield


def replanned(plan):
    return make_plan(
        fleet.fleet._user_defined_strategy, dataclasses.replace(plan.facts, device="cuda")
    )


def test_everything_at_once_records_what_each_records_alone():
    merge = {"gradient_merge": True, "gradient_merge_configs": {"k_steps": 2, "avg": False}}
    # a scale at which no gradient overflows, whatever the weights begin with
    scaling = {"init_loss_scaling": 64.0}
    with as_on_a_gpu():
        _, main, startup, loss = build(amp=True, amp_configs=scaling, recompute=True, **merge)
    types = [o.type for o in main.global_block().ops]
    assert {"cast", "count_to_", "check_finite_and_unscale", "sgd"} <= set(types)
    # sums are unscaled, not every gradient
    assert types.index("count_to_") < types.index("check_finite_and_unscale")
    scope, exe = paddle.static.Scope(), paddle.static.Executor(paddle.CPUPlace())
    exe.run(startup, scope=scope)
    seen = []
    for _ in range(4):
        exe.run(main, feed={"x": np.ones((2, 3), "float32")}, fetch_list=[loss], scope=scope)
        seen.append(np.array(scope.find_var("out.w_0").get_tensor()).tolist())
    assert seen[1] != seen[0]
    assert seen[2] == seen[1]
    assert seen[3] != seen[2]


@pytest.mark.parametrize(("device", "scale"), [("cpu", 1.0), ("cuda", 64.0)])
def test_loss_scaling_is_within_reach(device, scale):
    """bfloat16, the choice on a processor, needs none."""
    with as_on_a_gpu() if device == "cuda" else contextlib.nullcontext():
        optimizer, main, startup, _ = build(amp=True, amp_configs={"init_loss_scaling": 64.0})
    dtype = "bfloat16" if device == "cpu" else "float16"
    assert fleet.plan()[Amp].dtype == dtype
    assert any(str(v.dtype).endswith(dtype) for v in main.list_vars())
    told = [note.reason for note in fleet.plan().notes]
    assert told == (
        ["losses are not scaled in bfloat16, which has the range of float32: init_loss_scaling"]
        if device == "cpu"
        else []
    )
    scope = paddle.static.Scope()
    [value] = paddle.static.Executor(paddle.CPUPlace()).run(
        startup, fetch_list=[optimizer.get_loss_scaling().name], scope=scope
    )
    assert value.tolist() == [scale]
    optimizer.amp_init(paddle.CPUPlace(), scope=scope)


def test_loss_scaling_without_amp_is_an_error():
    optimizer, *_ = build()
    with pytest.raises(UsageError, match="amp is off"):
        optimizer.get_loss_scaling()


def test_parts_of_minimize_are_refused():
    """They would train without the other workers."""
    optimizer, *_ = build()
    for name in ("backward", "apply_gradients", "apply_optimize"):
        with pytest.raises(NotSupported, match=f"{name} of a distributed optimizer"):
            getattr(optimizer, name)([])


def test_one_worker_needs_no_communication():
    _, main, startup, _ = build()
    assert main.attachments.get(PreparedProgram) is None
    assert startup.attachments.get(PreparedProgram) is None


def test_dgc_with_added_gradients_is_refused():
    strategy = fleet.DistributedStrategy()
    strategy.dgc = True
    strategy.gradient_scale_configs = {"scale_strategy": "sum"}
    plan = make_plan(strategy, Facts(num_workers=2, mode="static", optimizer=("Momentum",)))
    with pytest.raises(NotSupported, match="dgc"):
        ProgramRecorder(plan, None, strategy, None)


def test_decorated_optimizers_keep_their_mixed_precision():
    """Scripts that call static.amp.decorate themselves pass the result to Fleet; the strategy's own
    amp would do it twice.
    """
    x = np.random.RandomState(0).rand(4, 3).astype("float32")
    losses = []
    for wrap in (lambda o: o, fleet.distributed_optimizer):
        with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
            data = paddle.static.data("x", [None, 3])
            weight = paddle.ParamAttr(initializer=paddle.nn.initializer.Constant(0.3))
            loss = (paddle.static.nn.fc(data, 2, weight_attr=weight) ** 2).mean()
            decorated = paddle.static.amp.decorate(
                paddle.optimizer.SGD(0.1), level="O1", dtype="bfloat16"
            )
            optimizer = wrap(decorated)
            optimizer.minimize(loss)
            exe, scope = paddle.static.Executor(paddle.CPUPlace()), paddle.static.Scope()
            exe.run(paddle.static.default_startup_program(), scope=scope)
            losses.append(
                [float(exe.run(feed={"x": x}, fetch_list=[loss], scope=scope)[0]) for _ in range(3)]
            )
            assert "cast" in {operator.type for operator in loss.block.ops}
    assert losses[0] == losses[1]
    assert optimizer.get_loss_scaling() is decorated.get_loss_scaling()
    assert fleet.get_loss_scaling() is decorated.get_loss_scaling()
    strategy = fleet.DistributedStrategy()
    strategy.amp = True
    with pytest.raises(NotSupported, match=r"static\.amp\.decorate already"):
        fleet.distributed_optimizer(decorated, strategy)
