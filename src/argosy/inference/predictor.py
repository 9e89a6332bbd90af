"""Predictor: runs a model for inference; PredictorPool: several that share its weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from argosy.foundation.errors import DtypeError, UsageError, nearest
from argosy.inference.config import Config, used
from argosy.inference.handle import Slot, Tensor
from argosy.inference.kinds import expected
from argosy.inference.model import Model, load
from argosy.inference.observation import Hook, Observation
from argosy.tensor.engine import Tensor as EagerTensor
from argosy.tensor.engine import wrap


class NoSuchTensor(UsageError, RuntimeError):
    """A predictor was asked for a handle under a name that the model does not have."""


class Predictor:
    """Runs the model of a Config.

    A predictor serves one thread at a time. ``clone`` makes another one for another thread, which
    reads the same weights and has inputs and outputs of its own.

    Example:
        >>> import numpy, paddle, tempfile
        >>> from paddle.inference import Config, create_predictor
        >>> net = paddle.nn.Linear(4, 2)
        >>> spec = [paddle.static.InputSpec([None, 4], "float32", "x")]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     paddle.jit.save(net, f"{folder}/linear", input_spec=spec)
        ...     predictor = create_predictor(Config(folder, "linear"))
        >>> predictor.get_input_names()
        ['x']
        >>> predictor.get_input_handle("x").copy_from_cpu(numpy.ones((3, 4), "float32"))
        >>> predictor.run()
        >>> output = predictor.get_output_handle(predictor.get_output_names()[0])
        >>> output.copy_to_cpu().shape
        (3, 2)
    """

    def __init__(self, config: Config) -> None:
        self._bind(load(*used(config, "create_predictor"), "create_predictor"))

    def _bind(self, model: Model) -> None:
        self._model = model
        self._inputs = {name: Slot(name) for name in model.inputs}
        self._outputs = {name: Slot(name) for name in model.outputs}
        self._observation: Observation | None = None
        self._input_hooks: list[Hook] = []
        self._output_hooks: list[Hook] = []

    def get_input_names(self) -> list[str]:
        return list(self._model.inputs)

    def get_output_names(self) -> list[str]:
        return list(self._model.outputs)

    def get_input_handle(self, name: str) -> Tensor:
        """The handle by which the input ``name`` is filled."""
        return Tensor(self._slot("get_input_handle", name), is_input=True)

    def get_output_handle(self, name: str) -> Tensor:
        """The handle by which the output ``name`` is read, after a run."""
        return Tensor(self._slot("get_output_handle", name), is_input=False)

    def _slot(self, call: str, name: str) -> Slot:
        expected(f"Predictor.{call}", "the name", name, str)
        known = {**self._outputs, **self._inputs}
        if name not in known:
            raise NoSuchTensor(
                f"Predictor.{call}: The variable named {name} is not found in the scope of the "
                f"predictor; inputs are {self._model.inputs}, outputs {self._model.outputs}."
                f"{nearest(name, known)}"
            )
        return known[name]

    def run(self, inputs: Sequence[EagerTensor] | None = None) -> list[EagerTensor] | None:
        """Compute the outputs: from what the handles of inputs hold, for handles of outputs; or
        from ``inputs``, Tensors in the order of ``get_input_names``, which returns Tensors.

        Inputs that all bear names of inputs may be in any order.
        """
        if inputs is None:
            self._run("Predictor.run")
            return None
        for slot, value in zip(self._in_order(inputs), inputs, strict=True):
            slot.lod = []
            slot.hold(value.raw.detach())
        self._run("Predictor.run")
        return [self._output(name) for name in self._model.outputs]

    def _output(self, name: str) -> EagerTensor:
        value = self._outputs[name].value
        assert value is not None  # a run has just filled it
        # A copy: what is computed may be the memory of an input or of a weight.
        tensor = wrap(value.clone())
        tensor.name = name
        return tensor

    def _run(self, call: str) -> None:
        fed = {name: slot.fed(call) for name, slot in self._inputs.items()}
        values = self._model.run(fed, call)
        for slot, value in zip(self._outputs.values(), values, strict=True):
            slot.lod = []
            slot.hold(value)
        if self._observation is not None:
            self._observation.show(fed, self._input_hooks, self._output_hooks, call)

    def _in_order(self, inputs: Any) -> list[Slot]:
        """The slots that ``inputs`` are for."""
        is_list = isinstance(inputs, (list, tuple))
        if not is_list or not all(isinstance(value, EagerTensor) for value in inputs):
            found = [type(v).__name__ for v in inputs] if is_list else type(inputs).__name__
            raise DtypeError(f"Predictor.run: expected a list of Tensors, but received {found}")
        slots = list(self._inputs.values())
        if len(inputs) != len(slots):
            raise UsageError(
                f"Predictor.run: expected {len(slots)} inputs, {self._model.inputs}, but received "
                f"{len(inputs)}"
            )
        names = [value.name for value in inputs]
        return [self._inputs[n] for n in names] if {*names} == {*self._inputs} else slots

    def clone(self, stream: Any = None) -> Predictor:
        """Another predictor with the same weights, not a copy of them; for another thread."""
        other = object.__new__(type(self))
        other._bind(self._model)
        return other

    def register_output_hook(self, hook: Hook) -> None:
        """Call ``hook(type, name, tensor)`` after each run for what every operator wrote; runs take
        twice as long.
        """
        self._observation = self._observation or Observation(self._model)
        self._output_hooks.append(hook)

    def register_input_hook(self, hook: Hook) -> None:
        """Call ``hook(type, name, tensor)`` after each run for what every operator read; runs take
        twice as long.
        """
        self._observation = self._observation or Observation(self._model)
        self._input_hooks.append(hook)

    def clear_intermediate_tensor(self) -> None:
        """Nothing is left to clear: what is between inputs and outputs is gone when a run ends."""

    def try_shrink_memory(self) -> int:
        """Give memory back that torch holds for later; how many bytes is not known, so 0."""
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return 0


class PredictorPool:
    """``size`` predictors over one set of weights, one for each thread.

    Example:
        >>> import paddle, tempfile
        >>> from paddle.inference import Config, PredictorPool
        >>> net = paddle.nn.Linear(4, 2)
        >>> spec = [paddle.static.InputSpec([None, 4], "float32", "x")]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     paddle.jit.save(net, f"{folder}/linear", input_spec=spec)
        ...     pool = PredictorPool(Config(folder, "linear"), 2)
        >>> pool.retrieve(1).get_input_names()
        ['x']
    """

    def __init__(self, config: Config, size: int = 1) -> None:
        if expected("PredictorPool", "size", size, int) < 1:
            raise UsageError(f"PredictorPool: size must be 1 or more, but received {size}")
        first = Predictor(config)
        self._predictors = [first, *(first.clone() for _ in range(size - 1))]

    def retrieve(self, index: int) -> Predictor:
        """The predictor of number ``index``, always the same."""
        if expected("PredictorPool.retrieve", "the index", index, int) < 0:
            raise DtypeError(f"PredictorPool.retrieve: the index {index} is negative")
        if index >= len(self._predictors):
            raise UsageError(
                f"PredictorPool.retrieve: there are {len(self._predictors)} predictors, but the "
                f"index is {index}"
            )
        return self._predictors[index]

    retrive = retrieve  # as Paddle 2 spells it


def create_predictor(config: Config, /) -> Predictor:
    """Read the model of ``config`` and make a predictor for it; a Config serves one."""
    return Predictor(config)
