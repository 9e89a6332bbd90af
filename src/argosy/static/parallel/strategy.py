"""BuildStrategy and ExecutionStrategy: how a compiled program is put together and run.

Few fields change what happens here; the others tune the graph passes and thread pools of Paddle's
own engine and are kept as given.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from argosy.foundation.errors import DtypeError, NotSupported, UsageError, nearest


class UnknownField(UsageError, AttributeError):
    """A strategy has no such field."""


class _Fields:
    """Fields with a default and a type; another name or type is refused when it is assigned."""

    _defaults: ClassVar[dict[str, Any]] = {}

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self) -> None:
        for name, value in self._defaults.items():
            object.__setattr__(
                self, name, value.copy() if isinstance(value, (list, set)) else value
            )

    def __setattr__(self, name: str, value: Any) -> None:
        kind = type(self).__name__
        if name not in self._defaults:
            raise UnknownField(f"{kind} has no field {name!r}.{nearest(name, self._defaults)}")
        object.__setattr__(self, name, self._converted(name, value))

    def _converted(self, name: str, value: Any) -> Any:
        default = self._defaults[name]
        wanted = type(default)
        # None leaves it to the engine
        if default is None and (value is None or isinstance(value, bool)):
            return value
        if wanted is bool and isinstance(value, (bool, int)):
            return bool(value)
        if wanted is int and isinstance(value, int) and not isinstance(value, bool):
            return value
        if wanted in (list, set) and isinstance(value, (list, tuple, set)):
            return wanted(value)
        if isinstance(value, wanted) and wanted not in (int, bool):
            return value
        shown = "bool" if default is None else wanted.__name__
        raise DtypeError(f"{type(self).__name__}.{name} must be {shown}, but received {value!r}")

    def __repr__(self) -> str:
        changed = {k: v for k in self._defaults if (v := getattr(self, k)) != self._defaults[k]}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in changed.items())})"


class ReduceStrategy(enum.IntEnum):
    """Who updates a parameter: every place (AllReduce), or one, which then hands it to the others
    (Reduce).
    """

    AllReduce = 0
    Reduce = 1
    _NoReduce = 2


class GradientScaleStrategy(enum.IntEnum):
    """The gradient of the loss on a place: 1 / number of places, 1, or what the script feeds as
    ``<loss>@GRAD``.
    """

    CoeffNumDevice = 0
    One = 1
    Customized = 2
    _Undefined = 3


class BuildStrategy(_Fields):
    """How a program is made ready to run on several places.

    ``reduce_strategy``, ``gradient_scale_strategy``, ``sync_batch_norm``, ``num_trainers`` and
    ``trainer_id`` change what is computed where; ``enable_auto_fusion`` and ``build_cinn_pass``
    compile the program. The rest only tunes Paddle's engine.

    Example:
        >>> import paddle
        >>> strategy = paddle.static.BuildStrategy()
        >>> strategy.gradient_scale_strategy = strategy.GradientScaleStrategy.One
        >>> strategy.fuse_all_optimizer_ops = True
        >>> strategy
        BuildStrategy(fuse_all_optimizer_ops=True,
        gradient_scale_strategy=<GradientScaleStrategy.One: 1>)
    """

    ReduceStrategy = ReduceStrategy
    GradientScaleStrategy = GradientScaleStrategy

    _defaults: ClassVar[dict[str, Any]] = {
        "allow_cuda_graph_capture": False,
        "async_mode": False,
        "bkcl_comm_num": 1,
        "build_cinn_pass": False,
        "cache_runtime_context": False,
        "debug_graphviz_path": "",
        "enable_addto": False,
        "enable_auto_fusion": False,
        "enable_backward_optimizer_op_deps": True,
        "enable_inplace": True,
        "enable_sequential_execution": False,
        "fix_op_run_order": False,
        "fuse_adamw": False,
        "fuse_all_optimizer_ops": False,
        "fuse_all_reduce_ops": True,
        "fuse_bn_act_ops": False,
        "fuse_bn_add_act_ops": True,
        "fuse_broadcast_ops": True,
        "fuse_elewise_add_act_ops": False,
        "fuse_gemm_epilogue": False,
        "fuse_relu_depthwise_conv": False,
        "fused_attention": False,
        "fused_feedforward": False,
        "gradient_scale_strategy": GradientScaleStrategy.CoeffNumDevice,
        "hierarchical_allreduce_inter_nranks": 0,
        "is_distribution": False,
        "memory_optimize": None,
        "mkldnn_enabled_op_types": set(),
        "nccl_comm_num": 1,
        "num_trainers": 1,
        "reduce_strategy": ReduceStrategy.AllReduce,
        "remove_unnecessary_lock": True,
        "sequential_run": False,
        "sync_batch_norm": False,
        "trainer_id": 0,
        "trainers_endpoints": [],
        "use_hierarchical_allreduce": False,
    }


class ExecutionStrategy(_Fields):
    """How a program is run: ``num_iteration_per_drop_scope`` says after how many runs the memory
    kept for temporary values is given back.

    With ``_dry_run`` a program is prepared for its places and computes nothing. ``num_threads`` and
    the rest tune Paddle's engine.
    """

    _defaults: ClassVar[dict[str, Any]] = {
        "_dry_run": False,
        "allow_op_delay": False,
        "num_iteration_per_drop_scope": 100,
        "num_iteration_per_run": 1,
        "num_threads": 0,
        "use_cuda": True,
        "use_experimental_executor": True,
        "use_thread_barrier": False,
    }


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """What the strategies say at the moment of the first run."""

    num_trainers: int
    trainer_id: int
    scales_loss: bool
    feeds_loss_gradient: bool
    updates_once: bool
    syncs_batch_norm: bool
    compiles: bool
    is_dry: bool
    runs_per_drop: int
    runs_per_call: int

    @classmethod
    def of(
        cls, build: BuildStrategy, execution: ExecutionStrategy, has_one_party: bool = True
    ) -> RunSpec:
        """``has_one_party``: nobody else updates the variables of this process, so that there is
        nothing to keep in step.
        """
        scale = build.gradient_scale_strategy
        if build.async_mode and not has_one_party:
            raise NotSupported(
                "BuildStrategy.async_mode=True: only a program that trains through parameter "
                "servers is updated asynchronously; several places and trainers update together"
            )
        if (
            scale is GradientScaleStrategy._Undefined
            or build.reduce_strategy is ReduceStrategy._NoReduce
        ):
            raise NotSupported(
                f"BuildStrategy: {scale!r} with {build.reduce_strategy!r} is not supported"
            )
        for field, value in (("num_iteration_per_drop_scope",
            execution.num_iteration_per_drop_scope),
                             ("num_iteration_per_run",
                             execution.num_iteration_per_run)):  # fmt: skip
            if value < 1:
                raise UsageError(f"ExecutionStrategy.{field} must be at least 1, but is {value}")
        if not 0 <= build.trainer_id < max(build.num_trainers, 1):
            raise UsageError(
                f"BuildStrategy: trainer_id is {build.trainer_id}, but there are "
                f"num_trainers={build.num_trainers}"
            )
        return cls(
            num_trainers=max(build.num_trainers, 1),
            trainer_id=build.trainer_id,
            scales_loss=scale is GradientScaleStrategy.CoeffNumDevice,
            feeds_loss_gradient=scale is GradientScaleStrategy.Customized,
            updates_once=build.reduce_strategy is ReduceStrategy.Reduce,
            syncs_batch_norm=build.sync_batch_norm,
            compiles=build.enable_auto_fusion or build.build_cinn_pass,
            is_dry=execution._dry_run,
            runs_per_drop=execution.num_iteration_per_drop_scope,
            runs_per_call=execution.num_iteration_per_run,
        )
