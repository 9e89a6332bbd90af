"""``jit.save`` and ``jit.load``: layers and functions as programs in files."""

from __future__ import annotations

import inspect
import json
import os
import warnings
from dataclasses import dataclass
from typing import Any

from argosy.distributed import DataParallel
from argosy.foundation.errors import DtypeError, UsageError
from argosy.jit import model_files
from argosy.jit.concrete_program import ConcreteProgram
from argosy.jit.model_files import SavedMethod
from argosy.jit.save_hooks import run_before
from argosy.jit.state import state
from argosy.jit.static_function import StaticFunction
from argosy.jit.translated_layer import TranslatedLayer
from argosy.nn import Layer
from argosy.static.files.inference import save_to_file
from argosy.static.ir.operator import leaves, mapped
from argosy.static.ir.variable import Variable
from argosy.static.record.data import InputSpec
from argosy.tensor.engine import Parameter, Tensor


class Disabled(UsageError, RuntimeError):
    """Saving while functions run as they are written."""


class HooksInTheWay(UsageError, RuntimeError):
    """Outputs were chosen of a layer with hooks."""


@dataclass(frozen=True)
class SaveOptions:
    """What ``jit.save`` takes by name."""

    output_spec: Any = None
    with_hook: bool = False
    combine_params: bool = False
    clip_extra: bool = True  # the files have nothing that could be clipped
    skip_forward: bool = False
    input_names_after_prune: Any = None
    skip_prune_program: bool = False


@run_before
def save(layer: Any, path: str, input_spec: Any = None, **configs: Any) -> None:
    """Write a Layer or a function as a program for inference to ``path``.pdmodel and .pdiparams.

    ``input_spec`` describes the inputs, by InputSpecs or example Tensors; without it the function
    was called before, or has one of its own. ``output_spec`` chooses among the outputs;
    ``with_hook`` writes the hooks of the layer too; ``combine_params`` writes the variables of all
    converted methods to one file.

    Example:
        >>> import tempfile
        >>> import paddle
        >>> net = paddle.nn.Linear(2, 1)
        >>> spec = [paddle.static.InputSpec([None, 2], "float32", "x")]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     paddle.jit.save(net, f"{folder}/model", input_spec=spec)
        ...     paddle.jit.load(f"{folder}/model")(paddle.ones([3, 2])).shape
        [3, 1]
    """
    if not state.is_enabled:
        raise Disabled(
            "The paddle.jit.save doesn't work when setting 'paddle.jit.enable_to_static' to False."
        )
    is_function = isinstance(layer, StaticFunction) or inspect.isfunction(layer)
    if not isinstance(layer, Layer) and not is_function:
        raise DtypeError(
            "The input of paddle.jit.save should be 'Layer' or 'Function', but received input type "
            f"is {type(layer)}."
        )
    unknown = set(configs) - set(SaveOptions.__dataclass_fields__)
    if unknown:
        raise UsageError(
            f"The additional config ({unknown.pop()}) of `paddle.jit.save` is not supported."
        )
    folder, _ = model_files.split_prefix(path)
    options = SaveOptions(**configs)
    specs = _specs(layer, input_spec)
    if is_function:
        warnings.warn(
            "What you save is a function: its program is written to files named after `path`, and "
            "paddle.jit.load makes a TranslatedLayer of them",
            stacklevel=2,
        )
    if folder:
        os.makedirs(folder, exist_ok=True)
    Saving(layer, path, options).run(specs)


def _specs(layer: Any, input_spec: Any) -> Any:
    """``input_spec`` with an InputSpec for each Tensor."""
    if input_spec is None:
        return None
    if isinstance(layer, Layer):
        others = [name for name in _static_methods(layer) if name != "forward"]
        if others:
            raise UsageError(
                "If there are static functions other than 'forward' that need to be saved, the "
                f"input 'input_spec' should be None, but received {type(input_spec)}: {others}"
            )
    if not isinstance(input_spec, (list, tuple)):
        raise DtypeError(
            "The input input_spec should be 'list', but received input_spec's type is "
            f"{type(input_spec)}."
        )
    return mapped(
        list(input_spec),
        lambda leaf: InputSpec.from_tensor(leaf) if isinstance(leaf, Tensor) else leaf,
    )


def _static_methods(layer: Layer) -> list[str]:
    """The names of the converted methods of a layer."""
    found = set()
    for owner in (layer.__dict__, *(cls.__dict__ for cls in type(layer).__mro__)):
        found |= {name for name, value in owner.items() if isinstance(value, StaticFunction)}
    return sorted(name for name in found if isinstance(getattr(layer, name, None), StaticFunction))


class Saving:
    """One call of ``save``."""

    def __init__(self, target: Any, path: str, options: SaveOptions) -> None:
        self._target = target.inner if isinstance(target, DataParallel) else target
        self._path = path
        self._options = options
        self._info: dict[str, dict[str, Any]] = {}
        self._held: dict[str, Any] = {}
        self._shared: list[Variable] = []
        self._properties: dict[str, Any] = {}

    def run(self, specs: Any) -> None:
        options = self._options
        for name, program in self._programs(specs):
            is_main = name == "forward" or not isinstance(self._target, Layer)
            prefix = self._path if is_main else f"{self._path}.{name}"
            self._note(program)
            method = SavedMethod(
                program.main_program,
                self._inputs(program, specs),
                self._outputs(program),
            )
            self._shared += model_files.write_method(
                prefix,
                method,
                self._held,
                with_variables=not options.combine_params,
                skips_pruning=options.skip_prune_program,
            )
        if options.combine_params:
            model_files.write_variables(self._path, self._shared, self._held)
            text = json.dumps(self._properties)
            save_to_file(self._path + model_files.INFER_PROPERTY_SUFFIX, text.encode())
        if self._info:
            model_files.write_info(self._path, self._info)

    def _programs(self, specs: Any) -> list[tuple[str, ConcreteProgram]]:
        target, options = self._target, self._options
        if not isinstance(target, Layer):
            function = (
                target if isinstance(target, StaticFunction) else StaticFunction(target, specs)
            )
            given = specs if isinstance(target, StaticFunction) else None
            return [("forward", function.concrete_program_specify_input_spec(given))]
        with_hook = options.with_hook or target.has_forward_hooks
        if options.output_spec and with_hook:
            raise HooksInTheWay(
                "Currently not support specify output_spec while founding pre/post hooks in your "
                "outermost layer."
            )
        found = []
        names = _static_methods(target)
        for name in sorted({*names, "forward"}):
            if name == "forward" and options.skip_forward and name not in names:
                continue
            method = getattr(target, name)
            given = specs
            if not isinstance(method, StaticFunction):
                method, given = StaticFunction(method, specs), None
            if method.is_property:
                self._properties[f"{type(target).__name__}.{name}"] = _plain(name, method())
                continue
            hooked = with_hook and name == "forward"
            found.append(
                (name, method.concrete_program_specify_input_spec(given, with_hook=hooked))
            )
        return found

    def _note(self, program: ConcreteProgram) -> None:
        """Keep the values of what a program uses, and what is to be known of it."""
        layer = self._target if isinstance(self._target, Layer) else None
        if isinstance(self._target, StaticFunction):
            layer = self._target.class_instance
        structured = (
            {} if layer is None else {id(t): name for name, t in layer.state_dict().items()}
        )
        by_raw = (
            {}
            if layer is None
            else {t.raw.data_ptr(): name for name, t in layer.state_dict().items() if t.size}
        )
        for name, tensor in program.captures.by_name().items():
            self._held[name] = tensor.raw
            info: dict[str, Any] = {"stop_gradient": bool(tensor.stop_gradient)}
            known = structured.get(id(tensor)) or by_raw.get(tensor.raw.data_ptr())
            if known:
                info["structured_name"] = known
            if isinstance(tensor, Parameter):
                info["trainable"] = bool(tensor.trainable)
            self._info[name] = info

    def _inputs(self, program: ConcreteProgram, specs: Any) -> list[Variable]:
        """What is fed: all inputs, or those that ``input_spec`` names."""
        known = {v.name: v for v in program.inputs}
        kept = self._options.input_names_after_prune
        if kept is not None:
            return [v for v in program.inputs if v.name in kept]
        wanted = [leaf for leaf in leaves(specs) if isinstance(leaf, InputSpec)]
        if specs is None or len(wanted) == len(known):
            return list(known.values())
        for spec in wanted:
            if spec.name not in known:
                raise UsageError(
                    f"The tensor `{spec.name}` does not exists. Please make sure the name of "
                    "InputSpec or example Tensor in input_spec is the same as the name of "
                    f"InputSpec in `to_static`: it has {sorted(known)}"
                )
        return [known[str(spec.name)] for spec in wanted]

    def _outputs(self, program: ConcreteProgram) -> list[Variable]:
        known = {v.name: v for v in program.outputs}
        wanted = self._options.output_spec
        if wanted is None:
            return list(known.values())
        named = [var for var in wanted if var.name in known]
        if len(named) == len(wanted):
            return [known[var.name] for var in named]
        if len(wanted) == len(known):
            warnings.warn(
                f"jit.save: output_spec names {[v.name for v in wanted]}, but the outputs are "
                f"{list(known)}; all of them are saved",
                stacklevel=5,
            )
            return list(known.values())
        missing = next(var.name for var in wanted if var.name not in known)
        raise UsageError(
            f"The tensor `{missing}` does not exists. Please make sure the name of example Tensor "
            f"in configs.output_spec is an output of Layer.forward: it has {sorted(known)}"
        )


def _plain(name: str, value: Any) -> Any:
    """What a property method returned, which must be plain data."""
    flat = value if isinstance(value, (list, tuple)) else [value]
    if not all(isinstance(item, (bool, int, float, str)) for item in flat):
        raise UsageError(
            f"jit.save: the property {name!r} must be a number, a string or a list of these, but "
            f"received {type(value).__name__}"
        )
    return value


def load(path: str, **configs: Any) -> TranslatedLayer:
    """Read a model of ``jit.save`` or ``static.save_inference_model`` as a Layer that evaluates.

    ``model_filename`` and ``params_filename`` name the files of a folder ``path``.
    """
    unknown = set(configs) - {"model_filename", "params_filename"}
    if unknown:
        raise UsageError(
            f"The additional config ({unknown.pop()}) of `paddle.jit.load` is not supported."
        )
    return TranslatedLayer.read(path, **configs)
