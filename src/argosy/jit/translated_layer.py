"""TranslatedLayer: a model from files, as a Layer that runs and trains on."""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np
import torch

from argosy.foundation.errors import UsageError
from argosy.framework.mode import switch
from argosy.jit import model_files
from argosy.jit.model_files import (
    INFER_MODEL_SUFFIX,
    INFER_PARAMS_INFO_SUFFIX,
    INFER_PARAMS_SUFFIX,
    INFER_PROPERTY_SUFFIX,
    NoModel,
    SavedMethod,
    kept_by,
)
from argosy.jit.partial_program import PartialProgram
from argosy.jit.replay import replayed
from argosy.nn import Layer
from argosy.static.ir.program import Program
from argosy.static.ir.variable import Parameter as ProgramParameter
from argosy.static.ir.variable import Variable
from argosy.static.record.data import InputSpec
from argosy.tensor.engine import Parameter, Tensor, wrap

__all__ = [
    "INFER_MODEL_SUFFIX",
    "INFER_PARAMS_INFO_SUFFIX",
    "INFER_PARAMS_SUFFIX",
    "INFER_PROPERTY_SUFFIX",
    "TranslatedLayer",
]


class TranslatedLayer(Layer):
    """What ``jit.load`` returns: the programs of a model as methods, its variables as parameters
    and buffers. It starts in evaluation mode.

    Example:
        >>> import tempfile
        >>> import paddle
        >>> net = paddle.nn.Linear(2, 1)
        >>> spec = [paddle.static.InputSpec([None, 2], "float32", "x")]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     paddle.jit.save(net, f"{folder}/model", input_spec=spec)
        ...     loaded = paddle.jit.load(f"{folder}/model").train()
        >>> loaded(paddle.ones([3, 2])).sum().backward()
        >>> [p.grad.shape for p in loaded.parameters()]
        [[2, 1], [1]]
    """

    def __init__(self, methods: dict[str, SavedMethod], variables: dict[str, Tensor]) -> None:
        super().__init__()
        self._methods = methods
        self._variables = variables
        self._runs: dict[tuple[str, bool], PartialProgram] = {}
        parameters = [t for t in variables.values() if isinstance(t, Parameter)]
        for i, parameter in enumerate(parameters):
            self.add_parameter(f"param_{i}", parameter)
        buffers = [t for t in variables.values() if not isinstance(t, Parameter)]
        for i, buffer in enumerate(buffers):
            self.register_buffer(f"buffer_{i}", buffer)
        for name in methods:
            if name != "forward":
                self.__dict__[name] = functools.partial(self._run, name)

    @classmethod
    def read(
        cls, path: str, model_filename: str | None = None, params_filename: str | None = None
    ) -> TranslatedLayer:
        """The model at ``path``: a prefix of files, or a folder of one."""
        layer = cls(*read_model(path, model_filename, params_filename))
        layer.eval()
        return layer

    def forward(self, *inputs: Any) -> Any:
        return self._run("forward", *inputs)

    def _run(self, name: str, *inputs: Any) -> Any:
        method = self._method(name)
        if len(inputs) != len(method.feeds):
            raise UsageError(
                f"TranslatedLayer.{name}: expected {len(method.feeds)} inputs, "
                f"{[v.name for v in method.feeds]}, but received {len(inputs)}"
            )
        if switch.is_static:
            outputs = replayed(method, inputs, self._variables)
        else:
            outputs = self._program(name)([_raw(value) for value in inputs])
        return outputs[0] if len(outputs) == 1 else outputs

    def _program(self, name: str) -> PartialProgram:
        key = name, self.training
        if key not in self._runs:
            method = self._methods[name]
            program = method.program
            self._runs[key] = PartialProgram(
                program.in_training_mode() if self.training else program,
                [v.name for v in method.feeds],
                [v.name for v in method.fetches],
                self._variables,
                f"TranslatedLayer.{name}",
            )
        return self._runs[key]

    def _method(self, name: str) -> SavedMethod:
        if name not in self._methods:
            raise UsageError(
                f"The method `{name}` does not exist in loaded TranslatedLayer; it has "
                f"{sorted(self._methods)}"
            )
        return self._methods[name]

    def program(self, method_name: str = "forward") -> Program:
        """The program of a method, for inference."""
        return self._method(method_name).program.clone()

    def _input_spec(self, method_name: str = "forward") -> list[InputSpec]:
        return [_spec(v) for v in self._method(method_name).feeds]

    def _output_spec(self, method_name: str = "forward") -> list[InputSpec]:
        return [_spec(v) for v in self._method(method_name).fetches]

    def __deepcopy__(self, memo: dict[int, Any]) -> TranslatedLayer:
        from copy import deepcopy

        copy = type(self)(self._methods, {n: deepcopy(t, memo) for n, t in self._variables.items()})
        memo[id(self)] = copy
        (copy.train if self.training else copy.eval)()
        return copy


def read_model(
    path: str, model_filename: str | None, params_filename: str | None
) -> tuple[dict[str, SavedMethod], dict[str, Tensor]]:
    """The methods of a model, and what stands behind their variables, by name."""
    methods, files = _found(path, model_filename, params_filename)
    info = model_files.read_info(path)
    tensors: dict[str, Tensor] = {}
    for name, method in methods.items():
        folder, filename = files[name]
        missing = [v for v in kept_by(method) if v.name not in tensors]
        if not missing:
            continue
        values = model_files.read_variables(kept_by(method), folder, filename)
        for variable in missing:
            known = info.get(variable.name, {})
            tensors[variable.name] = _tensor(variable, values[variable.name], known)
    return methods, tensors


Files = dict[str, tuple[str, str | None]]


def _found(
    path: str, model_filename: str | None, params_filename: str | None
) -> tuple[dict[str, SavedMethod], Files]:
    """The methods of a model, and where the variables of each are."""
    if os.path.isdir(path) and not os.path.isfile(path + INFER_MODEL_SUFFIX):
        model = os.path.join(path, model_filename or "__model__")
        if not os.path.isfile(model):
            raise NoModel(f"jit.load: there is no file {model!r}")
        return {"forward": model_files.read_method(model)}, {"forward": (path, params_filename)}
    folder, name = model_files.split_prefix(path)
    methods = model_files.read_methods(folder, name)
    files: Files = {}
    for method in methods:
        part = name if method == "forward" else f"{name}.{method}"
        files[method] = folder, params_filename or part + INFER_PARAMS_SUFFIX
    return methods, files


def _tensor(variable: Variable, raw: torch.Tensor, info: dict[str, Any]) -> Tensor:
    """A parameter or a buffer for a variable of a program."""
    stops = bool(info.get("stop_gradient", variable.stop_gradient))
    is_parameter = "trainable" in info if info else isinstance(variable, ProgramParameter)
    made: Tensor
    if is_parameter:
        trainable = bool(info.get("trainable", not stops))
        made = Parameter(raw.numpy() if raw.dtype is not torch.bfloat16 else wrap(raw))
        made.trainable = trainable
    else:
        made = wrap(raw)
        made.persistable = True
    made.name = variable.name
    return made


def _raw(value: Any) -> torch.Tensor:
    if isinstance(value, Tensor):
        return value.raw
    if isinstance(value, np.ndarray):
        return Tensor(value).raw
    raise UsageError(
        "The type of input in TranslatedLayer must be numpy array or Tensor, but received "
        f"{type(value).__name__}"
    )


def _spec(variable: Variable) -> InputSpec:
    return InputSpec(list(variable.shape), variable.dtype, variable.name)
