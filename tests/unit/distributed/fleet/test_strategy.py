"""DistributedStrategy: defaults and files equal real Paddle's; its rules for names and types."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import pytest

import paddle
import paddle.distributed.fleet as fleet
from argosy.distributed.fleet.base._message import Message
from argosy.distributed.fleet.base._strategy_fields import TABLES

GOLDENS = {
    version: json.loads(
        (Path(__file__).parents[3] / "goldens" / "data" / f"fleet_{version}.json").read_text()
    )
    for version in ("3.3.1", "2.6.2")
}
VERSIONS = pytest.mark.parametrize("version", GOLDENS)


def plain(value):
    return (
        {f.name: plain(getattr(value, f.name)) for f in value.fields()}
        if isinstance(value, Message)
        else value
    )


def same(ours, theirs, path=""):
    if isinstance(theirs, dict):
        for key, value in theirs.items():
            assert key in ours, f"{path}.{key}"
            same(ours[key], value, f"{path}.{key}")
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-6), path  # Paddle rounds to float32
    else:
        assert (ours, type(ours)) == (theirs, type(theirs)), path


@VERSIONS
def test_defaults_of_every_message(version):
    for name, fields in GOLDENS[version]["messages"].items():
        assert name in TABLES
        same(plain(Message(name)), fields, name)


@VERSIONS
def test_what_properties_read_as(version):
    strategy = fleet.DistributedStrategy()
    for name, value in GOLDENS[version]["switches"].items():
        found = getattr(strategy, name)
        same(plain(found) if isinstance(found, Message) else found, value, name)


def configured():
    strategy = fleet.DistributedStrategy()
    strategy.amp = True
    strategy.amp_configs = {
        "init_loss_scaling": 1024.5,
        "custom_white_list": ["conv2d", 'quo"te\n'],
    }
    strategy.a_sync = True
    strategy.lars_configs = {"lars_coeff": 0.002, "epsilon": 1e-9}
    strategy.dgc_configs = {"sparsity": [0.75, 0.9375]}
    strategy.hybrid_configs = {"dp_degree": 2, "mp_configs": {"sync_param": False}}
    table = "table_parameters.emb"
    strategy.sparse_table_configs = {
        "emb": {
            f"{table}.shard_num": 7,
            f"{table}.accessor.embed_sgd_param.adagrad.weight_bounds": [-2, 2],
        }
    }
    return strategy


@VERSIONS
def test_files_are_those_of_paddle(version, tmp_path):
    """Byte by byte what Paddle writes for the same settings, and read back as these settings."""
    written = GOLDENS[version]["prototxt"]
    strategy = configured()
    strategy.save_to_prototxt(str(tmp_path / "ours"))
    assert (tmp_path / "ours").read_text() == written
    (tmp_path / "theirs").write_text(written)
    loaded = fleet.DistributedStrategy()
    loaded.load_from_prototxt(str(tmp_path / "theirs"))
    assert loaded == strategy


def test_other_forms_of_prototxt(tmp_path):
    (tmp_path / "file").write_text(
        """# a comment
        amp: True  mode: PS; fuse_grad_size_in_MB: 0x10
        amp_configs < custom_white_list: ["a", 'b\\x41' "c"]
                      init_loss_scaling: 2.5f use_pure_fp16: 1 >
        recompute_configs { refined_ops_patterns { num: 3 main_ops: "m" }
                            refined_ops_patterns { num: 4 } }
        """
    )
    strategy = fleet.DistributedStrategy()
    strategy.amp_configs = {"custom_white_list": ["first"]}
    strategy.load_from_prototxt(str(tmp_path / "file"))
    assert strategy.amp is True
    assert strategy.mode == 2
    assert strategy.fuse_grad_size_in_MB == 16
    assert strategy.amp_configs["custom_white_list"] == ["first", "a", "bAc"]
    assert strategy.amp_configs["init_loss_scaling"] == 2.5
    assert strategy.amp_configs["use_pure_fp16"] is True
    patterns = strategy.recompute_configs["refined_ops_patterns"]
    assert [p["num"] for p in patterns] == [3, 4]
    assert patterns[0]["main_ops"] == ["m"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("amp: true\nampp: true", "line 2.*ampp not in.*'amp'"),
        ("amp: maybe", "line 1: amp: maybe is not a bool"),
        ("nccl_comm_num: 1.5", "nccl_comm_num: 1.5 is not a int32"),
        ("amp_configs {", "ends in the middle"),
        ("amp_configs: 3", "expected '{'"),
        ("amp @ true", "unexpected '@'"),
    ],
)
def test_files_with_errors_change_nothing(text, problem, tmp_path):
    (tmp_path / "file").write_text(text)
    strategy = fleet.DistributedStrategy()
    with pytest.raises(ValueError, match=problem):
        strategy.load_from_prototxt(str(tmp_path / "file"))
    assert strategy == fleet.DistributedStrategy()


@pytest.mark.parametrize(
    "name", ["build_strategy", "execution_strategy", "hybrid_configs", "sparse_table_configs"]
)
def test_groups_refuse_other_types(name):
    strategy = fleet.DistributedStrategy()
    with pytest.raises(
        TypeError,
        match=rf"DistributedStrategy\.{name} should have value of \w+ type, but received 'x'",
    ):
        setattr(strategy, name, "x")


def test_unknown_names():
    strategy = fleet.DistributedStrategy()
    with pytest.raises(
        TypeError,
        match=r"gradient_merg is not a attribute of DistributedStrategy.*'gradient_merge'",
    ):
        strategy.gradient_merg = True
    with pytest.raises(
        AssertionError, match=r"key:k_step not in gradient_merge_configs.*'k_steps'"
    ):
        strategy.gradient_merge_configs = {"avg": False, "k_step": 2}
    assert strategy.gradient_merge_configs["avg"] is True  # not half assigned
    with pytest.raises(AttributeError):
        strategy.no_such_switch  # noqa: B018


def test_wrong_types():
    strategy = fleet.DistributedStrategy()
    with pytest.warns(
        UserWarning, match="amp should have value of bool type, but received 1; it stays as it was"
    ):
        strategy.amp = 1
    assert strategy.amp is False
    for name in ("a_sync", "adam_d2sum"):
        with pytest.raises(ValueError, match=f"{name} should have value of bool type"):
            setattr(strategy, name, "yes")
    with pytest.raises(TypeError, match="fp16_allreduce"):
        strategy.fp16_allreduce = "yes"
    with pytest.raises(
        TypeError, match=r"amp_configs.incr_ratio: expected a number, but received 'x'"
    ):
        strategy.amp_configs = {"incr_ratio": "x"}
    with pytest.raises(ValueError, match=r"localsgd_configs.k_steps: 4294967296 is outside"):
        strategy.localsgd_configs = {"k_steps": 2**32}
    with pytest.raises(ValueError, match="last_comm_group_size_MB should be greater than 0"):
        strategy.last_comm_group_size_MB = 0
    with pytest.raises(TypeError, match="amp_configs: expected a dict"):
        strategy.amp_configs = 3


def test_configs_change_only_what_is_named_and_lists_grow():
    strategy = fleet.DistributedStrategy()
    strategy.amp_configs = {"incr_ratio": 4, "custom_black_list": ["a"]}
    strategy.amp_configs = {"custom_black_list": ["b"]}
    strategy.amp_configs = {"custom_black_list": None}
    assert strategy.amp_configs["incr_ratio"] == 4.0
    assert strategy.amp_configs["custom_black_list"] == ["a", "b"]
    assert strategy.amp_configs["decr_ratio"] == 0.8
    read = strategy.amp_configs
    read["incr_ratio"] = 9.0  # a dict of its own
    assert strategy.amp_configs["incr_ratio"] == 4.0


def test_a_sync_sets_k_steps():
    strategy = fleet.DistributedStrategy()
    assert (strategy.a_sync, strategy.a_sync_configs["k_steps"]) == (True, -1)
    strategy.a_sync = False
    assert (strategy.a_sync, strategy.a_sync_configs["k_steps"]) == (False, 0)
    strategy.a_sync_configs = {"k_steps": 100}
    assert strategy.a_sync_configs["k_steps"] == 100


def test_hybrid_configs_have_objects_inside():
    given = {
        "dp_degree": 2,
        "order": ["dp", "sharding", "mp"],
        "mp_configs": {"sync_param_name": ["w"], "sync_grad": True},
    }
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = given
    assert given["mp_configs"]["sync_param_name"] == ["w"]  # the caller's dict is left alone
    assert strategy.hybrid_configs["mp_configs"].sync_grad is True
    assert strategy.hybrid_parallel_order == ["dp", "sharding", "mp"]
    assert strategy.sync_param_name == ["w"]
    strategy.hybrid_configs["pp_configs"].dp_comm_overlap = True
    assert strategy.hybrid_configs["pp_configs"].dp_comm_overlap is True
    with pytest.raises(AssertionError, match=r"key:overlap not in hybrid_configs.pp_configs"):
        strategy.hybrid_configs = {"pp_configs": {"overlap": True}}


def test_names_of_paddle_2_0():
    strategy = fleet.DistributedStrategy()
    strategy.sharding_configs = {"fuse_broadcast_MB": 8, "sharding_group_size": 4}
    strategy.pipeline_configs = {"micro_batch": 3}
    assert strategy.sharding_configs["segment_broadcast_MB"] == 8.0
    assert strategy.sharding_configs["sharding_degree"] == 4
    assert strategy.pipeline_configs["accumulate_steps"] == 3
    strategy._fuse_grad_size_in_TFLOPS = 2
    assert strategy.fuse_grad_size_in_TFLOPS == 2.0


def test_copies_are_equal_and_apart():
    strategy = configured()
    for twin in (copy.deepcopy(strategy), pickle.loads(pickle.dumps(strategy))):
        assert twin == strategy
        assert twin != fleet.DistributedStrategy()
        twin.amp_configs = {"custom_white_list": ["more"]}
        twin.hybrid_configs["mp_configs"].sync_param = True
        assert twin != strategy
        assert strategy.amp_configs["custom_white_list"] == ["conv2d", 'quo"te\n']
        assert strategy.hybrid_configs["mp_configs"].sync_param is False


def test_printed_table():
    text = repr(configured())
    assert "amp=True <-> amp_configs" in text
    off = text.split("Off")[1].split("+====")[0]
    assert "gradient_merge" in off
    assert "amp," not in off
    lines = text.splitlines()
    assert len({len(line) for line in lines}) == 1
    assert any("init_loss_scaling" in line and "1024.5" in line for line in lines)
    assert any(line.startswith("    |*") and "fp16_allreduce" in line for line in lines)


def test_flags_give_the_first_values():
    import paddle

    before = paddle.get_flags("FLAGS_conv_workspace_size_limit")
    paddle.set_flags({"FLAGS_conv_workspace_size_limit": 77})
    try:
        assert fleet.DistributedStrategy().conv_workspace_size_limit == 77
    finally:
        paddle.set_flags(before)


def test_build_and_execution_strategy():
    strategy = fleet.DistributedStrategy()
    build = strategy.build_strategy
    build.fuse_elewise_add_act_ops = True
    build.reduce_strategy = build.ReduceStrategy.Reduce
    strategy.build_strategy = build
    assert strategy.build_strategy.fuse_elewise_add_act_ops is True
    assert strategy.build_strategy.reduce_strategy == build.ReduceStrategy.Reduce
    execution = strategy.execution_strategy
    assert execution.num_threads == 1
    execution.num_threads = 3
    strategy.execution_strategy = execution
    assert strategy.execution_strategy.num_threads == 3


def test_described_tables():
    strategy = fleet.DistributedStrategy()
    strategy.fleet_desc_configs = {
        "use_cvm": True,
        "emb": {
            "sparse_embedx_dim": 9,
            "sparse_accessor_class": "DownpourUnitAccessor",
            "embed_sparse_optimizer": "adam",
            "embed_sparse_learning_rate": 0.5,
        },
    }
    [table] = strategy.sparse_table_configs
    assert (table.table_name, table.table_class) == ("emb", "MemorySparseTable")
    assert (table.accessor.embedx_dim, table.accessor.fea_dim) == (9, 12)
    assert table.accessor.embed_sgd_param.name == "SparseAdamSGDRule"
    assert table.accessor.embed_sgd_param.adam.learning_rate == 0.5
    assert table.accessor.embedx_sgd_param.name == "SparseAdaGradSGDRule"
    assert table.accessor.embedx_sgd_param.adagrad.weight_bounds == [-10.0, 10.0]
    with pytest.raises(ValueError, match="sparse_embedx_dims"):
        strategy.fleet_desc_configs = {"emb": {"sparse_embedx_dims": 9}}
    with pytest.raises(ValueError, match="names no setting of a table"):
        strategy.sparse_table_configs = {"emb": {"table_parameters.emb.shard_number": 7}}


def test_flags_of_the_process_follow():
    strategy = fleet.DistributedStrategy()
    strategy.conv_workspace_size_limit = 1000
    strategy.fuse_grad_size_in_MB = 7
    names = ["FLAGS_conv_workspace_size_limit", "FLAGS_fuse_parameter_memory_size",
        "FLAGS_fuse_parameter_groups_size"]  # fmt: skip
    before = paddle.get_flags(names)
    strategy._enable_env()
    found = paddle.get_flags(names)
    paddle.set_flags(before)
    assert list(found.values()) == [1000, 7.0, 50]
