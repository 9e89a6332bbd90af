"""paddle.DataParallel: one replica of the model per process, gradients averaged during backward."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from argosy.distributed._default import default_group, is_initialized, parallel_env
from argosy.foundation.errors import BadArgument, DtypeError
from argosy.framework import in_dynamic_mode
from argosy.nn import Layer
from argosy.nn.layer.common import Embedding
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel import agreement
from argosy.runtime.parallel.anchor import map_tensors, tensors_in
from argosy.runtime.parallel.broadcast import broadcast_values
from argosy.runtime.parallel.compression import plain_bucket
from argosy.runtime.parallel.module import DataParallelModule
from argosy.runtime.parallel.reducer import Reducer, ReducerOptions
from argosy.runtime.parallel.sharded_reducer import ShardedReducer
from argosy.tensor import concat
from argosy.tensor.engine import Parameter, Tensor, wrap
from argosy.utils import deprecated

__all__ = ["DataParallel", "ParallelStrategy", "build_groups", "sync_params_buffers"]


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
    return [
        [concat([v.detach().reshape([-1]) for v in group]), group, [v.shape for v in group]]
        for group in groups
    ]


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


class DataParallel(Layer):
    """Run a layer with data parallelism: ``backward()`` leaves the mean of the ranks' gradients in
    every parameter.

    ``comm_buffer_size`` and ``last_comm_buffer_size`` are megabytes of gradients that travel
    together. ``find_unused_parameters`` asks the engine at the start of backward which parameters
    the loss depends on, so that the others do not hold them up. ``group`` is the group to average
    over.

    Given a ``torch.nn.Module`` it returns a torch module with the same options.

    Differs from Paddle: PyLayer works inside the model; parameters without a gradient are
    synchronised too, with a warning; a second backward through the same forward is averaged as
    well.
    """

    _make_bucket = staticmethod(plain_bucket)  # how gradients travel; fp16_allreduce has another

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
        # the engine tensors that the reducer knows
        self._hooked: list[tuple[Parameter, torch.Tensor]] = []
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
            id(layer._parameters["weight"])
            for layer in self.sublayers()
            if isinstance(layer, Embedding) and layer._sparse
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
        self._hooked = [(p, p.raw) for _, p in named]
        self._reducer = self._make_reducer(
            [p.raw for _, p in named],
            [n for n, _ in named],
            [id(p) in sparse_ids for _, p in named],
        )

    def _to_reduce(self) -> list[tuple[str, Any]]:
        """The parameters whose gradients are averaged, with their names."""
        return [
            (name, p)
            for name, p in self._layers.named_parameters()
            if p.trainable and not getattr(p, "no_sync", False)
        ]

    def _make_reducer(
        self, raws: list[torch.Tensor], names: list[str], sparse: list[bool]
    ) -> Reducer | ShardedReducer:
        assert self.group is not None
        options = ReducerOptions(
            bucket_bytes=self.comm_buffer_size,
            last_bucket_bytes=self.last_comm_buffer_size,
            find_unused_parameters=self.find_unused_parameters,
            make_bucket=self._make_bucket,
        )
        return Reducer(raws, names, sparse, self.group, options)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        outputs = self._layers(*inputs, **kwargs)
        if self._reducer is None or not torch.is_grad_enabled():
            return outputs
        if any(param.raw is not raw for param, raw in self._hooked):
            # to() and astype() give parameters new engine tensors, which the hooks are not on
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
