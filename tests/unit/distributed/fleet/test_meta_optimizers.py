"""Meta optimizers, and programs that are recorded for workers who are not there."""

from __future__ import annotations

import pytest

import paddle
import paddle.distributed.fleet as fleet
from argosy.distributed.job import job
from argosy.static.parallel.compiled import attached_exchange
from paddle.distributed.fleet.meta_optimizers import (
    AMPOptimizer,
    LarsOptimizer,
    RawProgramOptimizer,
    RecomputeOptimizer,
)
from paddle.distributed.fleet.meta_optimizers.meta_optimizer_base import MetaOptimizerBase

pytestmark = pytest.mark.usefixtures("static_mode")


@pytest.fixture
def role(variables):
    """The second of two workers; the first was never started."""
    variables(PADDLE_TRAINER_ID=1, PADDLE_TRAINER_ENDPOINTS="127.0.0.1:36001,127.0.0.1:36002")
    role = fleet.PaddleCloudRoleMaker(is_collective=True)
    fleet.init(role)
    yield role
    job.close()


def network():
    hidden = paddle.static.nn.fc(paddle.static.data("x", [None, 3]), 4, activation="tanh")
    return hidden, paddle.static.nn.fc(hidden, 1).mean()


def types(loss):
    return [operator.type for operator in loss.block.ops]


def test_recording_does_not_wait_for_other_workers(role):
    assert (fleet.worker_num(), fleet.worker_index()) == (2, 1)
    assert not paddle.distributed.is_initialized()
    _, loss = network()
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.1)).minimize(loss)
    assert attached_exchange(loss.block.program).workers.nranks == 2
    assert job.promised is not None


def test_base_records_what_the_optimizer_does():
    _, loss = network()
    optimizer = MetaOptimizerBase(paddle.optimizer.SGD(0.1))
    operators, pairs = optimizer.minimize(loss)
    assert types(loss)[-1] == "sgd"
    assert len(pairs) == 4
    assert operators
    with pytest.raises(NotImplementedError, match="MetaOptimizerBase"):
        optimizer._enable_strategy(fleet.DistributedStrategy())


def test_raw_program_averages_gradients(role):
    _, loss = network()
    optimizer = RawProgramOptimizer(paddle.optimizer.SGD(0.1))
    strategy = fleet.DistributedStrategy()
    strategy.without_graph_optimization = True
    optimizer._set_basic_info(loss, role, optimizer, strategy)
    assert optimizer._can_apply()
    optimizer.minimize(loss)
    assert attached_exchange(loss.block.program).workers.rank == 1


def test_one_switch_of_several(role):
    _, loss = network()
    strategy = fleet.DistributedStrategy()
    strategy.amp = strategy.lars = True
    optimizer = AMPOptimizer(paddle.optimizer.Momentum(0.1))
    optimizer._set_basic_info(loss, role, optimizer, strategy)
    assert optimizer._can_apply()
    pairs = optimizer.backward(loss)
    assert "cast" in types(loss)
    assert "momentum" not in types(loss)
    optimizer.apply_gradients(pairs)
    assert types(loss)[-1] == "momentum"
    assert attached_exchange(loss.block.program) is None


def test_rule_of_the_plan(role):
    _, loss = network()
    strategy = fleet.DistributedStrategy()
    strategy.lars = True
    for rule, is_lars in (
        (paddle.optimizer.Adam(0.1), False),
        (paddle.optimizer.Momentum(0.1), True),
    ):
        optimizer = LarsOptimizer(rule)
        optimizer._set_basic_info(loss, role, rule, strategy)
        assert optimizer._can_apply() is is_lars
    optimizer.minimize(loss)
    assert "lars_momentum" in types(loss)[-1]


def test_recomputation_needs_only_the_strategy():
    hidden, loss = network()
    optimizer = RecomputeOptimizer(paddle.optimizer.SGD(0.1))
    optimizer.user_defined_strategy = fleet.DistributedStrategy()
    optimizer.user_defined_strategy.recompute = True
    optimizer.user_defined_strategy.recompute_configs = {"checkpoints": [hidden.name]}
    pairs = optimizer.backward(loss)
    assert any("checkpoints" in str(o.kwargs) for o in loss.block.ops)
    optimizer.apply_optimize(loss, None, pairs)


def test_momentum_with_compressed_gradients_is_a_switch():
    from paddle.distributed.fleet.meta_optimizers import DGCMomentumOptimizer

    with pytest.raises(NotImplementedError, match="set DistributedStrategy"):
        DGCMomentumOptimizer(0.1, 0.9, 0)
    paddle.disable_static()
    with pytest.raises(NotImplementedError, match="In dygraph, don't support"):
        DGCMomentumOptimizer(0.1, 0.9, 0)
