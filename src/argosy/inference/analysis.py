"""The predictors of 1.x: ``fluid.core.create_paddle_predictor`` and what it makes.

They run the same models. Inputs are a list of PaddleTensors, or handles under the older names
``get_input_tensor``, ``zero_copy_run`` and ``get_output_tensor``.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from argosy.foundation.errors import DtypeError
from argosy.inference.config import Config
from argosy.inference.handle import Tensor
from argosy.inference.kinds import PaddleDType, get_num_bytes_of_data_type
from argosy.inference.native import NativeConfig
from argosy.inference.paddle_tensor import PaddleTensor
from argosy.inference.predictor import Predictor
from argosy.static.files import programs
from argosy.static.ir.program import Program
from argosy.static.ir.scope import Scope
from argosy.static.lower.fetch import given_out

log = logging.getLogger("argosy.inference")


class PaddlePredictor(Predictor):
    """A predictor with the methods of 1.x."""

    _is_by_name = False  # whether PaddleTensors are taken by their names

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._is_by_name = config.specify_input_name()

    def run(self, inputs: Sequence[PaddleTensor]) -> list[PaddleTensor]:  # type: ignore[override]
        """The outputs for ``inputs``: in the order of the model's inputs, or by name with
        ``switch_specify_input_names``. A wrong number of them is an error in the log, and there are
        no outputs, as in 1.x.
        """
        is_list = isinstance(inputs, (list, tuple))
        if not is_list or not all(isinstance(value, PaddleTensor) for value in inputs):
            raise DtypeError("run: expected a list of PaddleTensors")
        if len(inputs) != len(self._inputs):
            log.error(f"run: wrong feed input size, need {len(self._inputs)} but get {len(inputs)}")
            return []
        call = "get_input_tensor"
        slots = (
            [self._slot(call, value.name) for value in inputs]
            if self._is_by_name
            else list(self._inputs.values())
        )
        for slot, value in zip(slots, inputs, strict=True):
            slot.lod = []
            slot.hold(value.fed())
        self._run("run")
        return [self._given_out(name) for name in self._model.outputs]

    def _given_out(self, name: str) -> PaddleTensor:
        slot = self._outputs[name]
        [array] = given_out([slot.value], as_array=True)
        return PaddleTensor(array, name, slot.lod, copy=False)

    def zero_copy_run(self) -> bool:
        """Run on what the handles hold."""
        self._run("zero_copy_run")
        return True

    def get_input_tensor(self, name: str) -> Tensor:
        return self.get_input_handle(name)

    def get_output_tensor(self, name: str) -> Tensor:
        return self.get_output_handle(name)

    def get_input_tensor_shape(self) -> dict[str, list[int]]:
        """The declared shapes of inputs; -1 may be any size."""
        return {name: list(shape) for name, shape in self._model.shapes.items()}

    def get_input_types(self) -> dict[str, PaddleDType]:
        """The declared dtypes of inputs."""
        return {name: PaddleDType.of(dtype) for name, dtype in self._model.dtypes.items()}

    def clone(self, stream: Any = None) -> PaddlePredictor:
        """Another predictor with the same weights, for another thread."""
        other = super().clone(stream)
        assert isinstance(other, PaddlePredictor)
        other._is_by_name = self._is_by_name
        return other

    def scope(self) -> Scope:
        """The scope that holds the weights."""
        return self._model.scope

    def program(self) -> Program:
        """The program that is run."""
        return self._model.program

    def get_serialized_program(self) -> bytes:
        """The program as bytes."""
        return programs.dumps(self._model.program)


class AnalysisPredictor(PaddlePredictor):
    """What ``create_paddle_predictor`` makes of an AnalysisConfig."""


class NativePaddlePredictor(PaddlePredictor):
    """What ``create_paddle_predictor`` makes of a NativeConfig."""


def create_paddle_predictor(config: Config | NativeConfig, /) -> PaddlePredictor:
    """Read the model of ``config`` and make a predictor of 1.x for it."""
    if isinstance(config, NativeConfig):
        return NativePaddlePredictor(_config_of(config))
    return AnalysisPredictor(config)


def _config_of(native: NativeConfig) -> Config:
    config = Config()
    if native.prog_file:
        config.set_model(native.prog_file, native.param_file)
    elif native.model_dir:
        config.set_model(native.model_dir)
    config.switch_specify_input_names(native.specify_input_name)
    config.set_cpu_math_library_num_threads(native.cpu_math_library_num_threads())
    if native.use_gpu:
        config.enable_use_gpu(config.memory_pool_init_size_mb(), native.device)
    return config


def paddle_dtype_size(dtype: PaddleDType) -> int:
    """How many bytes an element takes."""
    return get_num_bytes_of_data_type(dtype)
