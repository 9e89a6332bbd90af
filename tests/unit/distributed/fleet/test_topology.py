"""CommunicateTopology, and the layout that hybrid_configs asks for."""

from __future__ import annotations

import pytest

import paddle.distributed.fleet as fleet
from paddle.distributed.fleet.base.topology import layout

DEFAULT_ORDER = ["dp", "pp", "sharding", "sep", "cp", "mp"]


def configs(**changes):
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = changes
    return strategy.hybrid_configs


def test_grid():
    topology = fleet.CommunicateTopology(
        ["data", "pipe", "sharding", "sep", "model"], [2, 2, 1, 1, 2]
    )
    assert topology.world_size() == 8
    assert topology.get_dim("pipe") == topology.get_dim_size("pipe") == 2
    assert topology.get_rank(data=1, pipe=0, sharding=0, sep=0, model=1) == 5
    assert topology.get_coord(6) == topology.coordinate(1, 1, 0, 0, 0)
    assert topology.get_axis_list("data", 1) == [4, 5, 6, 7]
    assert topology.get_comm_list("model") == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert topology.get_comm_list("data") == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert topology.get_fused_ranks(["data", "model"]) == [[0, 1, 4, 5], [2, 3, 6, 7]]
    assert topology.get_rank_from_stage(0, pipe=1) == 2
    assert topology.get_hybrid_group_names()[0] == "data"
    for wrong in (
        lambda: topology.get_dim("expert"),
        lambda: topology.get_coord(8),
        lambda: topology.get_rank(data=0),
    ):
        with pytest.raises(AssertionError):
            wrong()


@pytest.mark.parametrize(
    ("changes", "workers", "sizes"),
    [
        ({}, 4, {"data": 4, "sharding": 1}),
        ({"sharding_degree": 2}, 4, {"data": 2, "sharding": 2}),
        ({"dp_degree": 1, "sharding_degree": 4}, 4, {"data": 1, "sharding": 4}),
    ],
)
def test_layout(changes, workers, sizes):
    names, dims = layout(configs(**changes), DEFAULT_ORDER, workers)
    assert names == ["data", "pipe", "sharding", "sep", "context", "model"]
    assert dict(zip(names, dims, strict=True)) == {
        "pipe": 1,
        "sep": 1,
        "context": 1,
        "model": 1,
        **sizes,
    }


def test_layout_of_paddle_2_5_without_sep():
    names, _ = layout(configs(), ["sharding", "pp", "dp", "mp"], 1)
    assert names == ["sharding", "pipe", "data", "model", "sep", "context"]


@pytest.mark.parametrize(
    "degree", ["mp_degree", "pp_degree", "sep_degree", "cp_degree", "ep_degree"]
)
def test_what_is_not_built_is_refused(degree):
    with pytest.raises(NotImplementedError, match=f"{degree}=2"):
        layout(configs(**{degree: 2}), DEFAULT_ORDER, 4)


def test_layouts_that_cannot_be():
    with pytest.raises(
        AssertionError, match="dp_degree 3 times sharding_degree 1 must be the number of workers, 4"
    ):
        layout(configs(dp_degree=3), DEFAULT_ORDER, 4)
    with pytest.raises(AssertionError, match="order must list"):
        layout(configs(), ["dp", "mp", "tp"], 1)


def test_groups_of_one_process():
    fleet.init(is_collective=True)
    hcg = fleet.get_hybrid_communicate_group()
    assert hcg.get_data_parallel_world_size() == hcg.get_sharding_parallel_world_size() == 1
    assert hcg.get_data_parallel_group().ranks == [0]
    assert (
        hcg.get_data_parallel_group_src_rank()
        == hcg.get_model_parallel_rank()
        == hcg.get_stage_id()
        == 0
    )
    assert hcg.get_parallel_mode() == 0
    assert hcg.topology().world_size() == 1
