"""Mixed precision by hand: mark, rewrite, and cast the values in a scope."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from argosy.foundation import dtypes
from argosy.foundation.places import to_place
from argosy.static.amp._rewrite import GUARD, rewrite
from argosy.static.amp.fp16_lists import AutoMixedPrecisionLists, check_amp_dtype
from argosy.static.ir.program import Program
from argosy.static.ir.scope import Scope, global_scope
from argosy.static.record.recorder import name_scope


def fp16_guard() -> Any:
    """Mark the operators recorded inside: with ``use_fp16_guard``, only these compute in low
    precision.
    """
    return name_scope(GUARD)


def cast_model_to_fp16(
    program: Program,
    amp_lists: AutoMixedPrecisionLists | None = None,
    use_fp16_guard: bool = True,
    dest_type: Any = "float16",
    level: str = "O2",
    use_promote: bool = False,
) -> set[str]:
    """Rewrite the forward part of ``program``; returns the names of the parameters that are
    low-precision now.

    Their values in a scope are cast by ``cast_parameters_to_fp16``.
    """
    name = check_amp_dtype(dest_type)
    lists = AutoMixedPrecisionLists(dtype=name) if amp_lists is None else amp_lists
    return rewrite(program, lists, dtypes.to_torch(name), level, use_fp16_guard, use_promote)


def cast_parameters_to_fp16(
    place: Any,
    program: Program,
    scope: Scope | None = None,
    to_fp16_var_names: Iterable[str] | None = None,
    dest_type: Any = "float16",
    rewrite_master_weight: bool = False,
    master_weights: dict[str, Any] | None = None,
) -> None:
    """Cast the values of the named parameters in a scope; with ``rewrite_master_weight`` their
    masters become these values.
    """
    held = global_scope() if scope is None else scope
    device = to_place(place).device
    target = dtypes.to_torch(check_amp_dtype(dest_type))
    names = set(to_fp16_var_names or ())
    for parameter in program.all_parameters():
        if parameter.name not in names:
            continue
        variable = held.holding(parameter.name)
        assert variable.tensor is not None  # Scope.holding saw to it
        low = variable.tensor.detach().to(device, target)
        variable.store(low, copies=False)
        master = (master_weights or {}).get(parameter.name)
        if rewrite_master_weight and master is not None:
            held.holding(master.name).store(low.to(torch.float32), copies=False)
