from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from argosy.foundation.errors import CheckpointError, UsageError
from argosy.runtime.comm.backends.loopback import LoopbackBackend
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.sharding.sharded_optimizer import ShardedOptimizer
from argosy.runtime.parallel.sharding.sharded_reducer import _plan
from argosy.runtime.parallel.sharding.shards import (
    Shards,
    assign_owners,
    broadcast_bytes,
    gather_named,
    norms_over,
)


@pytest.fixture
def group():
    alone = Group(id=0, name="alone", ranks=[0], global_rank=0, transport=LoopbackBackend())
    yield alone
    alone.close()


def test_owners():
    assert assign_owners([4, 4, 4, 4], 2) == [0, 1, 0, 1]
    assert assign_owners([1, 10, 2, 3, 4], 2) == [1, 0, 1, 1, 1]
    assert assign_owners([5], 3) == [0]
    assert assign_owners([], 3) == []


@given(st.lists(st.integers(0, 1000), max_size=40), st.integers(1, 8))
def test_loads_differ_by_less_than_one_parameter(sizes, num_ranks):
    owners = assign_owners(sizes, num_ranks)
    loads = [
        sum(size for size, owner in zip(sizes, owners, strict=True) if owner == rank)
        for rank in range(num_ranks)
    ]
    assert len(owners) == len(sizes)
    assert max(loads) - min(loads) <= max(sizes, default=0)


@given(
    st.lists(
        st.tuples(st.integers(1, 50), st.integers(0, 3), st.booleans()), min_size=1, max_size=20
    ),
    st.integers(1, 300),
)
def test_a_bucket_has_one_owner_and_dtype(params, limit):
    tensors = [
        torch.empty(n, dtype=torch.float64 if wide else torch.float32) for n, _, wide in params
    ]
    owners = [owner for _, owner, _ in params]
    plan = _plan(tensors, owners, limit)
    assert sorted(i for indices in plan for i in indices) == list(range(len(params)))
    for indices in plan:
        assert len({(owners[i], tensors[i].dtype) for i in indices}) == 1


def test_norm_over_kinds_of_gradients(group):
    shards = Shards([torch.zeros(2), torch.zeros(2)], group)
    sparse = torch.sparse_coo_tensor([[1, 1]], [1.0, 2.0], (4,), check_invariants=False)
    half = torch.tensor([300.0, 400.0], dtype=torch.float16)  # its square is beyond float16
    norms = norms_over(
        [[torch.tensor([3.0, 4.0])], [], [sparse, torch.tensor([4.0])], [half]], shards.group
    )
    assert norms.tolist() == [5.0, 0.0, 5.0, 500.0]


def test_names_and_bytes_alone(group):
    assert broadcast_bytes(b"abc", group.transport, 0) == b"abc"
    assert broadcast_bytes(b"", group.transport, 0) == b""
    state = {"a": torch.ones(2), "b": torch.zeros((), dtype=torch.bfloat16)}
    assert gather_named(state, group).keys() == state.keys()
    assert gather_named(state, group)["b"].dtype is torch.bfloat16


def test_a_sharded_torch_optimizer_refuses_what_does_not_fit(group):
    params = [torch.nn.Parameter(torch.ones(3)) for _ in range(2)]
    optimizer = ShardedOptimizer(torch.optim.SGD(params, 0.1, 0.9), group)
    with pytest.raises(UsageError, match="before sharding"):
        optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(1))]})
    other = torch.optim.SGD(params[:1], 0.1, 0.9)
    with pytest.raises(CheckpointError, match=r"groups of \[1\] parameters, this one of \[2\]"):
        optimizer.load_state_dict(other.state_dict())
    for param in params:
        param.grad = torch.ones(3)
    optimizer.step()
    part = optimizer.full_state_dict()
    del part["state"][1]
    with pytest.raises(
        CheckpointError,
        match=r"nothing for parameter 1, which rank 0 owns; save full_state_dict\(\)",
    ):
        optimizer.load_state_dict(part)


def test_settings_reach_the_inner_optimizer(group):
    param = torch.nn.Parameter(torch.ones(1))
    optimizer = ShardedOptimizer(torch.optim.SGD([param], 0.1), group)
    optimizer.param_groups[0]["lr"] = 0.5
    loss = optimizer.step(lambda: param.sum().backward() or 7.0)
    assert loss == 7.0
    assert param.item() == 0.5
    assert optimizer.clip_grad_norm_(0.5).item() == 1.0
    assert param.grad.item() == pytest.approx(0.5, rel=1e-5)
