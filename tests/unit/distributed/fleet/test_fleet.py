"""Fleet in one process: its answers, its optimizer and model, its errors."""

from __future__ import annotations

import os

import numpy as np
import pytest
import torch

import paddle
import paddle.distributed.fleet as fleet
import paddle.nn as nn
from argosy.distributed.fleet.stages import optimizer_stages
from argosy.distributed.fleet.stages.trainee import OptimizerStage


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """The module's Fleet as it is before init."""
    started = fleet.Fleet()
    monkeypatch.setattr(fleet.fleet, "__dict__", started.__dict__)


def train(model, optimizer, steps=3):
    losses = []
    for step in range(steps):
        x = paddle.to_tensor(np.random.RandomState(step).rand(4, 3).astype("float32"))
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    return losses


def made(seed=1):
    paddle.seed(seed)
    return nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))


def test_questions_before_init():
    with pytest.raises(ValueError, match=r"call fleet.init\(\) first"):
        fleet.worker_num()
    with pytest.raises(AssertionError, match=r"call fleet.init"):
        fleet.get_hybrid_communicate_group()
    for call in (
        fleet.init_worker,
        fleet.stop_worker,
        fleet.init_server,
        fleet.run_server,
        fleet.shrink,
    ):
        with pytest.raises(ValueError, match=r"call fleet.init\(\) first"):
            call()
    fleet.init(is_collective=True)
    assert fleet.worker_endpoints(to_string=True) == "127.0.0.1:6170"
    assert fleet.all_reduce([1.5]).tolist() == [1.5]


def test_serving_in_a_job_without_servers(caplog):
    fleet.init()
    fleet.init_server()
    fleet.run_server()
    assert [record.message for record in caplog.records] == [
        f"fleet.{name} does nothing: this job has no parameter servers"
        for name in ("init_server", "run_server")
    ]


def test_parameter_server_job(variables):
    """Roles are known, and what needs the model, or is not there, says so."""
    variables(
        PADDLE_PSERVERS_IP_PORT_LIST="127.0.0.1:1",
        PADDLE_TRAINERS_NUM=2,
        TRAINING_ROLE="TRAINER",
        PADDLE_TRAINER_ID=1,
    )
    fleet.init()
    assert (fleet.worker_index(), fleet.worker_num(), fleet.server_num()) == (1, 2, 1)
    for call in (fleet.init_worker, lambda: fleet.set_date(0, "20260101")):
        with pytest.raises(ValueError, match="the model is not known yet"):
            call()
    with pytest.raises(ValueError, match="this process is a worker"):
        fleet.init_server()
    with pytest.raises(NotImplementedError, match=r"fleet.save_cache_model is not supported"):
        fleet.save_cache_model("folder", mode=0)
    with pytest.warns(UserWarning, match="threshold is not used"):
        fleet.shrink(1)  # worker 0 does it


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"is_collective": 1}, "is_collective must be a bool"),
        ({"role_maker": "worker"}, "role_maker must be a RoleMakerBase, but is a str"),
        ({"strategy": {"amp": True}}, "strategy must be a DistributedStrategy"),
        ({"log_level": "LOUD"}, "there is no level 'LOUD'"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_init_refuses(options, message):
    with pytest.raises(ValueError, match=message):
        fleet.init(**options)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: fleet.distributed_optimizer(object()),
            *(ValueError, r"optimizer must be a paddle.optimizer.Optimizer or a torch"),
        ),
        (lambda: fleet.distributed_model(None), AssertionError, "model should not be None"),
        (
            lambda: fleet.distributed_model(3),
            *(AssertionError, r"must be a paddle.nn.Layer or a torch.nn.Module"),
        ),
        (lambda: fleet.distributed_scaler(None), AssertionError, "must be a GradScaler"),
        (
            lambda: fleet.init_worker([paddle.static.Scope()]),
            *(NotImplementedError, r"init_worker: scopes"),
        ),
    ],
    ids=["no optimizer", "no model", "another thing than a model", "no scaler", "scopes"],
)
def test_fleet_refuses(call, error, message):
    fleet.init()
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("framework", ["paddle", "torch"])
def test_an_optimizer_is_made_distributed_once(framework):
    fleet.init()
    inner = (
        paddle.optimizer.SGD(0.1, parameters=made().parameters())
        if framework == "paddle"
        else torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), 0.1)
    )
    optimizer = fleet.distributed_optimizer(
        inner, strategy_with(gradient_merge=True, gradient_merge_configs={"k_steps": 2})
    )
    plan = fleet.plan()
    with pytest.raises(ValueError, match="this optimizer is a distributed one already"):
        fleet.distributed_optimizer(optimizer)
    assert fleet.plan() is plan


def test_a_state_that_is_no_dict_is_refused():
    fleet.init()
    optimizer = fleet.distributed_optimizer(
        paddle.optimizer.SGD(0.1, parameters=made().parameters())
    )
    with pytest.raises(TypeError, match="expected a state dict, but received 3"):
        optimizer.set_state_dict(3)


def test_training_is_that_of_the_plain_optimizer():
    model = made()
    plain = train(model, paddle.optimizer.Adam(0.1, parameters=model.parameters()))
    fleet.init(is_collective=True)
    model = made()
    optimizer = fleet.distributed_optimizer(
        paddle.optimizer.Adam(0.1, parameters=model.parameters())
    )
    wrapped = fleet.distributed_model(model)
    assert train(wrapped, optimizer) == plain
    assert list(wrapped.state_dict()) == list(model.state_dict())


def test_optimizer_is_the_script_s_own():
    fleet.init(is_collective=True)
    model = made()
    inner = paddle.optimizer.Adam(0.01, parameters=model.parameters())
    optimizer = fleet.distributed_optimizer(inner)
    for rate in (0.2, 0.3):
        optimizer.set_lr(rate)
        assert (optimizer.get_lr(), fleet.get_lr(), inner.get_lr()) == (rate,) * 3
    fleet.set_lr(0.5)
    assert optimizer.get_lr() == 0.5
    assert optimizer._parameter_list is inner._parameter_list
    optimizer.regularization = None
    assert "regularization" not in optimizer.__dict__
    loss = model(paddle.ones([1, 3])).mean()
    loss.backward()
    _, pairs = fleet.minimize(loss)
    assert len(pairs) == 4
    state = fleet.state_dict()
    assert state.keys() == inner.state_dict().keys()
    fleet.clear_grad()
    optimizer.set_state_dict(state)
    assert "Adam" in repr(optimizer)


class Every(OptimizerStage):
    """Updates at every n-th step, which gradients are added up for."""

    seen: list = []

    def __init__(self, trainee, settings):
        self.settings = settings
        self.count = 0
        self.models = []

    def bind(self, model):
        self.models.append(model)

    def before_step(self, loss):
        self.count += 1
        return self.count % self.settings.k_steps == 0

    def after_step(self, loss):
        self.seen.append(self.count)

    def keeps_gradients(self):
        return self.count % self.settings.k_steps != 0

    def state_dict(self):
        return {"count": self.count}

    def set_state_dict(self, state):
        self.count = state["count"]


def test_stages_stand_around_the_step(monkeypatch):
    monkeypatch.setitem(optimizer_stages.STAGES, "gradient_merge", Every)
    monkeypatch.setattr(Every, "seen", [])
    fleet.init(is_collective=True)
    strategy = fleet.DistributedStrategy()
    strategy.gradient_merge = True
    strategy.gradient_merge_configs = {"k_steps": 2}
    model = made()
    optimizer = fleet.distributed_optimizer(
        paddle.optimizer.SGD(0.1, parameters=model.parameters()), strategy
    )
    wrapped = fleet.distributed_model(model)
    assert optimizer.steps.stages[0].models == [wrapped]
    weight = model[0].weight
    before = weight.numpy()
    loss = model(paddle.ones([1, 3])).mean()
    loss.backward()
    optimizer.minimize(loss)
    optimizer.clear_grad()
    once = weight.grad.numpy()
    assert (weight.numpy() == before).all()
    model(paddle.ones([1, 3])).mean().backward()
    optimizer.step()
    assert np.allclose(before - weight.numpy(), 0.2 * once)
    optimizer.clear_grad()
    assert not weight.grad.numpy().any()
    assert Every.seen == [2]
    state = optimizer.state_dict()
    assert state["fleet_stages"] == {"Every": {"count": 2}}
    optimizer.step()
    optimizer.set_state_dict(state)
    assert optimizer.steps.stages[0].count == 2
    with pytest.raises(NotImplementedError, match="no_grad_set"):
        optimizer.minimize(loss, no_grad_set={weight.name})


def test_stages_see_models_that_were_made_before(monkeypatch):
    monkeypatch.setitem(optimizer_stages.STAGES, "gradient_merge", Every)
    strategy = fleet.DistributedStrategy()
    strategy.gradient_merge = True
    strategy.gradient_merge_configs = {"k_steps": 2}
    fleet.init(is_collective=True, strategy=strategy)
    model = fleet.distributed_model(made())
    optimizer = fleet.distributed_optimizer(
        paddle.optimizer.SGD(0.1, parameters=model.parameters())
    )
    assert optimizer.steps.stages[0].models == [model]


def test_a_stage_that_nobody_makes_is_refused(monkeypatch):
    monkeypatch.setattr(optimizer_stages, "STAGES", {})
    fleet.init(is_collective=True)
    strategy = fleet.DistributedStrategy()
    strategy.gradient_merge = True
    strategy.gradient_merge_configs = {"k_steps": 2}
    momentum = paddle.optimizer.Momentum(0.1, parameters=made().parameters())
    with pytest.raises(
        NotImplementedError,
        match=r"DistributedStrategy\.gradient_merge is not supported in dygraph mode",
    ):
        fleet.distributed_optimizer(momentum, strategy)


def test_plan_is_shown(capsys):
    fleet.init(is_collective=True)
    fleet.print_plan()
    strategy = fleet.DistributedStrategy()
    strategy.dgc = True
    fleet.distributed_optimizer(
        paddle.optimizer.Adam(0.1, parameters=made().parameters()), strategy
    )
    fleet.print_plan()
    out = capsys.readouterr().out
    assert "no plan before" in out
    assert "refused: dgc: it needs Momentum, but the optimizer is Adam" in out
    assert fleet.plan().notes[0].switch == "dgc"
    assert fleet._final_strategy().dgc is False
    assert fleet._get_applied_meta_list() == []
    assert fleet._get_applied_graph_list() == []


def test_torch():
    fleet.init(is_collective=True)
    module = torch.nn.Linear(2, 1)
    inner = torch.optim.SGD(module.parameters(), 0.1)
    optimizer = fleet.distributed_optimizer(inner)
    wrapped = fleet.distributed_model(module)
    assert isinstance(wrapped, torch.nn.Module)
    assert isinstance(optimizer, torch.optim.Optimizer)
    before = module.weight.detach().clone()
    wrapped(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert torch.allclose(module.weight, before - 0.1)


def test_scaler_of_one_process_is_left_alone():
    fleet.init(is_collective=True)
    scaler = paddle.amp.GradScaler()
    assert fleet.distributed_scaler(scaler) is scaler


def test_module_paths():
    import paddle.distributed.fleet.base.fleet_base as fleet_base
    import paddle.distributed.fleet.base.util_factory
    import paddle.distributed.fleet.meta_optimizers as meta
    import paddle.fluid
    from paddle.distributed.fleet.fleet import Fleet
    from paddle.distributed.fleet.utils import recompute
    from paddle.distributed.fleet.utils.hybrid_parallel_util import fused_allreduce_gradients

    # importing the module fleet.fleet does not hide the object
    assert fleet_base.Fleet is Fleet is type(fleet.fleet)
    assert paddle.distributed.fleet is fleet
    assert callable(recompute)
    assert callable(fused_allreduce_gradients)
    assert fleet.DatasetFactory is paddle.fluid.DatasetFactory  # where 2.0-beta had it
    with pytest.raises(NotImplementedError, match="PipelineOptimizer is not supported"):
        meta.PipelineOptimizer  # noqa: B018
    with pytest.raises(AttributeError, match="LambOptimizer"):
        meta.LambOptimiser  # noqa: B018


def test_named_generators():
    from paddle.distributed.fleet.meta_parallel import (
        get_rng_state_tracker,
        model_parallel_random_seed,
    )

    tracker = get_rng_state_tracker()
    model_parallel_random_seed(5)
    alike = paddle.rand([3]).tolist()
    with tracker.rng_state():
        saved, own = tracker.get_states_tracker(), paddle.rand([3]).tolist()
        further = paddle.rand([3]).tolist()
    after = paddle.rand([3]).tolist()
    with tracker.rng_state():
        assert paddle.rand([3]).tolist() not in (own, further)  # it goes on from where it was
    tracker.set_states_tracker(saved)
    with tracker.rng_state():
        assert paddle.rand([3]).tolist() == own
    paddle.seed(5)
    assert [paddle.rand([3]).tolist(), paddle.rand([3]).tolist()] == [alike, after]
    with pytest.raises(ValueError, match="seed 6 already exists"):
        tracker.add("other", 6)
    with pytest.raises(ValueError, match="state local does not exist"), tracker.rng_state("local"):
        pass
    with pytest.raises(ImportError, match=r"TensorParallel is not supported: .* for one rank only"):
        from paddle.distributed.fleet.meta_parallel import TensorParallel  # noqa: F401
    with pytest.raises(AttributeError, match="Did you mean 'PipelineLayer'"):
        fleet.meta_parallel.PipelineLayr  # noqa: B018
    tracker.reset()
    assert tracker.get_states_tracker() == {}


def check_wrong_saves(exe, folder, y):
    for arguments, problem in (
        ((exe, None), "dirname must be the name of a folder, but is None"),
        ((folder, exe), "executor must be an Executor, but is a str"),
        ((exe, folder, 3), "main_program must be a Program, but received int"),
    ):
        with pytest.raises(TypeError, match=problem):
            fleet.save_persistables(*arguments)
    for feeds, targets, problem in (
        ("x", [y], "feeded_var_names must be a list of names, but is 'x'"),
        (["x"], "y", "target_vars must be a list of Variables"),
        (["x"], [], r"target_vars must be a list of Variables, but is \[\]"),
        (["xx"], [y], "the program has no variable 'xx'"),
    ):
        with pytest.raises(ValueError, match=problem):
            fleet.save_inference_model(exe, folder, feeds, targets)


def test_static_files(tmp_path):
    fleet.init(is_collective=True)
    paddle.enable_static()
    try:
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup):
            x = paddle.static.data("x", [None, 3])
            y = nn.Linear(3, 2)(x)
            loss = y.mean()
            fleet.distributed_optimizer(paddle.optimizer.SGD(0.1)).minimize(loss)
            exe = paddle.static.Executor(paddle.CPUPlace())
            scope = paddle.static.Scope()
            with paddle.static.scope_guard(scope):
                exe.run(startup)
                feed = {"x": np.ones((2, 3), "float32")}
                [first] = exe.run(main, feed=feed, fetch_list=[loss])
                fleet.save_persistables(exe, str(tmp_path / "all"), main)
                fleet.save_inference_model(exe, str(tmp_path / "model"), ["x"], [y], main)
                fleet.save(str(tmp_path / "again"), feed=["x"], fetch=[y.name])
                check_wrong_saves(exe, str(tmp_path / "none"), y)
                assert not (tmp_path / "none").exists()
                [second] = exe.run(main, feed=feed, fetch_list=[loss])
        assert second < first
        assert "linear" in "".join(os.listdir(tmp_path / "all"))
        assert "__model__" in os.listdir(tmp_path / "model")
        assert sorted(os.listdir(tmp_path / "again")) == sorted(os.listdir(tmp_path / "model"))
    finally:
        paddle.disable_static()


# -- switches
# --------------------------------------------------------------------------------------------------


def strategy_with(**switches):
    strategy = fleet.DistributedStrategy()
    for name, value in switches.items():
        setattr(strategy, name, value)
    return strategy


def test_lars_is_paddle_s_lars():
    from argosy.optimizer.lars import LarsMomentumOptimizer

    model = made()
    options = {
        "lars_coeff": 0.5,
        "lars_weight_decay": 0.1,
        "epsilon": 1e-6,
        "exclude_from_weight_decay": ["b_0"],
    }
    expected = train(
        model, LarsMomentumOptimizer(0.1, 0.9, parameter_list=model.parameters(), **options)
    )
    fleet.init(is_collective=True)
    model = made()
    momentum = paddle.optimizer.Momentum(0.1, 0.9, parameters=model.parameters())
    assert (
        train(
            model,
            fleet.distributed_optimizer(momentum, strategy_with(lars=True, lars_configs=options)),
        )
        == expected
    )
    nesterov = paddle.optimizer.Momentum(0.1, 0.9, parameters=model.parameters(), use_nesterov=True)
    with pytest.raises(NotImplementedError, match="use_nesterov"):
        fleet.distributed_optimizer(nesterov, strategy_with(lars=True))


def test_lamb_is_paddle_s_lamb():
    model = made()
    skipped = {"exclude_from_weight_decay_fn": lambda param: "b_0" in param.name}
    lamb = paddle.optimizer.Lamb(
        0.1, 0.2, 0.8, 0.99, 1e-5, parameters=model.parameters(), **skipped
    )
    expected = train(model, lamb)
    fleet.init(is_collective=True)
    model = made()
    adam = paddle.optimizer.Adam(0.1, 0.8, 0.99, 1e-5, parameters=model.parameters())
    configs = {"lamb_weight_decay": 0.2, "exclude_from_weight_decay": ["b_0"]}
    assert (
        train(
            model, fleet.distributed_optimizer(adam, strategy_with(lamb=True, lamb_configs=configs))
        )
        == expected
    )


@pytest.mark.parametrize("avg", [True, False])
def test_gradient_merge(avg):
    model = made()
    plain = paddle.optimizer.SGD(0.1, parameters=model.parameters())
    xs = [paddle.to_tensor(np.random.RandomState(i).rand(2, 3).astype("float32")) for i in range(4)]
    for pair in (xs[:2], xs[2:]):
        (sum((model(x) ** 2).mean() for x in pair) / (2 if avg else 1)).backward()
        plain.step()
        plain.clear_grad()
    expected = [p.numpy() for p in model.parameters()]
    fleet.init(is_collective=True)
    model = made()
    strategy = strategy_with(gradient_merge=True, gradient_merge_configs={"k_steps": 2, "avg": avg})
    optimizer = fleet.distributed_optimizer(
        paddle.optimizer.SGD(0.1, parameters=model.parameters()), strategy
    )
    for x in xs:
        (model(x) ** 2).mean().backward()
        optimizer.step()
        optimizer.clear_grad()
    for param, value in zip(model.parameters(), expected, strict=True):
        np.testing.assert_allclose(param.numpy(), value, rtol=1e-6)


def test_lars_in_a_program_is_that_of_dygraph():
    xs = [np.random.RandomState(i).rand(2, 3).astype("float32") for i in range(3)]
    strategy = strategy_with(lars=True, lars_configs={"lars_coeff": 0.5})
    attr = paddle.ParamAttr(initializer=nn.initializer.Constant(0.3))
    fleet.init(is_collective=True)
    layer = nn.Linear(3, 2, weight_attr=attr)
    momentum = paddle.optimizer.Momentum(0.1, parameters=layer.parameters())
    optimizer, expected = fleet.distributed_optimizer(momentum, strategy), []
    for x in xs:
        loss = (layer(paddle.to_tensor(x)) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        expected.append(float(loss))
    paddle.enable_static()
    try:
        main, startup = paddle.static.Program(), paddle.static.Program()
        with (
            paddle.static.program_guard(main, startup),
            paddle.static.scope_guard(paddle.static.Scope()),
        ):
            loss = (
                nn.Linear(3, 2, weight_attr=attr)(paddle.static.data("x", [None, 3])) ** 2
            ).mean()
            fleet.distributed_optimizer(paddle.optimizer.Momentum(0.1), strategy)
            fleet.minimize(loss)
            exe = paddle.static.Executor(paddle.CPUPlace())
            exe.run(startup)
            found = [float(exe.run(main, feed={"x": x}, fetch_list=[loss])[0]) for x in xs]
    finally:
        paddle.disable_static()
    assert found == pytest.approx(expected, rel=1e-6)
    assert expected[-1] < expected[0]
