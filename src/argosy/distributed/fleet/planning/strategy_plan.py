"""From a strategy to a plan: which stages training goes through, with which settings, and what of
the strategy does nothing and why.

Everything here is a function of plain values. Stages are in the order in which a step meets them:
what changes the model, what happens to gradients, what updates parameters, what happens to
parameters after the update.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from argosy.distributed.fleet.base.distributed_strategy import DistributedStrategy
from argosy.distributed.fleet.planning.hints import idle_settings
from argosy.distributed.fleet.planning.links import Choice, Link, choose_form
from argosy.distributed.fleet.planning.settings import (
    AdaptiveLocalSgd,
    Amp,
    DataParallel,
    Dgc,
    DiLoCo,
    FactoredAllreduce,
    Fp16Allreduce,
    GradientMerge,
    GradientScale,
    Int8Allreduce,
    Lamb,
    Lars,
    LocalSgd,
    PowerSgd,
    ProgramDataParallel,
    Recompute,
    Sharding,
    Stage,
    SyncBatchNorm,
)
from argosy.foundation.errors import NotSupported, UsageError

__all__ = ["SWITCHES", "Facts", "Note", "Plan", "make_plan"]

S = TypeVar("S", bound=Stage)

DYGRAPH, STATIC, TORCH = "dygraph", "static", "torch"
_SCALES = ("avg", "sum", "customized")
_LOSS_SCALING = {
    "init_loss_scaling", "incr_every_n_steps", "decr_every_n_nan_or_inf", "incr_ratio",
    "decr_ratio", "use_dynamic_loss_scaling",
}  # fmt: skip
# switches of Paddle that ask for something that is not built; saying nothing would train another
# model than the one asked for
_NOT_BUILT = {
    "pipeline": "pipeline parallelism",
    "tensor_parallel": "tensor parallelism",
    "asp": "2:4 sparsity",
    "qat": "quantisation-aware training",
    "semi_auto": "automatic parallelisation",
    "auto_search": "automatic parallelisation",
    "is_fl_ps_mode": "a federated parameter server",
    "with_coordinator": "a federated parameter server",
    "heter_ccl_mode": "a mix of devices",
}
_META_OPTIMIZERS = {
    "amp": "AMPOptimizer",
    "recompute": "RecomputeOptimizer",
    "gradient_merge": "GradientMergeOptimizer",
    "lars": "LarsOptimizer",
    "lamb": "LambOptimizer",
    "localsgd": "LocalSGDOptimizer",
    "adaptive_localsgd": "AdaptiveLocalSGDOptimizer",
    "dgc": "DGCOptimizer",
    "fp16_allreduce": "FP16AllReduceOptimizer",
    "sharding": "ShardingOptimizer",
    "data_parallel": "RawProgramOptimizer",
}

# of ours alone; they are for models, not for programs
_OWN = ("factored_allreduce", "int8_allreduce", "powersgd", "diloco")
# forms in which hosts send each other the gradients of a step, two of them ours
_FORMS = ("fp16_allreduce", "int8_allreduce", "factored_allreduce")
# these average something else than gradients, so the switches about gradients have nothing to do
_LOCAL = ("localsgd", "adaptive_localsgd", "diloco")

# what asks for a stage or for something that is not built
SWITCHES = frozenset({*_META_OPTIMIZERS, *_OWN, *_NOT_BUILT, "auto"} - {"data_parallel"})


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a plan depends on beside the strategy.

    ``optimizer`` has the names of the optimizer's class and of its bases, as Paddle calls them; it
    is empty where there is none yet. ``is_one_host`` is True where all workers are known to share
    memory; ``link`` is what was measured between hosts for ``auto``; ``why_no_factors`` says why
    their gradients cannot travel as factors, if they cannot.
    """

    num_workers: int = 1
    mode: str = DYGRAPH
    optimizer: tuple[str, ...] = ()
    is_collective: bool = True
    device: str = "cpu"
    is_one_host: bool = False
    link: Link | None = None
    gradient_bytes: int = 0
    why_no_factors: str = ""

    @property
    def optimizer_name(self) -> str:
        return self.optimizer[0] if self.optimizer else "no optimizer"


@dataclass(frozen=True)
class Note:
    """A switch that was set and does nothing, and why. ``is_refused``: it could not be followed;
    otherwise there was nothing for it to do.
    """

    switch: str
    reason: str
    is_refused: bool = True


@dataclass(frozen=True)
class Plan:
    """What will be done, and what was asked for and will not be."""

    facts: Facts
    stages: tuple[Stage, ...]
    notes: tuple[Note, ...]
    choices: tuple[Choice, ...] = ()

    def __contains__(self, name: str) -> bool:
        return any(stage.name == name for stage in self.stages)

    def __iter__(self) -> Iterator[Stage]:
        return iter(self.stages)

    def get(self, kind: type[S]) -> S | None:
        """The settings of a stage; None if it is not part of the plan."""
        return next((stage for stage in self.stages if isinstance(stage, kind)), None)

    def __getitem__(self, kind: type[S]) -> S:
        """The settings of a stage; KeyError if it is not part of the plan."""
        found = self.get(kind)
        if found is None:
            raise KeyError(kind.name)
        return found

    def meta_optimizers(self) -> list[str]:
        """The stages under the names of Paddle's meta optimizers, outermost first. A program of one
        worker has that of data parallelism too.
        """
        names = [s.name for s in reversed(self.stages) if s.name in _META_OPTIMIZERS]
        facts = self.facts
        if facts.mode == STATIC and facts.is_collective and facts.num_workers < 2:
            names.append("data_parallel")
        return [_META_OPTIMIZERS[name] for name in names]

    def left_out(self) -> list[str]:
        """The switches that were on and have no part in the plan; hints about tuning are not among
        them.
        """
        switches = {*_META_OPTIMIZERS, *_OWN, "auto", "sync_batch_norm"}
        return [note.switch for note in self.notes if note.switch in switches]

    def describe(self) -> str:
        """The plan as text for people."""
        workers = f"{self.facts.num_workers} worker{'s' if self.facts.num_workers != 1 else ''}"
        lines = [f"Plan for {workers}, {self.facts.mode}, {self.facts.optimizer_name}:"]
        for number, stage in enumerate(self.stages, 1):
            lines.append(f"  {number}. {stage}")
        if not self.stages:
            lines.append("  nothing beside the optimizer itself")
        for choice in self.choices:
            lines.append(f"  auto chose {choice.switch or 'plain gradients'}: {choice.reason}")
        for note in self.notes:
            lines.append(
                f"  {'refused' if note.is_refused else 'ignored'}: {note.switch}: {note.reason}"
            )
        return "\n".join(lines)


class _Draft:
    """The strategy's switches while they are being decided on."""

    def __init__(self, strategy: DistributedStrategy, facts: Facts) -> None:
        self.strategy = strategy
        self.facts = facts
        self.notes: list[Note] = []
        self.choices: list[Choice] = []
        names = (*_META_OPTIMIZERS, *_OWN)
        self.on = {name for name in names if getattr(strategy, name, False) is True}
        if strategy.hybrid_configs["sharding_degree"] > 1:
            self.on.add("sharding")

    def drop(self, switch: str, reason: str, is_refused: bool = True) -> None:
        if switch in self.on:
            self.on.discard(switch)
            self.notes.append(Note(switch, reason, is_refused))

    def has_optimizer(self, *names: str) -> bool:
        """Whether the optimizer is one of ``names``; before there is one, any may come."""
        return not self.facts.optimizer or bool(set(names) & set(self.facts.optimizer))


def make_plan(strategy: DistributedStrategy, facts: Facts) -> Plan:
    """Decide what ``strategy`` means for a job; NotSupported for switches that ask for what is not
    built.
    """
    for switch, what in _NOT_BUILT.items():
        if getattr(strategy, switch) is True:
            raise NotSupported(f"DistributedStrategy.{switch}: {what} is not supported")
    draft = _Draft(strategy, facts)
    _decide_auto(draft)
    _check_conditions(draft)
    _check_exclusions(draft)
    stages = [stage for build in _STAGES for stage in build(draft)]
    is_static = facts.mode == STATIC
    on = {stage.name for stage in stages}
    draft.notes += [
        Note(name, reason, is_refused=False)
        for name, reason in idle_settings(strategy, on, is_static)
    ]
    return Plan(facts, tuple(stages), tuple(draft.notes), tuple(draft.choices))


def _decide_auto(draft: _Draft) -> None:
    """``auto`` turns on what Paddle's does: amp, the adaptive form of the optimizer, and sharding
    if there are several workers. Between hosts it chooses the form of gradients too.
    """
    if not draft.strategy.auto:
        return
    if not draft.strategy.is_strict_auto():
        draft.notes.append(
            Note("auto", "other switches were set, so they decide", is_refused=False)
        )
        return
    draft.on.add("amp")
    if draft.facts.num_workers > 1:
        draft.on.add("sharding")
    if "Momentum" in draft.facts.optimizer:
        draft.on.add("lars")
    elif "Adam" in draft.facts.optimizer:
        draft.on.add("lamb")
    link, size = draft.facts.link, draft.facts.gradient_bytes
    if link is not None and size:
        choice = choose_form(link.bytes_per_s, link.compute_s(size), size)
        draft.choices.append(choice)
        draft.on |= {choice.switch} - {""}


def _check_conditions(draft: _Draft) -> None:
    """Drop the switches whose own conditions are not met."""
    facts, strategy, name = draft.facts, draft.strategy, draft.facts.optimizer_name
    if not draft.has_optimizer("Momentum"):
        for switch in ("lars", "dgc"):
            draft.drop(switch, f"it needs Momentum, but the optimizer is {name}")
    if not draft.has_optimizer("Adam"):
        draft.drop("lamb", f"it needs Adam, but the optimizer is {name}")
    if not draft.has_optimizer("SGD", "Momentum"):
        for switch in ("localsgd", "adaptive_localsgd"):
            draft.drop(switch, f"it needs SGD or Momentum, but the optimizer is {name}")
    if facts.num_workers < 2:
        for switch in ("localsgd", "adaptive_localsgd", "dgc", "sharding"):
            draft.drop(switch, "there is one worker", is_refused=False)
        if facts.mode != STATIC:  # programs round gradients all the same
            draft.drop("fp16_allreduce", "there is one worker", is_refused=False)
        for switch in _OWN:
            draft.drop(switch, "there is one worker", is_refused=False)
    if facts.mode == STATIC:
        for switch in _OWN:
            draft.drop(switch, "it is for models; programs exchange gradients as they are")
    if facts.is_one_host:
        reason = "all workers are on one host, where gradients do not travel"
        for switch in ("int8_allreduce", "factored_allreduce"):
            draft.drop(switch, reason, is_refused=False)
    elif facts.why_no_factors:
        draft.drop("factored_allreduce", facts.why_no_factors)
    if strategy.gradient_merge_configs["k_steps"] < 2:
        draft.drop("gradient_merge", "gradient_merge_configs['k_steps'] is 1", is_refused=False)
    if not strategy.recompute_configs["checkpoints"]:
        what = "sublayers" if facts.mode != STATIC else "tensors"
        draft.drop("recompute", f"recompute_configs['checkpoints'] names no {what}")


def _check_exclusions(draft: _Draft) -> None:
    """Drop the weaker of two switches that exclude each other; which is the weaker is Paddle's
    choice.
    """
    if (
        draft.facts.mode != STATIC
        and "sharding" in draft.on
        and draft.strategy.sharding_configs["stage"] > 1
    ):
        for switch in _FORMS:
            draft.drop(
                switch,
                "sharding from stage 2 on sends gradients to their owners in a form of its own",
            )
    for stronger, weaker, reason in _EXCLUSIONS:
        if stronger in draft.on and weaker in draft.on:
            draft.drop(weaker, f"{stronger} is on, and {reason}")


_EXCLUSIONS = (
    ("amp", "dgc", "residuals of scaled gradients cannot be kept over steps"),
    ("dgc", "lars", "both replace the update of Momentum"),
    ("dgc", "localsgd", "it needs gradients of every step from every rank"),
    ("dgc", "adaptive_localsgd", "it needs gradients of every step from every rank"),
    ("dgc", "fp16_allreduce", "it sends gradients in a form of its own"),
    *(
        (local, switch, "ranks have different parameters between averages")
        for local in ("localsgd", "adaptive_localsgd")
        for switch in _OWN
    ),
    *(("dgc", switch, "it sends gradients in a form of its own") for switch in _OWN),
    ("amp", "powersgd", "residuals of scaled gradients cannot be kept over steps"),
    *(
        ("diloco", switch, "parameters are averaged instead of gradients")
        for switch in ("powersgd", *_FORMS)
    ),
    ("diloco", "sharding", "ranks have different parameters between averages"),
    *(("powersgd", switch, "it sends gradients in a form of its own") for switch in _FORMS),
    ("powersgd", "gradient_merge", "it keeps what it has not sent over steps itself"),
    ("powersgd", "sharding", "each rank needs all gradients it has not sent"),
    ("int8_allreduce", "fp16_allreduce", "gradients have one form on their way"),
    ("int8_allreduce", "factored_allreduce", "gradients have one form on their way"),
    ("fp16_allreduce", "factored_allreduce", "gradients have one form on their way"),
    ("amp", "factored_allreduce", "it casts weights, whose gradients come whole"),
    ("gradient_merge", "factored_allreduce", "gradients that were added up are no products"),
    ("dgc", "gradient_merge", "it keeps unsent gradients over steps itself"),
    ("dgc", "sharding", "each rank needs all gradients it has not sent"),
    ("localsgd", "adaptive_localsgd", "only one can decide when to average"),
    ("localsgd", "sharding", "ranks have different parameters between averages"),
    ("adaptive_localsgd", "sharding", "ranks have different parameters between averages"),
)


# -- stages, in the order of a step
# ---------------------------------------------------------------------------------


def _sync_batch_norm(draft: _Draft) -> Iterator[Stage]:
    if draft.strategy.sync_batch_norm:
        if draft.facts.num_workers > 1:
            yield SyncBatchNorm()
        else:
            draft.notes.append(Note("sync_batch_norm", "there is one worker", is_refused=False))


def _amp(draft: _Draft) -> Iterator[Stage]:
    if "amp" in draft.on:
        settings = draft.strategy.amp_configs
        if settings["use_pure_fp16"] and settings["use_pure_bf16"]:
            raise UsageError("amp_configs: use_pure_fp16 and use_pure_bf16 exclude each other")
        is_pure = settings["use_pure_fp16"] or settings["use_pure_bf16"]
        if is_pure and draft.facts.mode == TORCH:
            is_pure = False
            reason = "torch.autocast computes with float32 parameters, so level O2 is O1"
            draft.notes.append(Note("amp_configs", reason, is_refused=False))
        # processors have no units for float16
        is_half = draft.facts.device != "cpu" and not settings["use_pure_bf16"]
        dtype = "float16" if is_half else "bfloat16"
        given = set(draft.strategy.strategy.amp_configs.stored()) & _LOSS_SCALING
        if given and not is_half:
            reason = (
                "losses are not scaled in bfloat16, which has the range of float32: "
                f"{', '.join(sorted(given))}"
            )
            draft.notes.append(Note("amp_configs", reason, is_refused=False))
        yield Amp(level="O2" if is_pure else "O1", dtype=dtype, **settings)


def _recompute(draft: _Draft) -> Iterator[Stage]:
    if "recompute" in draft.on:
        settings = draft.strategy.recompute_configs
        for key in ("enable_offload", "enable_tuning", "refined_ops_patterns"):
            if settings[key]:
                raise NotSupported(f"recompute_configs: {key} is not supported")
        yield Recompute(checkpoints=tuple(settings["checkpoints"]))


def _data_parallel(draft: _Draft) -> Iterator[Stage]:
    """Ranks start from equal parameters and average gradients in backward, unless another stage
    exchanges something else.
    """
    strategy = draft.strategy
    if draft.facts.num_workers < 2:
        return
    averages = not draft.on & {*_LOCAL, "dgc", "powersgd"}
    if draft.facts.mode == STATIC:
        yield ProgramDataParallel(averages_gradients=averages)
        return
    is_fused = strategy.fuse_all_reduce_ops
    yield DataParallel(
        bucket_MB=strategy.fuse_grad_size_in_MB if is_fused else 0,
        last_bucket_MB=strategy.last_comm_group_size_MB if is_fused else 0,
        find_unused_parameters=strategy.find_unused_parameters,
        averages_gradients=averages,
    )


def _dgc(draft: _Draft) -> Iterator[Stage]:
    if "dgc" in draft.on:
        settings = draft.strategy.dgc_configs
        yield Dgc(**{**settings, "sparsity": tuple(settings["sparsity"]) or (0.999,)})


def _gradient_scale(draft: _Draft) -> Iterator[Stage]:
    how = draft.strategy.gradient_scale_configs["scale_strategy"]
    if how not in _SCALES:
        raise UsageError(
            f"gradient_scale_configs: scale_strategy must be one of {', '.join(_SCALES)}, but is "
            f"{how!r}"
        )
    if how == "avg":
        return
    if draft.facts.num_workers < 2:
        draft.notes.append(Note("gradient_scale_configs", "there is one worker", is_refused=False))
    elif draft.on & set(_LOCAL):
        draft.notes.append(
            Note("gradient_scale_configs", "parameters are averaged instead of gradients")
        )
    else:
        yield GradientScale(scale_strategy=how)


def _sharding(draft: _Draft) -> Iterator[Stage]:
    workers, hybrid = draft.facts.num_workers, draft.strategy.hybrid_configs["sharding_degree"]
    if "sharding" not in draft.on:
        return
    settings = draft.strategy.sharding_configs
    for key in ("mp_degree", "pp_degree"):
        if settings[key] > 1:
            raise NotSupported(f"sharding_configs: {key}={settings[key]} is not supported")
    if settings["gradient_merge_acc_step"] > 1:
        raise NotSupported(
            "sharding_configs: gradient_merge_acc_step is not supported; use gradient_merge"
        )
    if settings["stage"] not in (1, 2, 3):
        raise UsageError(f"sharding_configs: stage must be 1, 2 or 3, but is {settings['stage']}")
    given = draft.strategy.strategy.sharding_configs.stored()
    degree = (
        settings["sharding_degree"]
        if "sharding_degree" in given
        else (hybrid if hybrid > 1 else workers)
    )
    if degree < 1 or workers % degree:
        raise UsageError(
            f"sharding_configs: sharding_degree {degree} does not divide the number of workers, "
            f"{workers}"
        )
    if given.get("dp_degree", 1) > 1 and degree * given["dp_degree"] != workers:
        raise UsageError(
            f"sharding_configs: sharding_degree {degree} times dp_degree {given['dp_degree']} is "
            f"not the number of workers, {workers}"
        )
    if settings["stage"] == 3 and degree != workers and draft.facts.mode != DYGRAPH:
        raise NotSupported(
            f"sharding_configs: stage 3 with a sharding_degree ({degree}) other than the number "
            "of workers"
        )
    if settings["optimize_offload"]:
        raise NotSupported("sharding_configs: optimize_offload is not supported")
    yield Sharding(stage=settings["stage"], degree=degree, replicas=workers // degree)


def _plain(kind: type[Stage]) -> Callable[[_Draft], Iterator[Stage]]:
    def build(draft: _Draft) -> Iterator[Stage]:
        if kind.name in draft.on:
            yield kind(**getattr(draft.strategy, f"{kind.name}_configs", {}))

    return build


_STAGES: tuple[Callable[[_Draft], Iterator[Stage]], ...] = (
    _sync_batch_norm,
    _amp,
    _recompute,
    _data_parallel,
    _plain(FactoredAllreduce),
    _plain(Fp16Allreduce),
    _plain(Int8Allreduce),
    _dgc,
    _plain(PowerSgd),
    _plain(GradientMerge),
    _gradient_scale,
    _plain(Lars),
    _plain(Lamb),
    _sharding,
    _plain(LocalSgd),
    _plain(AdaptiveLocalSgd),
    _plain(DiLoCo),
)
