"""The ``amp_configs`` of ``Model.prepare``, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from argosy.foundation.errors import BadArgument, UsageError
from argosy.nn import ClipGradByGlobalNorm, ClipGradByNorm

_LEVELS = ("O0", "O1", "O2")
_LISTS = ("custom_white_list", "custom_black_list", "custom_black_varnames")
_SCALING = (
    "init_loss_scaling",
    "incr_ratio",
    "decr_ratio",
    "incr_every_n_steps",
    "decr_every_n_nan_or_inf",
    "use_dynamic_loss_scaling",
)
_PROGRAMS_ONLY = ("use_fp16_guard", "custom_black_varnames")


@dataclass(frozen=True)
class Precision:
    """In which precision a model trains; ``lists`` and ``scaling`` are arguments of auto_cast and
    GradScaler, or of their relatives for programs.
    """

    level: str = "O0"
    lists: Mapping[str, Any] = field(default_factory=dict)
    scaling: Mapping[str, Any] = field(default_factory=dict)
    use_fp16_guard: bool | None = None

    @property
    def is_mixed(self) -> bool:
        return self.level != "O0"


def read_precision(configs: Any, optimizer: Any, is_static: bool) -> Precision:
    """What ``amp_configs``, a level or a dict of settings, says."""
    if not configs:
        return Precision()
    settings: dict[str, Any] = {"level": configs} if isinstance(configs, str) else dict(configs)
    level = settings.pop("level", "O1")
    if level not in _LEVELS:
        what = "The level of amp_configs" if isinstance(configs, str) else "amp_configs['level']"
        raise UsageError(
            f"Model.prepare: {what} should be 'O0', 'O1' or 'O2', but received {level!r}"
        )
    if level == "O0":
        return Precision()
    _check(settings, is_static)
    clip = getattr(optimizer, "clip", None)
    if level == "O2" and clip and not isinstance(clip, (ClipGradByGlobalNorm, ClipGradByNorm)):
        raise BadArgument(
            "Model.prepare: only ClipGradByNorm and ClipGradByGlobalNorm are supported in amp "
            f"training with level=O2, but the optimizer has a {type(clip).__name__}"
        )
    return Precision(
        level,
        {name: settings[name] for name in _LISTS if name in settings},
        {name: settings[name] for name in _SCALING if name in settings},
        settings.get("use_fp16_guard"),
    )


def _check(settings: dict[str, Any], is_static: bool) -> None:
    if "use_pure_fp16" in settings:
        raise UsageError(
            "Model.prepare: 'use_pure_fp16' is an invalid key of amp_configs; the level of mixed "
            "precision training only depends on 'O1' or 'O2'"
        )
    unknown = sorted(set(settings).difference(_LISTS, _SCALING, ("use_fp16_guard",)))
    if unknown:
        raise UsageError(
            "Model.prepare: except for 'level', the keys of amp_configs must be accepted by mixed "
            f"precision APIs, but {unknown} could not be recognized"
        )
    for name in _PROGRAMS_ONLY:
        if name in settings and not is_static:
            raise UsageError(
                f"Model.prepare: {name!r} of amp_configs is supported in static graph mode only"
            )
