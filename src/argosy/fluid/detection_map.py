"""``fluid.metrics.DetectionMAP``: the metric that counts in the program itself."""

from __future__ import annotations

from typing import Any

import torch

from argosy import tensor as T
from argosy.foundation.errors import DtypeError, UsageError
from argosy.ops.array.initialization import fill_constant
from argosy.ops.losses import detection as ops
from argosy.static import Executor, Program, program_guard
from argosy.static.ir.variable import Variable
from argosy.static.record.levels import possible_levels
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import apply, unique_name


class DetectionMAP:
    """The mean average precision of detected boxes, of each run and of all since ``reset``.

    ``input`` has rows [class, score, x1, y1, x2, y2], one sequence per image, as the others are:
    classes ``gt_label``, boxes ``gt_box`` and which of them are difficult. ``background_label``
    changes nothing, as in Paddle: that class counts if boxes have it.
    """

    def __init__(
        self,
        input: Any,
        gt_label: Any,
        gt_box: Any,
        gt_difficult: Any = None,
        class_num: int | None = None,
        background_label: int = 0,
        overlap_threshold: float = 0.5,
        evaluate_difficult: bool = True,
        ap_version: str = "integral",
    ) -> None:
        if not isinstance(class_num, int):
            raise DtypeError(f"DetectionMAP: class_num must be an int, but received {class_num!r}")
        if ap_version not in ops.AP_TYPES:
            raise UsageError(f"DetectionMAP: ap_version {ap_version!r}; there are {ops.AP_TYPES}")
        given = [gt_label] if gt_difficult is None else [gt_label, gt_difficult]
        label = T.concat([*(T.cast(v, gt_box.dtype) for v in given), gt_box], axis=1)
        offsets = _images(input, "input"), _images(gt_label, "gt_label")
        settings = (class_num, float(overlap_threshold), evaluate_difficult, ap_version)
        arguments = (input, label, *offsets, *settings)
        self.cur_map = apply(ops.detection_map, *arguments)[0]
        name = unique_name.generate("map_eval")
        dtype = input.raw.dtype
        states = [
            _state(name, "accum_pos_count", [class_num, 1], torch.int32),
            _state(name, "accum_true_pos", [0, 2], dtype),
            _state(name, "accum_false_pos", [0, 2], dtype),
        ]
        self.has_state = _state(name, "has_state", [1], torch.int32)
        states.append(_state(name, "accum_starts", [class_num + 1], torch.int64))
        self.accum_map, *after = apply(ops.detection_map, *arguments, self.has_state, *states)
        for state, value in zip(states, after, strict=True):
            recorder.write(state, value)
        _set(self.has_state, 1)

    def get_map_var(self) -> tuple[Variable, Variable]:
        """The variables of the precision of a run and of that of all runs."""
        return self.cur_map, self.accum_map

    def reset(self, executor: Executor, reset_program: Program | None = None) -> None:
        """Start anew with the next run; ``reset_program`` gets the operator that does it."""
        program = Program() if reset_program is None else reset_program
        with program_guard(program):
            block = program.current_block()
            _set(block.create_var(self.has_state.name, [1], "int32", persistable=True), 0)
        executor.run(program)


def _images(variable: Any, argument: str) -> Variable:
    """The variable with the offsets of the images in the rows of ``variable``."""
    if not isinstance(variable, Variable):
        raise DtypeError(
            f"DetectionMAP: {argument} must be a Variable of a program, but received "
            f"{type(variable).__name__}"
        )
    levels = possible_levels(variable)
    if variable.lod_level > 1 or not levels:
        raise UsageError(
            f"DetectionMAP: {argument} must be sequences with a lod_level of 1, but "
            f"{variable.name!r} has {variable.lod_level}"
        )
    return levels[0]


def _state(name: str, suffix: str, shape: list[int], dtype: torch.dtype) -> Variable:
    full = f"{unique_name.generate(name)}_{suffix}"
    return recorder.new_state(full, shape, dtype, 0)


def _set(variable: Variable, value: int) -> None:
    recorder.write(variable, apply(fill_constant, [1], value, torch.int32))
