"""Settings that change nothing here, and why: they tune Paddle's engine, or belong to another kind
of job. A plan tells of those that were set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from argosy.distributed.fleet.base.distributed_strategy import DistributedStrategy

__all__ = ["idle_settings"]

_SERVERS = "the job has no parameter servers"
_TOGETHER = "gradients of a program's run travel together"
_SWITCHES = {
    "sync_nccl_allreduce": "collectives of a group always run in order",
    "nccl_comm_num": "a group has one channel",
    "use_hierarchical_allreduce": (
        "the group's backend follows from where its ranks run; between hosts it is hierarchical"
    ),
    "hierarchical_allreduce_inter_nranks": "hosts are found, not configured",
    "fuse_grad_size_in_TFLOPS": "buckets are closed by size",
    "fuse_grad_size_in_num": "buckets are closed by size",
    "calc_comm_same_stream": "there is no stream of its own for communication",
    "fuse_grad_merge": "merged gradients stay in their buckets",
    "without_graph_optimization": "a program is always lowered to one function",
    "cudnn_exhaustive_search": "set FLAGS_cudnn_exhaustive_search",
    "conv_workspace_size_limit": "cuDNN chooses",
    "cudnn_batchnorm_spatial_persistent": "cuDNN chooses",
    "elastic": "restarts are the launcher's: --max_restart, --nnodes",
    "split_data": "each worker feeds its own part of the data",
    "adam_d2sum": _SERVERS,
    "a_sync": _SERVERS,
    "sparse_table_configs": _SERVERS,
    "trainer_desc_configs": _SERVERS,
    "downpour_table_param": _SERVERS,
    "fs_client_param": _SERVERS,
}
_OF_PROGRAMS = {
    "fuse_all_reduce_ops": _TOGETHER,
    "fuse_grad_size_in_MB": _TOGETHER,
    "last_comm_group_size_MB": _TOGETHER,
    "find_unused_parameters": "a program says which parameters its loss depends on",
}
_OF_MODELS = {"build_strategy": "there is no program", "execution_strategy": "there is no program"}
_SEGMENTS = "updates are not cut into segments"
# of the settings of a switch that is on
_CONFIGS: dict[str, Mapping[str, str]] = {
    "recompute": {"checkpoint_shape": "nothing is offloaded"},
    "sharding": {
        "sharding_segment_strategy": _SEGMENTS,
        "segment_broadcast_MB": _SEGMENTS,
        "segment_anchors": _SEGMENTS,
        "hybrid_dp": "there are as many copies of the shards as workers allow",
        "pp_allreduce_in_optimize": "there are no pipelines",
        "optimize_cast": "casts are not moved",
        "_dp_as_optimizer_sharding": "copies of the shards keep all of them",
        "enable_tuning": "there is nothing to tune",
        "use_calc_stream": "there is no stream of its own for communication",
    },
}
_GUARD = {"use_fp16_guard": "fp16_guard marks operators of a program"}


def idle_settings(
    strategy: DistributedStrategy, on: set[str], is_static: bool
) -> Iterator[tuple[str, str]]:
    """What was set and has no effect, with the reason; ``on`` has the switches of the plan."""
    stored = strategy.strategy.stored()
    for switch, reason in {**_SWITCHES, **(_OF_PROGRAMS if is_static else _OF_MODELS)}.items():
        if switch in stored:
            yield switch, reason
    configs = _CONFIGS if is_static else {**_CONFIGS, "amp": _GUARD}
    for switch in sorted(on & set(configs)):
        given = getattr(strategy.strategy, f"{switch}_configs").stored()
        for key, reason in configs[switch].items():
            if key in given:
                yield f"{switch}_configs", f"{key}: {reason}"
    if "scale_gradient" in strategy.strategy.gradient_scale_configs.stored():
        yield (
            "gradient_scale_configs",
            "scale_gradient: the mean of gradients is the gradient of the mean",
        )
