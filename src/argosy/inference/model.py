"""A loaded model: a program, lowered once, with its variables in a scope of its own.

Nothing here reads or changes the default scope, the default programs or the mode of the script. A
model may be run by several threads at once: a run keeps what it computes to itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import CheckpointError, UsageError
from argosy.foundation.places import Place
from argosy.inference.options import Options
from argosy.static.amp.bf16.amp_lists import AutoMixedPrecisionListsBF16
from argosy.static.amp.bf16.amp_utils import rewrite_program_bf16
from argosy.static.files.inference import read_folder, read_model
from argosy.static.ir.program import Program
from argosy.static.ir.scope import Scope
from argosy.static.lower.fetch import joined
from argosy.static.lower.lowering import lower
from argosy.static.run.call import run_lowered, seeded
from argosy.static.run.executor import Executor

# What a predictor reads when its caller names a file that only Paddle 3 writes.
_SUFFIXES = {".json": ".pdmodel"}


# Operators of Paddle's files are recorded, and there is one recorder: models are read one by one.
_reading = threading.Lock()


class LoadFailed(CheckpointError, RuntimeError):
    """The model of a Config cannot be read."""


class Model:
    """A program with what it is fed and what is fetched, by name."""

    def __init__(
        self,
        program: Program,
        inputs: list[str],
        outputs: list[str],
        scope: Scope,
        place: Place,
        restored: Mapping[str, torch.dtype] | None = None,
    ) -> None:
        """``restored`` are the dtypes of outputs that the program computes in another one."""
        self.program = program
        self.inputs = inputs
        self.outputs = outputs
        self.scope = scope
        self.place = place
        block = program.global_block()
        self.shapes = {name: list(block.var(name).shape) for name in inputs}
        self.dtypes = {name: block.var(name).raw.dtype for name in inputs}
        for name in inputs:
            block.var(name).checks_feed = False  # Paddle's predictors take any shape that computes
        unique = list(dict.fromkeys(outputs))
        self._restored = None if restored is None else [restored[name] for name in unique]
        self._lowered = lower(program, inputs, unique, place.device)

    def run(self, fed: dict[str, Any], call: str) -> Sequence[Any]:
        """The outputs for what is fed, each once: torch tensors, or LoDTensors where they are
        sequences. They may share memory with what was fed and with the variables of the model.
        """
        for name, value in fed.items():
            if not isinstance(value, torch.Tensor) or value.dtype is not self.dtypes[name]:
                self._check(name, value, call)
        lowered, device = self._lowered, self.place.device
        given = lowered.given(fed, device)
        if self.program.seed:
            with seeded(self.program.seed):
                fetched = run_lowered(lowered, given, self.scope, device, call)
        else:
            fetched = run_lowered(lowered, given, self.scope, device, call)
        if self._restored is not None:  # behind the outputs come the offsets of sequences
            kept = fetched[len(self._restored) :]
            given_back = [v.to(dtype) for v, dtype in zip(fetched, self._restored, strict=False)]
            fetched = [*given_back, *kept]
        return joined(fetched, lowered.lods) if lowered.lods else fetched

    def _check(self, name: str, value: Any, call: str) -> None:
        declared = self.dtypes[name]
        dtype = value.dtype if isinstance(value, torch.Tensor) else value.raw_tensor().dtype
        # Paddle's kernels of indices take integers of any width.
        if dtype is not declared and not (_is_integer(dtype) and _is_integer(declared)):
            raise UsageError(
                f"{call}: input {name!r} must be of {dtypes.name_of(declared)}, but received "
                f"{dtypes.name_of(dtype)}; convert it with astype({dtypes.name_of(declared)!r})"
            )


def load(options: Options, place: Place, call: str) -> Model:
    """Read the model that a Config names, into a scope of its own."""
    scope = Scope()
    try:
        with _reading:
            program, inputs, fetches = _read(options, Executor(place), scope, call)
    except RuntimeError:
        raise
    except CheckpointError as error:  # Paddle raises a RuntimeError for whatever is wrong with it
        raise LoadFailed(f"{call}: {error}") from error
    outputs = [v.name for v in fetches]
    if not options.onednn_bfloat16:
        return Model(program, list(inputs), outputs, scope, place)
    declared = {v.name: v.raw.dtype for v in fetches}
    _compute_in_bfloat16(program, options.bfloat16_ops)
    return Model(program, list(inputs), outputs, scope, place, declared)


def _read(options: Options, executor: Executor, scope: Scope, call: str) -> list[Any]:
    if options.model_buffer is not None:
        model, params = options.model_buffer, options.params_buffer
        return read_model(model, "the model", None, params, executor, scope)
    if options.prog_file:
        folder, name = os.path.split(_found(options.prog_file, call))
        file = os.path.abspath(options.params_file) if options.params_file else None
        return read_folder(folder, name, file, executor, scope)
    if options.model_dir:
        _found(os.path.join(options.model_dir, "__model__"), call)
        return read_folder(options.model_dir, None, None, executor, scope)
    raise LoadFailed(
        f"{call}: Either model_dir or (prog_file, param_file) should be set; the Config names no "
        "model"
    )


def _compute_in_bfloat16(program: Program, chosen: set[str]) -> None:
    """Let the operators of Paddle's list, or those of ``chosen``, compute in bfloat16."""
    lists = AutoMixedPrecisionListsBF16()
    others = lists.white_list - chosen if chosen else None
    rewrite_program_bf16(program, AutoMixedPrecisionListsBF16(chosen, others) if chosen else lists)


def _found(path: str, call: str) -> str:
    """The file ``path``, or the one that stands for it."""
    stem, suffix = os.path.splitext(path)
    for candidate in (path, stem + _SUFFIXES.get(suffix, suffix)):
        if os.path.isfile(candidate):
            return candidate
    raise LoadFailed(
        f"{call}: Cannot open file {path}, please confirm whether the file is normal: there is no "
        "such file. A model of jit.save(net, prefix) or static.save_inference_model(prefix, ...) "
        "is Config(prefix + '.pdmodel', prefix + '.pdiparams')"
    )


def _is_integer(dtype: torch.dtype) -> bool:
    return dtype in _INTEGERS


_INTEGERS = frozenset({torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64})
