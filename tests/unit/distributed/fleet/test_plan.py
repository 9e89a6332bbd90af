"""The plan: which stages a strategy comes to, and what is left out and why."""

from __future__ import annotations

import pytest

import paddle
import paddle.distributed.fleet as fleet
from argosy.distributed.fleet.base._strategy_fields import TABLES
from argosy.distributed.fleet.planning.settings import (
    Amp,
    DataParallel,
    GradientMerge,
    GradientScale,
    Sharding,
)
from argosy.distributed.fleet.planning.strategy_plan import Facts, make_plan
from argosy.distributed.fleet.stages.layer_optimizer import optimizer_kinds

MOMENTUM, ADAM, SGD = ("Momentum",), ("Adam",), ("SGD",)


def plan_of(optimizer=MOMENTUM, workers=2, mode="dygraph", facts=(), **switches):
    """``facts`` are further ones, by name."""
    strategy = fleet.DistributedStrategy()
    for name, value in switches.items():
        setattr(strategy, name, value)
    found = Facts(num_workers=workers, mode=mode, optimizer=optimizer, **dict(facts))
    return make_plan(strategy, found)


def names(plan):
    return [stage.name for stage in plan]


def reasons(plan):
    return {note.switch: note.reason for note in plan.notes}


def test_nothing_asked_for():
    assert names(plan_of(workers=1)) == []
    plan = plan_of()
    assert names(plan) == ["data_parallel"]
    assert plan[DataParallel] == DataParallel(
        bucket_MB=32, last_bucket_MB=1.0, find_unused_parameters=False, averages_gradients=True
    )
    assert plan.notes == ()
    with pytest.raises(KeyError):
        plan[Amp]
    assert plan.get(Amp) is None


def test_order_of_stages():
    plan = plan_of(
        ADAM, amp=True, recompute=True, recompute_configs={"checkpoints": ["a"]},
        gradient_merge=True,
        gradient_merge_configs={"k_steps": 2}, lamb=True, sharding=True, fp16_allreduce=True,
        sync_batch_norm=True,
        gradient_scale_configs={"scale_strategy": "sum"},
    )  # fmt: skip
    assert names(plan) == [
        "sync_batch_norm", "amp", "recompute", "data_parallel", "fp16_allreduce", "gradient_merge",
        "gradient_scale", "lamb", "sharding",
    ]  # fmt: skip
    assert plan[GradientMerge] == GradientMerge(k_steps=2, avg=True)
    assert plan[Amp].level == "O1"
    assert plan[Sharding] == Sharding(stage=1, degree=2, replicas=1)
    assert plan.meta_optimizers()[0] == "ShardingOptimizer"
    assert "AMPOptimizer" in plan.meta_optimizers()


@pytest.mark.parametrize(
    ("switch", "optimizer", "needs"),
    [
        ("lars", ADAM, "Momentum"),
        ("dgc", SGD, "Momentum"),
        ("lamb", MOMENTUM, "Adam"),
        ("localsgd", ADAM, "SGD or Momentum"),
        ("adaptive_localsgd", ADAM, "SGD or Momentum"),
    ],
)
def test_optimizers_that_do_not_fit(switch, optimizer, needs):
    plan = plan_of(optimizer, **{switch: True})
    assert switch not in plan
    assert reasons(plan)[switch] == f"it needs {needs}, but the optimizer is {optimizer[0]}"
    assert plan.notes[0].is_refused


@pytest.mark.parametrize(
    "switch",
    [
        *("localsgd", "adaptive_localsgd", "dgc", "fp16_allreduce", "sharding", "sync_batch_norm"),
        *("factored_allreduce", "int8_allreduce", "powersgd", "diloco"),
    ],
)
def test_one_worker(switch):
    plan = plan_of(workers=1, **{switch: True})
    assert names(plan) == []
    assert reasons(plan) == {switch: "there is one worker"}
    assert not plan.notes[0].is_refused


@pytest.mark.parametrize(
    ("stays", "goes"),
    [
        ("amp", "dgc"),
        ("dgc", "fp16_allreduce"),
        ("dgc", "lars"),
        ("dgc", "localsgd"),
        ("dgc", "gradient_merge"),
        ("dgc", "sharding"),
        ("localsgd", "adaptive_localsgd"),
        ("localsgd", "sharding"),
    ],
)
def test_exclusions(stays, goes):
    """Each as Paddle 2.6.2 decides, which its strategy compiler was asked."""
    plan = plan_of(gradient_merge_configs={"k_steps": 2}, **{stays: True, goes: True})
    assert stays in plan
    assert goes not in plan
    assert reasons(plan)[goes].startswith(f"{stays} is on")


@pytest.mark.parametrize(
    ("stays", "goes"),
    [
        ("dgc", "int8_allreduce"),
        ("localsgd", "int8_allreduce"),
        ("int8_allreduce", "fp16_allreduce"),
        ("int8_allreduce", "factored_allreduce"),
        ("fp16_allreduce", "factored_allreduce"),
        ("amp", "factored_allreduce"),
        ("gradient_merge", "factored_allreduce"),
        ("localsgd", "factored_allreduce"),
        ("amp", "powersgd"),
        ("powersgd", "sharding"),
        ("powersgd", "gradient_merge"),
        ("diloco", "powersgd"),
        ("diloco", "sharding"),
        ("localsgd", "diloco"),
    ],
)
def test_exclusions_of_our_own(stays, goes):
    plan = plan_of(gradient_merge_configs={"k_steps": 2}, **{stays: True, goes: True})
    assert stays in plan
    assert reasons(plan)[goes].startswith(f"{stays} is on")


@pytest.mark.parametrize("switch", ["powersgd", "diloco"])
def test_these_take_the_place_of_averaged_gradients(switch):
    for optimizer in (SGD, ADAM):
        plan = plan_of(optimizer, **{switch: True})
        assert names(plan) == ["data_parallel", switch]
        assert not plan[DataParallel].averages_gradients
    if switch == "diloco":
        plan = plan_of(diloco=True, gradient_scale_configs={"scale_strategy": "sum"})
        assert "parameters are averaged" in reasons(plan)["gradient_scale_configs"]


def test_switches_of_our_own_are_for_models():
    plan = plan_of(mode="static", int8_allreduce=True)
    assert names(plan) == ["data_parallel"]
    assert "it is for models" in reasons(plan)["int8_allreduce"]
    assert plan.left_out() == ["int8_allreduce"]


def test_on_one_host_nothing_travels():
    for switch in ("int8_allreduce", "factored_allreduce"):
        plan = plan_of(facts={"is_one_host": True}, **{switch: True})
        assert names(plan) == ["data_parallel"]
        assert reasons(plan)[switch].startswith("all workers are on one host")
        assert not plan.notes[0].is_refused


def test_hosts_that_cannot_exchange_factors():
    why = {"why_no_factors": "there are hosts with several ranks"}
    plan = plan_of(factored_allreduce=True, facts=why)
    assert names(plan) == ["data_parallel"]
    assert reasons(plan) == {"factored_allreduce": "there are hosts with several ranks"}
    assert plan.notes[0].is_refused
    assert names(plan_of(factored_allreduce=True)) == ["data_parallel", "factored_allreduce"]


def test_settings_that_leave_nothing_to_do():
    assert reasons(plan_of(gradient_merge=True)) == {
        "gradient_merge": "gradient_merge_configs['k_steps'] is 1"
    }
    assert "names no tensors" in reasons(plan_of(mode="static", recompute=True))["recompute"]
    assert "names no sublayers" in reasons(plan_of(recompute=True))["recompute"]


def test_hints_are_told():
    plan = plan_of(nccl_comm_num=2, use_hierarchical_allreduce=True)
    assert set(reasons(plan)) == {"nccl_comm_num", "use_hierarchical_allreduce"}
    assert plan.left_out() == []
    assert plan_of(ADAM, lars=True, nccl_comm_num=2).left_out() == ["lars"]
    assert "ignored: nccl_comm_num: a group has one channel" in plan.describe()


def test_auto():
    assert names(plan_of(MOMENTUM, auto=True)) == ["amp", "data_parallel", "lars", "sharding"]
    assert names(plan_of(ADAM, workers=1, auto=True)) == ["amp", "lamb"]
    assert names(plan_of(SGD, workers=1, auto=True)) == ["amp"]
    plan = plan_of(ADAM, auto=True, gradient_merge=True, gradient_merge_configs={"k_steps": 2})
    assert names(plan) == ["data_parallel", "gradient_merge"]
    assert reasons(plan) == {"auto": "other switches were set, so they decide"}


@pytest.mark.parametrize(
    "switch", ["pipeline", "tensor_parallel", "asp", "qat", "semi_auto", "heter_ccl_mode"]
)
def test_not_built(switch):
    with pytest.raises(NotImplementedError, match=f"DistributedStrategy.{switch}"):
        plan_of(**{switch: True})


def test_sharding_degrees():
    assert plan_of(workers=4, sharding=True)[Sharding].degree == 4
    settings = plan_of(
        workers=4, sharding=True, sharding_configs={"sharding_degree": 2, "stage": 2}
    )[Sharding]
    assert settings == Sharding(stage=2, degree=2, replicas=2)
    assert plan_of(workers=4, hybrid_configs={"sharding_degree": 2})[Sharding].degree == 2
    with pytest.raises(ValueError, match="sharding_degree 3 does not divide"):
        plan_of(workers=4, sharding=True, sharding_configs={"sharding_degree": 3})
    with pytest.raises(ValueError, match="stage must be 1, 2 or 3, but is 4"):
        plan_of(sharding=True, sharding_configs={"stage": 4})
    with pytest.raises(NotImplementedError, match="mp_degree=2"):
        plan_of(sharding=True, sharding_configs={"mp_degree": 2})


def test_sharding_by_hybrid_degrees_is_sharding():
    for mode in ("dygraph", "static", "torch"):
        assert (
            plan_of(workers=4, mode=mode, hybrid_configs={"sharding_degree": 2})[Sharding].replicas
            == 2
        )
    plan = plan_of(dgc=True, hybrid_configs={"sharding_degree": 2})
    assert "sharding" not in plan
    assert reasons(plan)["sharding"].startswith("dgc is on")


def test_contradictory_sharding():
    with pytest.raises(
        ValueError, match="sharding_degree 2 times dp_degree 3 is not the number of workers, 4"
    ):
        plan_of(workers=4, sharding=True, sharding_configs={"sharding_degree": 2, "dp_degree": 3})
    with pytest.raises(NotImplementedError, match="use gradient_merge"):
        plan_of(sharding=True, sharding_configs={"gradient_merge_acc_step": 2})


def changed(value):
    return not value if isinstance(value, bool) else value + 1


@pytest.mark.parametrize("mode", ["dygraph", "static", "torch"])
def test_no_switch_is_silent(mode):
    """Whatever is set acts, is told of, or is refused."""
    plain, fresh = plan_of(mode=mode), fleet.DistributedStrategy()
    switches = [
        f.name
        for f in TABLES["DistributedStrategy"]
        if isinstance(f.default, bool | int | float) and f.name != "mode"
    ]
    assert len(switches) > 40
    for switch in switches:
        strategy = fleet.DistributedStrategy()
        setattr(strategy, switch, changed(getattr(fresh, switch)))
        try:
            plan = make_plan(
                strategy,
                Facts(
                    num_workers=2,
                    mode=mode,
                    optimizer=("Adam" if switch == "lamb" else "Momentum",),
                ),
            )
        except NotImplementedError:
            continue
        assert plan.stages != plain.stages or plan.notes, switch


@pytest.mark.parametrize(
    ("mode", "switches", "told"),
    [
        ("static", {"fuse_grad_size_in_MB": 8, "find_unused_parameters": True},
        ["fuse_grad_size_in_MB", "find_unused_parameters"]),
        ("dygraph", {"fuse_grad_size_in_MB": 8, "find_unused_parameters": True}, []),
        ("dygraph", {"a_sync_configs": {"k_steps": 2}, "a_sync": True}, ["a_sync"]),
        ("dygraph", {"sharding": True, "sharding_configs": {"segment_broadcast_MB": 8.0}},
        ["sharding_configs"]),
        ("dygraph", {"sharding_configs": {"segment_broadcast_MB": 8.0}}, []),
        ("dygraph", {"amp": True, "amp_configs": {"use_fp16_guard": False}}, ["amp_configs"]),
        ("static", {"amp": True, "amp_configs": {"use_fp16_guard": False}}, []),
        ("torch", {"gradient_scale_configs": {"scale_gradient": True}}, ["gradient_scale_configs"]),
    ],
)  # fmt: skip
def test_settings_without_effect_are_told(mode, switches, told):
    plan = plan_of(mode=mode, **switches)
    assert [note.switch for note in plan.notes] == told
    assert not any(note.is_refused for note in plan.notes)


@pytest.mark.parametrize(("device", "dtype"), [("cpu", "bfloat16"), ("cuda", "float16")])
@pytest.mark.parametrize("mode", ["dygraph", "static", "torch"])
def test_precision_follows_the_device(mode, device, dtype):
    strategy = fleet.DistributedStrategy()
    strategy.amp = True
    strategy.amp_configs = {"incr_ratio": 4.0}
    plan = make_plan(strategy, Facts(num_workers=2, mode=mode, optimizer=SGD, device=device))
    assert plan[Amp].dtype == dtype
    assert ("amp_configs" in reasons(plan)) == (device == "cpu")  # bfloat16 needs no loss scaling


def test_gradient_scale():
    plan = plan_of(gradient_scale_configs={"scale_strategy": "sum"})
    assert plan[GradientScale].scale_strategy == "sum"
    plan = plan_of(localsgd=True, gradient_scale_configs={"scale_strategy": "sum"})
    assert reasons(plan) == {
        "gradient_scale_configs": "parameters are averaged instead of gradients"
    }
    with pytest.raises(
        ValueError, match="scale_strategy must be one of avg, sum, customized, but is 'max'"
    ):
        plan_of(gradient_scale_configs={"scale_strategy": "max"})


def test_without_fused_reduction_each_gradient_travels_alone():
    settings = plan_of(fuse_all_reduce_ops=False, find_unused_parameters=True)[DataParallel]
    assert (settings.bucket_MB, settings.last_bucket_MB) == (0, 0)
    assert settings.find_unused_parameters


@pytest.mark.parametrize("switch", ["localsgd", "adaptive_localsgd", "dgc"])
def test_stages_that_exchange_something_else(switch):
    assert plan_of(**{switch: True})[DataParallel].averages_gradients is False


def test_text():
    text = plan_of(ADAM, amp=True, lars=True).describe()
    assert text.splitlines()[0] == "Plan for 2 workers, dygraph, Adam:"
    assert "  1. amp (level='O1'" in text
    assert "  2. data_parallel (bucket_MB=32" in text
    assert text.splitlines()[-1] == "  refused: lars: it needs Momentum, but the optimizer is Adam"


def test_kinds_of_optimizers():
    import torch

    parameters = paddle.nn.Linear(1, 1).parameters()
    assert optimizer_kinds(paddle.optimizer.Momentum(0.1, parameters=parameters))[0] == "Momentum"
    assert optimizer_kinds(paddle.optimizer.Adam(0.1, parameters=parameters))[0] == "Adam"
    assert "Adam" not in optimizer_kinds(paddle.optimizer.AdamW(0.1, parameters=parameters))
    raw = [torch.nn.Parameter(torch.zeros(1))]
    assert optimizer_kinds(torch.optim.SGD(raw, 0.1)) == ("SGD",)
    assert optimizer_kinds(torch.optim.SGD(raw, 0.1, momentum=0.9)) == ("Momentum",)
    assert optimizer_kinds(torch.optim.AdamW(raw, 0.1)) == ("AdamW",)
    assert optimizer_kinds(torch.optim.Adam(raw, 0.1)) == ("Adam",)
