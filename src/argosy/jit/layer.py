"""``jit.layer.Layer``: the methods of a saved model, each a function of Tensors."""

from __future__ import annotations

import os
from typing import Any

from argosy.jit import model_files
from argosy.jit.model_files import SavedMethod
from argosy.jit.partial_program import PartialProgram
from argosy.tensor.engine import Tensor, wrap


class FunctionInfo:
    """What is known of a method."""

    def __init__(self, info: str) -> None:
        self.info = info

    def name(self) -> str:
        return self.info


class Function:
    """A method; it returns a list of Tensors."""

    def __init__(self, function: PartialProgram, info: str) -> None:
        self.function = function
        self.info = FunctionInfo(info)

    def __call__(self, *args: Tensor) -> list[Any]:
        return self.function([value.raw for value in args])


class Layer:
    """A model that ``jit.save(combine_params=True)`` wrote."""

    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}

    def load(self, load_path: str, place: Any) -> None:
        """Read the model; its methods become attributes, and run where ``place`` says."""
        folder, name = model_files.split_prefix(load_path)
        methods = model_files.read_methods(folder, name)
        kept = [v for method in methods.values() for v in model_files.kept_by(method)]
        file = os.path.basename(load_path) + model_files.INFER_PARAMS_SUFFIX
        device = place.device
        values = model_files.read_variables(kept, folder, file)
        tensors = {name: wrap(raw.to(device)) for name, raw in values.items()}
        for name, method in methods.items():
            self.functions[name] = Function(_partial(name, method, tensors), name)
            setattr(self, name, self.functions[name])


def _partial(name: str, method: SavedMethod, tensors: dict[str, Tensor]) -> PartialProgram:
    return PartialProgram(
        method.program,
        [v.name for v in method.feeds],
        [v.name for v in method.fetches],
        tensors,
        f"jit.layer.Layer.{name}",
    )
