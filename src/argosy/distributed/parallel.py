"""``paddle.distributed.parallel``: joining the job that the environment describes, and a replica of
the model per process whose gradients are averaged during backward.
"""

from __future__ import annotations

import contextlib
import operator
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from argosy.distributed import surroundings
from argosy.distributed.communication.group import is_initialized
from argosy.distributed.job import default_group, job, meet
from argosy.foundation import env
from argosy.foundation.errors import BadArgument, ConfigError, DtypeError, UsageError
from argosy.framework import in_dynamic_mode
from argosy.nn import Layer
from argosy.nn.layer.common import Embedding
from argosy.runtime.comm import hosts
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel import agreement
from argosy.runtime.parallel.anchor import map_tensors, tensors_in
from argosy.runtime.parallel.broadcast import broadcast_values
from argosy.runtime.parallel.exchange import AveragedGradients, GradientExchange
from argosy.runtime.parallel.module import DataParallelModule
from argosy.runtime.parallel.reducer import Reducer, ReducerOptions
from argosy.runtime.parallel.sharding.sharded_reducer import ShardedReducer
from argosy.tensor import concat
from argosy.tensor.engine import Parameter, Tensor, defaults, wrap
from argosy.utils import deprecated

__all__ = [
    "DataParallel", "ParallelEnv", "ParallelStrategy", "build_groups", "get_rank",
    "get_world_size", "init_parallel_env", "is_initialized",
    "sync_params_buffers",
]  # fmt: skip

_NEEDED = ("PADDLE_TRAINER_ID", "PADDLE_CURRENT_ENDPOINT", "PADDLE_TRAINERS_NUM")

# -- the job
# --------------------------------------------------------------------------------------------------


class ParallelEnv:
    """Reads the environment once, when it is made.

    Example:
        >>> import paddle.distributed as dist
        >>> dist.ParallelEnv().world_size
        1
    """

    def __init__(self) -> None:
        self._rank = env.rank()
        self._world_size = env.world_size()
        self._device_type = ""
        self._pg_timeout = env.integer("PADDLE_PG_TIMEOUT", 1800000)
        self._device_id = int(env.get("FLAGS_selected_gpus", "0").split(",")[0] or 0)
        self._trainer_endpoints = env.get("PADDLE_TRAINER_ENDPOINTS").split(",")
        self._current_endpoint = env.get("PADDLE_CURRENT_ENDPOINT")
        self._nrings = env.integer("FLAGS_nccl_nrings", 1)
        if not 0 < self._nrings < 9:
            raise BadArgument(
                f"FLAGS_nccl_nrings must be an integer from 1 to 8, but is {self._nrings}."
            )

    @property
    def rank(self) -> int:
        """This process's number, from PADDLE_TRAINER_ID; 0 without it."""
        return self._rank

    @property
    def world_size(self) -> int:
        """The number of processes, from PADDLE_TRAINERS_NUM; 1 without it."""
        return self._world_size

    @property
    def device_id(self) -> int:
        """The card this process uses, the first of FLAGS_selected_gpus; 0 without it."""
        return self._device_id

    @property
    def device_type(self) -> str:
        """The kind of a custom device; empty, for there is none."""
        return self._device_type

    @property
    def current_endpoint(self) -> str:
        """This process's ip:port, from PADDLE_CURRENT_ENDPOINT."""
        return self._current_endpoint

    @property
    def trainer_endpoints(self) -> list[str]:
        """All processes' ip:port in rank order, from PADDLE_TRAINER_ENDPOINTS; ``['']`` without
        it.
        """
        return self._trainer_endpoints

    @property
    def nrings(self) -> int:
        """How many NCCL rings to use, from FLAGS_nccl_nrings: 1 to 8."""
        return self._nrings

    @property
    def pg_timeout(self) -> int:
        """How long a collective may take, in milliseconds, from PADDLE_PG_TIMEOUT; half an hour
        without it.
        """
        return self._pg_timeout

    local_rank = rank
    nranks = world_size
    dev_id = device_id


def parallel_env() -> ParallelEnv:
    """The environment as it was at the last ``init_parallel_env`` or first use."""
    if job.parallel_env is None:
        job.parallel_env = ParallelEnv()
    known: ParallelEnv = job.parallel_env
    return known


_get_global_parallel_env = parallel_env  # scripts that train by hand ask for it by this name


def init_parallel_env(nccl_config: Any = None) -> Group | None:
    """Join the job that the environment describes and return its group of all ranks.

    With one process it warns and does nothing. A second call returns the same group. Every process
    of the job must call it. ``nccl_config`` only tunes.
    """
    settings = job.parallel_env = ParallelEnv()
    if settings.world_size < 2:
        warnings.warn(
            "Currently not a parallel execution environment, "
            "`paddle.distributed.init_parallel_env` will not do anything.",
            stacklevel=2,
        )
        return None
    if job.session is not None:
        if job.session.is_forked:
            raise UsageError(
                f"init_parallel_env: this process was forked from rank {job.session.rank}, "
                "which has joined the job, and cannot join in its place.\n"
                "  Start processes that are to be ranks with paddle.distributed.spawn or launch."
            )
        return job.world
    backend = env.get("PADDLE_DISTRI_BACKEND", "auto")
    # an unknown name fails before anybody waits
    hosts.choose(backend, ["here", "here"], is_cuda=False)
    meeting = surroundings.meeting()
    address = surroundings.own_address(meeting) if meeting is not None else ""
    _check_settings(settings)
    if backend != "gloo" and defaults.device.type == "cuda":
        defaults.set_place(f"gpu:{settings.device_id}")
    session = meet(
        _master(settings) if meeting is None else meeting,
        settings.rank,
        settings.world_size,
        backend,
        settings.pg_timeout / 1000,
        address or settings.current_endpoint.rpartition(":")[0] or "127.0.0.1",
    )
    return job.enter(session)


def _check_settings(settings: ParallelEnv) -> None:
    for name in env.missing(_NEEDED):
        raise ConfigError(
            f"paddle.distributed initialize error: {name} is not set, so init_parallel_env() "
            "cannot know this process's place in the job.\n"
            "  Start the script with `python -m paddle.distributed.launch train.py` or through "
            "dist.spawn(train, nprocs=2)."
        )
    if not 0 <= settings.rank < settings.world_size:
        raise BadArgument(
            f"init_parallel_env: PADDLE_TRAINER_ID is {settings.rank} and PADDLE_TRAINERS_NUM "
            f"{settings.world_size}: "
            "rank must be non-negative and world_size must be the maximum rank plus one."
        )


def _master(settings: ParallelEnv) -> str:
    """Where the ranks meet: MASTER_ADDR and MASTER_PORT, else PADDLE_MASTER, else the first
    trainer's endpoint.
    """
    address, port = env.get("MASTER_ADDR"), env.get("MASTER_PORT")
    endpoint = (
        f"{address}:{port}"
        if address and port
        else env.get("PADDLE_MASTER") or settings.trainer_endpoints[0]
    )
    if not endpoint:
        raise ConfigError(
            "init_parallel_env: none of MASTER_ADDR with MASTER_PORT, PADDLE_MASTER and "
            "PADDLE_TRAINER_ENDPOINTS is set, "
            "so the ranks do not know where to meet.\n  Start the script with `python -m "
            "paddle.distributed.launch train.py`."
        )
    return endpoint


def get_rank(group: Group | None = None) -> int:
    """This process's rank in ``group``, -1 if it is not in it; without a group its rank in the
    job.
    """
    return group.rank if group is not None else parallel_env().rank


def get_world_size(group: Group | None = None) -> int:
    """The number of ranks in ``group``, -1 if this process is not in it; without a group that of
    the job.
    """
    if group is None:
        group = job.world
    return group.world_size if group is not None else parallel_env().world_size


# -- data parallelism
# --------------------------------------------------------------------------------------------------


class ParallelStrategy:
    """The four facts that ``DataParallel(strategy=...)`` of older scripts passes around."""

    def __init__(self) -> None:
        self.nranks = 1
        self.local_rank = 0
        self.trainer_endpoints: list[str] = []
        self.current_endpoint = ""
        self.nrings = 1


def build_parallel_strategy() -> ParallelStrategy:
    """The strategy that the environment describes."""
    env, strategy = parallel_env(), ParallelStrategy()
    strategy.nranks, strategy.local_rank, strategy.nrings = env.nranks, env.local_rank, env.nrings
    strategy.trainer_endpoints, strategy.current_endpoint = (
        env.trainer_endpoints,
        env.current_endpoint,
    )
    return strategy


def build_groups(vars: list[Tensor], group_size: int) -> list[list[Any]]:
    """Join consecutive tensors of one dtype, up to ``group_size`` bytes, into flat ones: [flat
    tensor, the tensors, their shapes] each.
    """
    groups: list[list[Tensor]] = []
    held = 0
    for var in vars:
        num_bytes = var.raw.numel() * var.raw.itemsize
        if groups and held < group_size and groups[-1][0].dtype is var.dtype:
            groups[-1].append(var)
            held += num_bytes
        else:
            groups.append([var])
            held = num_bytes
    return _coalesce_tensors(dict(enumerate(groups)))


def _coalesce_tensors(var_groups: Mapping[Any, list[Tensor]]) -> list[list[Any]]:
    """Each group of tensors as one flat tensor: [flat tensor, the tensors, their shapes]."""
    return [
        [concat([v.detach().reshape([-1]) for v in group]), group, [v.shape for v in group]]
        for group in var_groups.values()
    ]


def _split_tensors(coalesced_grads_and_grad_vars: list[list[Any]]) -> None:
    """Give the tensors of each group the values that their flat tensor has now."""
    for flat, group, _ in coalesced_grads_and_grad_vars:
        sizes = [v.raw.numel() for v in group]
        for var, part in zip(group, flat.raw.detach().split(sizes), strict=True):
            var.raw.detach().copy_(part.view(var.raw.shape))


def _reshape_inplace(x: Tensor, shape: list[int]) -> None:
    """Let ``x`` have another shape."""
    x.reshape_(shape)


def sync_params_buffers(
    model: Layer,
    comm_group: Group | None = None,
    src_rank: int = 0,
    is_model_parallel: bool = False,
    fuse_params: bool = True,
    is_moe_sharding_parallel: bool = False,
) -> None:
    """Give every rank the parameters and persistable buffers of global rank ``src_rank``.

    Parameters with a true ``no_sync`` stay as they are (expert ones too, unless
    ``is_moe_sharding_parallel``), and with ``is_model_parallel`` also those that are
    ``is_distributed``. ``fuse_params`` only tunes.
    """
    chosen = []
    for name, value in model.state_dict().items():
        if not isinstance(value, Tensor):
            raise DtypeError(
                f"sync_params_buffers: {name!r} must be a Tensor, but is a {type(value).__name__}"
            )
        keeps = getattr(value, "no_sync", False) and not (
            is_moe_sharding_parallel and getattr(value, "expert", False)
        )
        if not keeps and not (is_model_parallel and value.is_distributed):
            chosen.append(value.raw)
    group = comm_group if comm_group is not None else default_group("sync_params_buffers")
    if chosen:
        src = group.rank_of(src_rank, "sync_params_buffers")
        group.run(broadcast_values, chosen, group.transport, src)


_raw = operator.attrgetter("raw")


class DataParallel(Layer):
    """Run a layer with data parallelism: ``backward()`` leaves the mean of the ranks' gradients in
    every parameter.

    ``comm_buffer_size`` and ``last_comm_buffer_size`` are megabytes of gradients that travel
    together. ``find_unused_parameters`` asks the engine at the start of backward which parameters
    the loss depends on, so that the others do not hold them up. ``group`` is the group to average
    over.

    ``exchange`` is another way in which gradients become common to the ranks.

    Given a ``torch.nn.Module`` it returns a torch module with the same options.

    Differs from Paddle: PyLayer works inside the model; parameters without a gradient are
    synchronised too, with a warning; a second backward through the same forward is averaged as
    well.
    """

    def __new__(cls, layers: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(layers, torch.nn.Module):
            return _wrap_torch(layers, *args, **kwargs)
        return super().__new__(cls)

    def __init__(
        self,
        layers: Layer,
        strategy: ParallelStrategy | None = None,
        comm_buffer_size: int = 25,
        last_comm_buffer_size: float = 1,
        find_unused_parameters: bool = False,
        group: Group | None = None,
        *,
        exchange: GradientExchange | None = None,
    ) -> None:
        super().__init__(layers.full_name() + "_data_parallel")
        if not in_dynamic_mode():
            raise BadArgument("It's not supported to construct DataParallel in static graph mode.")
        self._layers = layers
        self.find_unused_parameters = find_unused_parameters
        self.grad_need_sync = True
        self.group = group
        self.var_dtype = Tensor
        self._strategy = strategy if strategy is not None else build_parallel_strategy()
        self._reducer: Reducer | ShardedReducer | None = None
        self._exchange = exchange
        # the parameters that the reducer is on, and their engine tensors
        self._reduced: list[Parameter] = []
        self._hooked: list[torch.Tensor] = []
        if self._strategy.nranks < 2:
            _warn_single(stacklevel=3)
            return
        self.group = _check_group(group)
        for name, param in layers.named_parameters():
            if not param.is_contiguous():
                warnings.warn(
                    f"param [{name}] is not contiguous, please check it and make it contiguous.",
                    stacklevel=2,
                )
        state = [
            agreement.describe(name, value.raw)
            for name, value in layers.state_dict().items()
            if not getattr(value, "no_sync", False)
        ]
        self.group.run(agreement.check_same, state, self.group.transport)
        sync_params_buffers(layers, self.group, self.group.ranks[0], fuse_params=False)
        self.comm_buffer_size = int(comm_buffer_size * 1024 * 1024)
        self.last_comm_buffer_size = int(last_comm_buffer_size * 1024 * 1024)
        self.init_reducer()

    def init_reducer(self) -> None:
        """Hook the reducer onto the trainable parameters; again after parameters were added or
        frozen for good.
        """
        if self._reducer is not None:
            self._reducer.close()
        sparse_ids = {
            id(layer.weight)
            for layer in self.sublayers()
            if isinstance(layer, Embedding) and layer.is_sparse
        }
        named = self._to_reduce()
        for name, param in named:
            if not isinstance(param, Parameter):
                raise DtypeError(
                    f"The data type of '{name}' must be Parameter, but is {type(param).__name__}"
                )
        if not named:
            raise BadArgument(
                "This model does not have any parameters to train, and does not need to use "
                "DataParallel"
            )
        self._reduced = [p for _, p in named]
        self._hooked = [p.raw for p in self._reduced]
        exchange = self._exchange if self._exchange is not None else self._averages()
        self._reducer = exchange.make_reducer(
            self._hooked, [n for n, _ in named], [id(p) in sparse_ids for p in self._reduced]
        )

    def _to_reduce(self) -> list[tuple[str, Any]]:
        """The parameters whose gradients are averaged, with their names."""
        return [
            (name, p)
            for name, p in self._layers.named_parameters()
            if p.trainable and not getattr(p, "no_sync", False)
        ]

    def _averages(self) -> GradientExchange:
        assert self.group is not None
        options = ReducerOptions(
            bucket_bytes=self.comm_buffer_size,
            last_bucket_bytes=self.last_comm_buffer_size,
            find_unused_parameters=self.find_unused_parameters,
        )
        return AveragedGradients(self.group, options)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        outputs = self._layers(*inputs, **kwargs)
        if self._reducer is None or not torch.is_grad_enabled():
            return outputs
        # to() and astype() give parameters new engine tensors, which the hooks are not on. Asked
        # without a frame of Python: a microsecond for 50 parameters
        if not all(map(operator.is_, map(_raw, self._reduced), self._hooked)):
            self.init_reducer()
        reducer = self._reducer
        raws = [t.raw for t in self._find_tensor(outputs)]
        if self.grad_need_sync and reducer.needs_anchor(raws):
            outputs = map_tensors(outputs, Tensor, lambda t: wrap(reducer.anchored(t.raw)))
        reducer.prepare(raws, self.grad_need_sync)
        return outputs

    def _find_tensor(self, obj: Any) -> list[Tensor]:
        return tensors_in(obj, Tensor)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Only accumulate inside the block; the first forward and backward outside averages the
        total.
        """
        before, self.grad_need_sync = self.grad_need_sync, False
        try:
            yield
        finally:
            self.grad_need_sync = before

    @deprecated(since="2.0.0", reason="This method does not need to be called anymore.")
    def scale_loss(self, loss: Tensor) -> Tensor:
        """Return ``loss`` as it is; gradients are averaged without it."""
        return loss

    @deprecated(since="2.0.0", reason="This method does not need to be called anymore.")
    def apply_collective_grads(self) -> None:
        """Do nothing; gradients are averaged during backward."""

    @property
    def inner(self) -> Any:
        """The layer that it runs on every rank."""
        return self._layers

    def state_dict(  # type: ignore[override]  # Paddle's has fewer arguments here than on Layer
        self,
        destination: Any = None,
        include_sublayers: bool = True,
        structured_name_prefix: str = "",
    ) -> Any:
        """The state of the wrapped layer, under its own names."""
        return self._layers.state_dict(destination, include_sublayers, structured_name_prefix)

    def set_state_dict(self, state_dict: Any, use_structured_name: bool = True) -> Any:
        """Load the state of the wrapped layer."""
        return self._layers.set_state_dict(state_dict, use_structured_name)

    set_dict = set_state_dict
    load_dict = set_state_dict


def _check_group(group: Group | None) -> Group:
    if not is_initialized():
        raise BadArgument(
            "ParallelContext must be initialized before. You should use init_parallel_env() "
            "before constructing the DataParallel."
        )
    chosen = group if group is not None else default_group("DataParallel")
    if not isinstance(chosen, Group):
        raise BadArgument(
            "ProcessGroup must be an instance of Group in DataParallel, but is a "
            f"{type(chosen).__name__}."
        )
    return chosen


def _warn_single(stacklevel: int) -> None:
    warnings.warn(
        "The program will return to single-card operation: this job has one process. "
        "Start it with `python -m paddle.distributed.launch` or dist.spawn to use several.",
        stacklevel=stacklevel + 1,
    )


def _wrap_torch(
    module: torch.nn.Module,
    strategy: Any = None,
    comm_buffer_size: int = 25,
    last_comm_buffer_size: float = 1,
    find_unused_parameters: bool = False,
    group: Group | None = None,
) -> DataParallelModule:
    options = ReducerOptions(
        bucket_bytes=int(comm_buffer_size * 1024 * 1024),
        last_bucket_bytes=int(last_comm_buffer_size * 1024 * 1024),
        find_unused_parameters=find_unused_parameters,
    )
    nranks = strategy.nranks if strategy is not None else parallel_env().world_size
    if nranks < 2:
        _warn_single(stacklevel=3)
        return DataParallelModule(module, None, options)
    return DataParallelModule(module, _check_group(group), options)
