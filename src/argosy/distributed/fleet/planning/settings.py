"""The stages of a plan and what each is to do: one frozen class per stage.

Fields are in the order in which ``print_plan`` shows them, that of the strategy's configs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

__all__ = [
    "AdaptiveLocalSgd", "Amp", "DataParallel", "Dgc", "DiLoCo", "FactoredAllreduce",
    "Fp16Allreduce", "GradientMerge", "GradientScale", "Int8Allreduce", "Lamb", "Lars", "LocalSgd",
    "PowerSgd", "ProgramDataParallel", "Recompute", "Sharding", "Stage", "SyncBatchNorm",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A step of the plan, under the name of its switch."""

    name: ClassVar[str]

    def __str__(self) -> str:
        shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self))
        return f"{self.name} ({shown})" if shown else self.name


@dataclass(frozen=True, kw_only=True)
class SyncBatchNorm(Stage):
    name = "sync_batch_norm"


@dataclass(frozen=True, kw_only=True)
class Amp(Stage):
    name = "amp"
    level: str
    dtype: str
    init_loss_scaling: float
    incr_every_n_steps: int
    decr_every_n_nan_or_inf: int
    incr_ratio: float
    decr_ratio: float
    use_dynamic_loss_scaling: bool
    custom_white_list: Sequence[str]
    custom_black_list: Sequence[str]
    custom_black_varnames: Sequence[str]
    use_pure_fp16: bool
    use_fp16_guard: bool
    use_optimizer_fp16: bool
    use_pure_bf16: bool

    @property
    def keeps_masters(self) -> bool:
        """Whether the optimizer keeps float32 copies of parameters that are cast."""
        return self.level == "O2" and not self.use_optimizer_fp16

    @property
    def scales_losses(self) -> bool:
        """bfloat16 has the range of float32, so its losses are not scaled."""
        return self.dtype == "float16"


@dataclass(frozen=True, kw_only=True)
class Recompute(Stage):
    name = "recompute"
    checkpoints: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DataParallel(Stage):
    name = "data_parallel"
    bucket_MB: int
    last_bucket_MB: float
    find_unused_parameters: bool
    averages_gradients: bool


@dataclass(frozen=True, kw_only=True)
class ProgramDataParallel(Stage):
    """The same in a program, which knows its gradients: they travel together."""

    name = "data_parallel"
    averages_gradients: bool


@dataclass(frozen=True, kw_only=True)
class Fp16Allreduce(Stage):
    name = "fp16_allreduce"


@dataclass(frozen=True, kw_only=True)
class FactoredAllreduce(Stage):
    name = "factored_allreduce"


@dataclass(frozen=True, kw_only=True)
class Int8Allreduce(Stage):
    name = "int8_allreduce"
    block_size: int


@dataclass(frozen=True, kw_only=True)
class Dgc(Stage):
    name = "dgc"
    rampup_begin_step: int
    rampup_step: int
    sparsity: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class PowerSgd(Stage):
    name = "powersgd"
    rank: int
    begin_step: int


@dataclass(frozen=True, kw_only=True)
class GradientMerge(Stage):
    name = "gradient_merge"
    k_steps: int
    avg: bool


@dataclass(frozen=True, kw_only=True)
class GradientScale(Stage):
    name = "gradient_scale"
    scale_strategy: str


@dataclass(frozen=True, kw_only=True)
class Lars(Stage):
    name = "lars"
    lars_coeff: float
    lars_weight_decay: float
    epsilon: float
    exclude_from_weight_decay: Sequence[str]

    def excludes(self, parameter: str) -> bool:
        """Whether a parameter of this name has no decay: parts of names, anywhere in them."""
        return any(part in parameter for part in self.exclude_from_weight_decay)


@dataclass(frozen=True, kw_only=True)
class Lamb(Stage):
    name = "lamb"
    lamb_weight_decay: float
    exclude_from_weight_decay: Sequence[str]

    def excludes(self, parameter: str) -> bool:
        """Whether a parameter of this name has no decay: ends of names."""
        return parameter.endswith(tuple(self.exclude_from_weight_decay))


@dataclass(frozen=True, kw_only=True)
class Sharding(Stage):
    """``degree`` workers split the state; ``replicas`` of them have each part."""

    name = "sharding"
    stage: int
    degree: int
    replicas: int


@dataclass(frozen=True, kw_only=True)
class LocalSgd(Stage):
    name = "localsgd"
    k_steps: int
    begin_step: int


@dataclass(frozen=True, kw_only=True)
class AdaptiveLocalSgd(Stage):
    name = "adaptive_localsgd"
    init_k_steps: int
    begin_step: int


@dataclass(frozen=True, kw_only=True)
class DiLoCo(Stage):
    name = "diloco"
    k_steps: int
    num_fragments: int
    overlap_steps: int
    outer_lr: float
    outer_momentum: float
    mixing: float
    int8: bool
