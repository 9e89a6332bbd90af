"""A Model in static mode: one program each for training, evaluating and predicting, recorded by
``prepare`` from the descriptions of inputs and labels.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from argosy.distributed import fleet
from argosy.distributed.parallel import init_parallel_env
from argosy.foundation.errors import BadArgument, CheckpointError, NotSupported, UsageError
from argosy.foundation.files import replacing
from argosy.framework import pickles
from argosy.hapi._adapter import Adapter, gather
from argosy.hapi._setup import Setup, as_list
from argosy.static import (
    Executor,
    Program,
    Variable,
    amp,
    data,
    default_main_program,
    default_startup_program,
    global_scope,
    program_guard,
    save_inference_model,
    set_program_state,
)
from argosy.static.files.variables import is_belong_to_optimizer
from argosy.tensor import add_n

_MODES = ("train", "eval", "test")


class StateMissing(CheckpointError, AssertionError):
    """A file of optimizer state lacks a variable of the training program."""


@dataclass(frozen=True)
class Recorded:
    """A program, what is fed to it, and what is fetched."""

    program: Program
    inputs: list[Variable]
    labels: list[Variable]
    outputs: list[Variable]
    losses: list[Variable]
    metrics: list[list[Variable]]  # what each metric computes of a batch


class StaticGraphAdapter(Adapter):
    """With several processes Fleet makes the training program common to them."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._startup = default_startup_program()
        self._main = default_main_program()  # where the network's parameters were made
        self._recorded: dict[str, Recorded] = {}
        self._executor: Any = None
        self._trainer: Any = None  # the optimizer, with what precision and Fleet add to it
        if self.world_size > 1:
            init_parallel_env()

    # -- recording
    # ----------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        for mode in _MODES:
            if mode not in self._recorded:
                self._recorded[mode] = self._record(mode)
        if self._executor is None:
            self._executor = Executor(self.setup.place)
            self._initialize()
        if self.setup.precision.level == "O2" and hasattr(self._trainer, "amp_init"):
            self._trainer.amp_init(self.setup.place)

    def _record(self, mode: str) -> Recorded:
        setup, program = self.setup, self._main.clone()
        if mode != "train":
            # such as operators that count steps for a learning rate
            program.global_block().ops.clear()
        with program_guard(program, self._startup):
            inputs = [data(str(s.name), s.shape, s.dtype) for s in setup.inputs or ()]
            labels = [data(str(s.name), s.shape, s.dtype) for s in setup.labels or ()]
            outputs = as_list(setup.network(*inputs))
            losses: list[Any] = []
            metrics: list[list[Any]] = []
            if mode != "test" and setup.loss:
                losses = as_list(setup.loss(*outputs, *labels))
            if mode != "train" and self.world_size > 1:
                outputs = [gather(output) for output in outputs]
            if mode != "test":
                truth = labels if mode == "train" else self._gathered(labels)
                metrics = [as_list(m.compute(*outputs, *truth)) for m in setup.metrics]
            if mode == "train" and setup.optimizer:
                self._trainer = self._make_trainer()
                self._trainer.minimize(add_n(losses))
        if mode != "train":
            program = program.clone(for_test=True)
        return Recorded(program, inputs, labels, outputs, losses, metrics)

    def _gathered(self, labels: list[Any]) -> list[Any]:
        return [gather(label) for label in labels] if self.world_size > 1 else labels

    def _make_trainer(self) -> Any:
        optimizer, mixed = self.setup.optimizer, self.setup.precision
        if self.world_size > 1:
            strategy = fleet.DistributedStrategy()
            if mixed.is_mixed:
                strategy.amp = True
                strategy.amp_configs = {
                    **mixed.scaling,
                    **mixed.lists,
                    "use_pure_fp16": mixed.level == "O2",
                }
            fleet.init(is_collective=True)
            return fleet.distributed_optimizer(optimizer, strategy=strategy)
        if not mixed.is_mixed:
            return optimizer
        return amp.decorate(
            optimizer,
            amp_lists=amp.AutoMixedPrecisionLists(**mixed.lists) if mixed.lists else None,
            use_pure_fp16=mixed.level == "O2",
            use_fp16_guard=mixed.use_fp16_guard,
            **mixed.scaling,
        )

    def _initialize(self) -> None:
        """Run the part of the startup program that makes variables without a value: another Model
        may have trained the rest.
        """
        scope, startup = global_scope(), self._startup.clone()
        block = startup.global_block()
        held = {name for name in block.vars if _holds(scope.find_var(name))}
        block.ops = [o for o in block.ops if not held.issuperset(o.output_arg_names)]
        startup.changed()
        if block.ops:
            self._executor.run(startup)

    # -- running
    # ----------------------------------------------------------------------------------------------

    def train_batch(self, inputs: Any, labels: Any, update: bool) -> Any:
        if not self.setup.optimizer:
            raise BadArgument("Model.train_batch: model not ready, please call `model.prepare()` "
                              "with an optimizer first")  # fmt: skip
        if update is not True:
            raise GradientsKept(
                "Model.train_batch: does not support `update == False` in static graph mode, where "
                "a program updates in every run"
            )
        return self._run_with_metrics("train", inputs, labels)

    def eval_batch(self, inputs: Any, labels: Any) -> Any:
        return self._run_with_metrics("eval", inputs, labels)

    def predict_batch(self, inputs: Any) -> Any:
        recorded = self._ready("test")
        return self._run(recorded, inputs, None, recorded.outputs)

    def _ready(self, mode: str) -> Recorded:
        self.setup.mode = mode
        if mode not in self._recorded:
            raise BadArgument("Model is not ready, please call `model.prepare()` first")
        return self._recorded[mode]

    def _run_with_metrics(self, mode: str, inputs: Any, labels: Any) -> Any:
        recorded, metrics = self._ready(mode), self.setup.metrics
        wanted = [v for computed in recorded.metrics for v in computed]
        fetched = self._run(recorded, inputs, labels, recorded.losses + wanted)
        losses, states = fetched[: len(recorded.losses)], fetched[len(recorded.losses) :]
        if mode == "eval" and self.world_size > 1 and states:
            states = self.without_padding(states)
        told = []
        for metric, computed in zip(metrics, recorded.metrics, strict=True):
            told.append(metric.update(*states[: len(computed)]))
            states = states[len(computed) :]
        return self.setup.result(losses, told)

    def _run(
        self, recorded: Recorded, inputs: Any, labels: Any, wanted: list[Variable]
    ) -> list[np.ndarray]:
        given = as_list(inputs)
        if len(given) != len(recorded.inputs):
            raise BadArgument(
                f"Model: number of inputs, {len(given)}, does not match number of arguments of "
                f"`forward` method, {len(recorded.inputs)}"
            )
        feed = {v.name: value for v, value in zip(recorded.inputs, given, strict=True)
                if value is not None}  # fmt: skip
        if labels is not None:
            feed.update(zip((v.name for v in recorded.labels), as_list(labels), strict=False))
        # what is fed needs no run, and may not be part of the program
        fetches = [v for v in wanted if v.name not in feed]
        fetched = iter(self._executor.run(recorded.program, feed=feed, fetch_list=fetches))
        return [np.asarray(feed[v.name]) if v.name in feed else next(fetched) for v in wanted]

    # -- files
    # ----------------------------------------------------------------------------------------------

    def save(self, path: str) -> None:
        if not os.path.basename(path):
            raise BadArgument(
                f"Model.save: path should be of 'dirname/filename' format, but is {path!r}"
            )
        state = self.setup.network.state_dict()
        self._write(f"{path}.pdparams", {key: self._value(v.name) for key, v in state.items()})
        recorded = self._recorded.get("train")
        if recorded is not None and self.setup.optimizer is not None:
            self._write(f"{path}.pdopt", self._optimizer_state(recorded.program))

    def _optimizer_state(self, program: Program) -> dict[str, np.ndarray]:
        kept = {v.name for v in program.list_vars() if is_belong_to_optimizer(v)}
        kept -= {v.name for v in self.setup.network.state_dict().values()}
        return {name: self._value(name) for name in sorted(kept)}

    def _value(self, name: str) -> np.ndarray:
        return np.array(global_scope().holding(name).get_tensor())

    def _write(self, path: str, values: dict[str, np.ndarray]) -> None:
        if values:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with replacing(path) as file:
                pickles.dump(values, file, 4)

    def load(self, params: list[tuple[Any, Any]], optimizer: Any, scaler: Any) -> None:
        set_program_state(self._main, {param.name: value for param, value in params})
        recorded = self._recorded.get("train")
        if optimizer and self.setup.optimizer is not None and recorded is not None:
            self._load_optimizer(recorded.program, optimizer)

    def _load_optimizer(self, program: Program, state: dict[str, Any]) -> None:
        needed = set(self._optimizer_state(program))
        # dygraph keeps no variable of a learning rate that is a number
        missing = [n for n in sorted(needed - set(state)) if not n.startswith("learning_rate_")]
        if missing:
            raise StateMissing(
                f"Model.load: variable [{missing[0]}] is not in optimizer state file, which has "
                f"{sorted(state)}"
            )
        set_program_state(program, {name: state[name] for name in needed & set(state)})

    def save_inference(self, path: str) -> None:
        if not os.path.basename(path):
            raise UsageError(
                "Model.save: The input path MUST be format of dirname/file_prefix, but received "
                f"file_prefix is empty string in {path!r}"
            )
        recorded = self._ready("test")
        save_inference_model(
            path, recorded.inputs, recorded.outputs, self._executor, program=recorded.program
        )


class GradientsKept(NotSupported, AssertionError):
    """A program was asked to keep gradients for a later step."""


def _holds(variable: Any) -> bool:
    return variable is not None and variable.tensor is not None
