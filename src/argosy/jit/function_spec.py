"""The arguments of a function: by which a program is found, and what it is fed of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, UsageError
from argosy.static.ir.operator import leaves
from argosy.static.record.data import InputSpec
from argosy.tensor.engine import Tensor


class FunctionSpec:
    """A function with the specs of its inputs, if any were given."""

    def __init__(self, function: Callable[..., Any], input_spec: Any = None) -> None:
        self._function = function
        self.input_spec = None if input_spec is None else _checked_specs(input_spec)
        signature = inspect.signature(function)
        parameters = list(signature.parameters.values())
        if parameters and parameters[0].name == "self":
            parameters = parameters[1:]
        self.signature = signature.replace(parameters=parameters)
        self.varargs_name = next(
            (p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), None
        )
        self.arg_names = [
            p.name
            for p in parameters
            if p.kind
            in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        ]
        self.is_simple = len(self.arg_names) == len(parameters)

    _arg_names = property(lambda self: self.arg_names)

    @property
    def dygraph_function(self) -> Callable[..., Any]:
        return self._function

    @property
    def code(self) -> str:
        return inspect.getsource(self._function)

    def bound(
        self, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """All arguments, defaults too: positional ones, and the others by name."""
        name = getattr(self._function, "__name__", "the function")
        if len(args) > len(self.arg_names) and self.varargs_name is None:
            raise UsageError(
                f"{name}() takes {len(self.arg_names)} arguments but received {len(args)}: it has "
                f"{self.arg_names}"
            )
        try:
            found = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise BadCall(f"{name}(): {error}") from error
        found.apply_defaults()
        return found.args, found.kwargs

    unified_args_and_kwargs = bound

    def args_to_input_spec(self, args: Any, kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
        """The arguments with a spec for each tensor among them."""
        specs = list(self.input_spec or ())
        if (
            specs
            and kwargs
            and any(isinstance(leaf, Tensor) for leaf in leaves(list(kwargs.values())))
        ):
            raise UsageError(
                f"{getattr(self._function, '__name__', '')}(): with input_spec, tensors must be "
                f"positional arguments, but received {sorted(kwargs)}"
            )
        given = list(args)
        if len(specs) > len(given):
            raise UsageError(
                f"The length of input_spec {len(specs)} is more than the number of arguments "
                f"{len(given)} of {getattr(self._function, '__name__', '')}()"
            )
        out = [
            spec_of(value, specs[i] if i < len(specs) else None, self._name(i))
            for i, value in enumerate(given)
        ]
        return out, {key: spec_of(value, None, key) for key, value in kwargs.items()}

    def _name(self, position: int) -> str:
        names = self.arg_names
        return (
            names[position]
            if position < len(names)
            else f"{self.varargs_name}_{position - len(names)}"
        )

    def specs_of_call(self, input_spec: Any = None) -> tuple[list[Any], dict[str, Any]]:
        """The arguments that ``input_spec``, or the function's own, describes."""
        specs = self.input_spec if input_spec is None else _checked_specs(input_spec)
        if specs is None:
            raise UsageError("there is no input_spec and the function has not been called")
        args, kwargs = self.bound(list(specs), {})
        return [named(v, self._name(i)) for i, v in enumerate(args)], kwargs

    def __repr__(self) -> str:
        name = getattr(self._function, "__name__", self._function)
        return f"function: {name}({','.join(self.arg_names)}), input_spec: {self.input_spec}"


class BadCall(DtypeError):
    """Arguments that a function does not take."""


def _checked_specs(input_spec: Any) -> tuple[Any, ...]:
    if not isinstance(input_spec, (list, tuple)):
        raise DtypeError(
            "The type(input_spec) should be one of (tuple, list), but received "
            f"{type(input_spec).__name__}."
        )
    return tuple(input_spec)


def spec_of(value: Any, spec: Any, name: str) -> Any:
    """``value`` with specs in the place of tensors and arrays; ``spec`` has a say, if there is
    one.
    """
    if isinstance(spec, InputSpec):
        return named(spec, name)
    if isinstance(value, dict):
        inner = spec if isinstance(spec, dict) else {}
        return {key: spec_of(v, inner.get(key), str(key)) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        parts = spec if isinstance(spec, (list, tuple)) else ()
        items = [
            spec_of(v, parts[i] if i < len(parts) else None, f"{name}_{i}")
            for i, v in enumerate(value)
        ]
        if isinstance(value, tuple):
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        return items
    if isinstance(value, Tensor):
        return InputSpec(value.shape, value.dtype, name, value.stop_gradient)
    if isinstance(value, np.ndarray):
        return InputSpec(value.shape, str(value.dtype), name, True)
    return value


def named(spec: Any, name: str) -> Any:
    """Specs that have a name each."""
    if isinstance(spec, InputSpec) and spec.name is None:
        return InputSpec(spec.shape, spec.dtype, name, spec.stop_gradient)
    if isinstance(spec, dict):
        return {key: named(value, str(key)) for key, value in spec.items()}
    if isinstance(spec, (list, tuple)) and not hasattr(spec, "_fields"):
        return type(spec)(named(value, f"{name}_{i}") for i, value in enumerate(spec))
    return spec


def key_of(value: Any, spec: Any = None) -> Any:
    """Equal for values that one program serves; ``spec`` replaces what is known of a tensor."""
    if isinstance(spec, InputSpec):
        return spec
    kind = type(value)
    if isinstance(value, Tensor):
        raw = value.raw
        return raw.shape, raw.dtype, raw.requires_grad
    if kind is list or kind is tuple:
        specs = spec if isinstance(spec, (list, tuple)) else ()
        return kind, *[key_of(v, specs[i] if i < len(specs) else None) for i, v in enumerate(value)]
    if kind is dict:
        specs_by_key = spec if isinstance(spec, dict) else {}
        return dict, *[(k, key_of(v, specs_by_key.get(k))) for k, v in value.items()]
    if isinstance(value, np.ndarray):
        return value.shape, dtypes.to_torch(str(value.dtype)), False
    try:
        hash(value)
    except TypeError:
        return kind, id(value)
    return kind, value


def raw_inputs(tree: Any, out: list[torch.Tensor]) -> None:
    """Put the tensors inside of ``tree`` behind ``out``, in the order in which they are fed."""
    if isinstance(tree, Tensor):
        out.append(tree.raw)
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            raw_inputs(item, out)
    elif isinstance(tree, dict):
        for item in tree.values():
            raw_inputs(item, out)
    elif isinstance(tree, np.ndarray):
        out.append(Tensor(tree).raw)
