"""Programs and parameters in bfloat16."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from argosy.ops.array.initialization import fill_constant, uniform_random
from argosy.static.amp.bf16.amp_lists import AutoMixedPrecisionListsBF16
from argosy.static.amp.fp16_lists import AutoMixedPrecisionLists
from argosy.static.amp.fp16_utils import cast_model_to_fp16, cast_parameters_to_fp16, fp16_guard
from argosy.static.ir.program import Program
from argosy.static.ir.scope import Scope

__all__ = [
    "bf16_guard",
    "cast_model_to_bf16",
    "cast_parameters_to_bf16",
    "convert_float_to_uint16",
    "rewrite_program_bf16",
]

bf16_guard = fp16_guard


def rewrite_program_bf16(
    main_prog: Program, amp_lists: AutoMixedPrecisionLists | None = None
) -> None:
    """Insert casts for level O1."""
    lists = AutoMixedPrecisionListsBF16() if amp_lists is None else amp_lists
    cast_model_to_fp16(main_prog, lists, False, "bfloat16", "O1")


def cast_model_to_bf16(
    program: Program,
    startup_prog: Program | None = None,
    amp_lists: AutoMixedPrecisionLists | None = None,
    use_bf16_guard: bool = True,
) -> set[str]:
    """Rewrite the forward part for level O2; returns the names of the parameters that are bfloat16
    now and whose values ``cast_parameters_to_bf16`` must cast.

    Those that ``startup_prog`` fills with a constant or uniformly are bfloat16 from the start.
    """
    lists = AutoMixedPrecisionListsBF16() if amp_lists is None else amp_lists
    low = cast_model_to_fp16(program, lists, use_bf16_guard, "bfloat16", "O2")
    return low if startup_prog is None else low - _filled_low(startup_prog, low)


def _filled_low(startup_prog: Program, names: set[str]) -> set[str]:
    """Let the startup program fill variables in bfloat16; returns those that it could."""
    block, filled = startup_prog.global_block(), set()
    for operator in block.ops:
        made = names.intersection(operator.output_arg_names)
        if made and operator.op in (fill_constant, uniform_random):
            operator.kwargs = {**operator.kwargs, "dtype": torch.bfloat16}
            filled.update(made)
    startup_prog.changed()
    return filled


def cast_parameters_to_bf16(
    place: Any,
    program: Program,
    scope: Scope | None = None,
    to_bf16_var_names: Iterable[str] | None = None,
) -> None:
    """Cast the values of the named parameters in a scope."""
    cast_parameters_to_fp16(place, program, scope, to_bf16_var_names, "bfloat16")


def convert_float_to_uint16(in_list: Any) -> np.ndarray:
    """The bits of bfloat16 numbers."""
    values = torch.as_tensor(np.asarray(in_list, np.float32)).to(torch.bfloat16)
    return values.view(torch.int16).numpy().view(np.uint16)
