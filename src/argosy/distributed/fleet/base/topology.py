"""How the ranks of a job are laid out over kinds of parallelism, and a group for each."""

from __future__ import annotations

import collections
import itertools
import math
from collections.abc import Sequence
from typing import Any

from argosy.distributed.collective import new_group
from argosy.distributed.communication.group import is_initialized
from argosy.distributed.job import default_group
from argosy.distributed.parallel import get_rank, get_world_size
from argosy.foundation.errors import BadArgument, NotSupported
from argosy.foundation.process_state import Held
from argosy.runtime.comm.backends.loopback import LoopbackBackend
from argosy.runtime.comm.group import Group

__all__ = ["CommunicateTopology", "HybridCommunicateGroup", "ParallelMode", "layout"]

_NAMES = ["data", "pipe", "sharding", "sep", "context", "model"]
_AXES = {
    "dp": "data",
    "pp": "pipe",
    "sharding": "sharding",
    "sep": "sep",
    "cp": "context",
    "mp": "model",
}
_MISSING = {
    "mp_degree": "tensor",
    "pp_degree": "pipeline",
    "sep_degree": "segment",
    "cp_degree": "context",
    "ep_degree": "expert",
}


_latest: Held[Any] = Held("latest HybridCommunicateGroup", None)


def __getattr__(name: str) -> Any:
    if name == "_HYBRID_PARALLEL_GROUP":  # scripts reach for the latest by this name of Paddle's
        return _latest.value
    raise AttributeError(
        f"module 'paddle.distributed.fleet.base.topology' has no attribute {name!r}"
    )


class ParallelMode:
    """What a job splits over its ranks."""

    DATA_PARALLEL = 0
    TENSOR_PARALLEL = 1
    PIPELINE_PARALLEL = 2
    SHARDING_PARALLEL = 3
    SEGMENT_PARALLEL = 4


def layout(
    configs: dict[str, Any], order: Sequence[str], num_ranks: int
) -> tuple[list[str], list[int]]:
    """The names and sizes of the axes that ``hybrid_configs`` asks for; ``dp_degree=-1`` takes the
    ranks that are left.
    """
    for name, kind in _MISSING.items():
        if configs[name] > 1:
            raise NotSupported(
                f"hybrid_configs: {name}={configs[name]}: {kind} parallelism is not supported; "
                "dp_degree and sharding_degree are"
            )
    unknown = [name for name in order if name not in _AXES]
    if unknown or len(set(order)) != len(order) or not {"dp", "mp"} <= set(order):
        raise BadArgument(
            f"hybrid_configs: order must list {', '.join(_AXES)}, each once (sep and cp may be "
            f"left out), but is {list(order)}"
        )
    sharding = max(configs["sharding_degree"], 1)
    replicas = configs["dp_degree"] if configs["dp_degree"] > 0 else max(num_ranks // sharding, 1)
    if replicas * sharding != num_ranks:
        raise BadArgument(
            f"hybrid_configs: dp_degree {replicas} times sharding_degree {sharding} must be the "
            f"number of workers, {num_ranks}"
        )
    sizes = {"data": replicas, "sharding": sharding}
    names = [_AXES[name] for name in order] + [
        axis for axis in _NAMES if axis not in {_AXES[n] for n in order}
    ]
    return names, [sizes.get(name, 1) for name in names]


class CommunicateTopology:
    """Ranks as points of a grid with named axes; the last axis varies fastest.

    Example:
        >>> from paddle.distributed.fleet import CommunicateTopology
        >>> topology = CommunicateTopology(["data", "sharding"], [2, 2])
        >>> topology.get_comm_list("data")
        [[0, 2], [1, 3]]
    """

    def __init__(
        self, hybrid_group_names: Sequence[str] = _NAMES, dims: Sequence[int] = (1, 1, 1, 1, 1, 1)
    ) -> None:
        if len(hybrid_group_names) != len(dims):
            raise BadArgument(
                f"CommunicateTopology: {len(hybrid_group_names)} names, but {len(dims)} sizes"
            )
        self._parallel_names = list(hybrid_group_names)
        self._dims = list(dims)
        names = self._parallel_names
        self.coordinate: Any = collections.namedtuple("Coordinate", names)  # type: ignore[misc]
        self._world_size = math.prod(self._dims)
        points: Any = itertools.product(*map(range, self._dims))
        self._rank2coord = [self.coordinate(*point) for point in points]
        self._coord2rank = {point: rank for rank, point in enumerate(self._rank2coord)}

    def get_hybrid_group_names(self) -> list[str]:
        return self._parallel_names

    def get_dim(self, axis_name: str) -> int:
        """How many ranks lie along an axis."""
        return self._dims[self._axis(axis_name)]

    get_dim_size = get_dim

    @property
    def sizes(self) -> list[int]:
        """How many ranks lie along each axis, in their order."""
        return self._dims

    def world_size(self) -> int:
        return self._world_size

    def get_rank(self, **args: int) -> int:
        """The rank at a point that is given by all its coordinates."""
        if set(args) != set(self._parallel_names):
            raise BadArgument(
                f"get_rank: expected the coordinates {self._parallel_names}, but received "
                f"{list(args)}"
            )
        point = self.coordinate(**args)
        if point not in self._coord2rank:
            raise BadArgument(
                f"get_rank: {point} lies outside the topology, whose sizes are {self._dims}"
            )
        return self._coord2rank[point]

    def get_coord(self, rank: int) -> Any:
        """The point of a rank."""
        if not 0 <= rank < self._world_size:
            raise BadArgument(
                f"get_coord: the rank must be at least 0 and below {self._world_size}, but is "
                f"{rank}"
            )
        return self._rank2coord[rank]

    def get_axis_list(self, axis_name: str, index: int) -> list[int]:
        """The ranks whose coordinate on an axis is ``index``."""
        axis = self._axis(axis_name)
        return [rank for rank, point in enumerate(self._rank2coord) if point[axis] == index]

    def get_comm_list(self, axis_name: str) -> list[list[int]]:
        """The groups of ranks that differ on this axis only."""
        return self.get_fused_ranks([axis_name])

    def get_fused_ranks(self, fused_axis: Sequence[str]) -> list[list[int]]:
        """The groups of ranks that differ on these axes only."""
        fused = {self._axis(name) for name in fused_axis}
        groups: dict[tuple[int, ...], list[int]] = {}
        for rank, point in enumerate(self._rank2coord):
            groups.setdefault(tuple(c for i, c in enumerate(point) if i not in fused), []).append(
                rank
            )
        return list(groups.values())

    def get_rank_from_stage(self, global_rank: int, **kwargs: int) -> int:
        """The rank that a move along some axes leads to."""
        return self.get_rank(**self.get_coord(global_rank)._replace(**kwargs)._asdict())

    def _axis(self, name: str) -> int:
        if name not in self._parallel_names:
            raise BadArgument(
                f"the topology has no axis {name!r}; its axes are {', '.join(self._parallel_names)}"
            )
        return self._parallel_names.index(name)


class HybridCommunicateGroup:
    """This process's groups in a topology. Every process of the job makes it, in the same order of
    group creations.

    ``hybrid_configs`` only tunes NCCL in Paddle.
    """

    def __init__(self, topology: CommunicateTopology, hybrid_configs: Any = None) -> None:
        self.nranks = get_world_size() if is_initialized() else 1
        self.global_rank = get_rank() if is_initialized() else 0
        if topology.world_size() != self.nranks:
            raise BadArgument(
                f"the topology has {topology.world_size()} ranks, but the job has {self.nranks}"
            )
        self._topo = topology
        self.groups = {name: self._group([name]) for name in topology.get_hybrid_group_names()}
        self._check_groups: dict[str, Group] = {}
        self.stage_id = 0
        self.is_first_stage = self.is_last_stage = True
        _latest.value = self

    def _group(self, axes: Sequence[str]) -> Group:
        """The group of the ranks that differ from this one on ``axes``. All ranks make all such
        groups.
        """
        mine = None
        for ranks in self._topo.get_fused_ranks(axes):
            group = self._made(ranks)
            if self.global_rank in ranks:
                mine = group
        assert mine is not None
        return mine

    def _made(self, ranks: list[int]) -> Group | None:
        if len(ranks) == self.nranks and is_initialized():
            return default_group("HybridCommunicateGroup")
        if len(ranks) > 1:
            return new_group(ranks)
        if self.global_rank not in ranks:
            return None
        return Group(
            id=-1,
            name=f"rank {ranks[0]}",
            ranks=ranks,
            global_rank=self.global_rank,
            transport=LoopbackBackend(),
        )

    def get_parallel_mode(self) -> int:
        """One of ParallelMode."""
        is_sharded = self._topo.get_dim("sharding") > 1
        return ParallelMode.SHARDING_PARALLEL if is_sharded else ParallelMode.DATA_PARALLEL

    def topology(self) -> CommunicateTopology:
        return self._topo

    def get_global_rank(self) -> int:
        return self.global_rank

    def get_stage_id(self) -> int:
        """The pipeline stage: 0, for there is one."""
        return self.stage_id

    def get_rank_from_stage(self, stage_id: int, **kwargs: int) -> int:
        return self._topo.get_rank_from_stage(self.global_rank, pipe=stage_id, **kwargs)

    def get_check_parallel_group(self, sharding: bool = False) -> Group:
        """The ranks with the same place on the data (or sharding) axis, over which norms and
        overflows are joined.
        """
        axis = "sharding" if sharding else "data"
        if axis not in self._check_groups:
            others = [name for name in self._topo.get_hybrid_group_names() if name != axis]
            self._check_groups[axis] = self._group(others)
        return self._check_groups[axis]

    def get_dp_sep_parallel_group(self) -> Group:
        """The ranks that differ on the data and sep axes; the latter has one rank."""
        return self.groups["data"]

    def get_pp_mp_parallel_group(self) -> Group:
        """The ranks that differ on the pipe and model axes: this one, for they have one rank
        each.
        """
        return self.groups["model"]

    def create_fuse_group(self, fused_strategy_list: Sequence[str]) -> tuple[list[int], Group]:
        """The group over several axes, ``["data", "sharding"]`` for example; every rank must call
        it.
        """
        if not fused_strategy_list:
            raise BadArgument("create_fuse_group: the list of axes must not be empty")
        group = self._group(fused_strategy_list)
        return group.ranks, group

    def __repr__(self) -> str:
        sizes = {name: self._topo.get_dim(name) for name in self._topo.get_hybrid_group_names()}
        return f"HybridCommunicateGroup(rank {self.global_rank} of {self.nranks}, {sizes})"


def _add_questions(word: str, axis: str) -> None:
    """Give HybridCommunicateGroup the four questions that Paddle has for each axis."""

    def rank(self: HybridCommunicateGroup) -> int:
        return int(getattr(self._topo.get_coord(self.global_rank), axis))

    def world_size(self: HybridCommunicateGroup) -> int:
        return self._topo.get_dim(axis)

    def group(self: HybridCommunicateGroup) -> Group:
        return self.groups[axis]

    def group_src_rank(self: HybridCommunicateGroup) -> int:
        return self.groups[axis].ranks[0]

    for question, meaning in (
        (rank, f"This process's place on the {axis} axis."),
        (world_size, f"How many ranks lie along the {axis} axis."),
        (group, f"The ranks that differ from this one on the {axis} axis."),
        (group_src_rank, f"The first of them, as a global rank; on the {axis} axis."),
    ):
        question.__name__ = f"get_{word}_parallel_{question.__name__}"
        question.__doc__ = meaning
        setattr(HybridCommunicateGroup, question.__name__, question)


for _word, _axis in (("data", "data"), ("model", "model"), ("pipe", "pipe"),
    ("sharding", "sharding"), ("sep", "sep"), ("context", "context")):  # fmt: skip
    _add_questions(_word, _axis)
