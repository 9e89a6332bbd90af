"""Calls in converted code: functions of the script are converted too, as far as they go."""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
import logging
import os
import sysconfig
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from argosy import tensor
from argosy.foundation.process_state import register
from argosy.framework.mode import switch
from argosy.jit.convert.function import Converter
from argosy.jit.convert.source import NoSource
from argosy.jit.operators.branch import choose, if_
from argosy.jit.operators.builtin import (
    assert_,
    bool_,
    float_,
    int_,
    len_,
    numpy,
    print_,
    returned,
    shape,
)
from argosy.jit.operators.iteration import enumerate_, range_, zip_
from argosy.jit.operators.lists import concat_, stack_
from argosy.jit.operators.logic import and_, chain, not_, or_
from argosy.jit.operators.loop import for_, while_
from argosy.nn import Layer

logger = logging.getLogger("paddle.jit")

# The attribute of a function that says how it is converted.
CONVERSION_OPTIONS = "__jst_not_to_static"


@dataclass(frozen=True)
class ConversionOptions:
    """How a function is converted."""

    not_convert: bool = False


@dataclass
class Ignored:
    """Modules whose functions are called as they are, beside those of ``_FOREIGN``."""

    modules: list[str] = field(default_factory=list)


ignored = Ignored()
register("modules that are not converted", ignored, attributes=("modules",))

# Files of code that is not the script's: this package, Python's own, and packages below torch.
_FOREIGN = tuple(
    str(Path(path).resolve()) + os.sep
    for path in (
        Path(__file__).parents[2],
        Path(torch.__file__).parent,
        Path(np.__file__).parent,
    )
)
_STDLIB = str(Path(sysconfig.get_path("stdlib")).resolve()) + os.sep
_PACKAGES = ("site-packages", "dist-packages")

# What stands for a function of Python's, or of the face, while a program is recorded.
_REPLACED: dict[Any, Callable[..., Any]] = {
    builtins.len: len_,
    builtins.int: int_,
    builtins.float: float_,
    builtins.bool: bool_,
    builtins.print: print_,
    builtins.range: range_,
    builtins.enumerate: enumerate_,
    builtins.zip: zip_,
    tensor.concat: concat_,
    tensor.stack: stack_,
}


def call(function: Any) -> Any:
    """What is called in the place of ``function``."""
    if not switch.is_static:
        return function
    try:
        replaced = _REPLACED.get(function)
    except TypeError:  # not hashable
        replaced = None
    if replaced is not None:
        return replaced
    if isinstance(function, types.FunctionType):
        return converted(function)
    if isinstance(function, types.MethodType):
        inner = function.__func__
        if not isinstance(inner, types.FunctionType):
            return function
        made = converted(inner)
        if isinstance(function.__self__, Layer) and inner.__name__ == "__call__":
            return functools.partial(_call_layer, function.__self__)
        return function if made is inner else types.MethodType(made, function.__self__)
    if isinstance(function, functools.partial):
        inner = call(function.func)
        if inner is function.func:
            return function
        return functools.partial(inner, *function.args, **function.keywords)
    if isinstance(function, Layer):
        return functools.partial(_call_layer, function)
    return _called_object(function)


def _called_object(function: Any) -> Any:
    """An object of the script with a ``__call__``."""
    if isinstance(function, type) or inspect.isbuiltin(function):
        return function
    method = getattr(type(function), "__call__", None)  # noqa: B004  the method, not whether
    if isinstance(method, types.FunctionType):
        made = converted(method)
        if made is not method:
            return types.MethodType(made, function)
    return function


def converted(function: types.FunctionType) -> types.FunctionType:
    """``function`` converted, if it is the script's and its source is at hand."""
    if not is_convertible(function):
        return function
    if function.__code__.co_flags & inspect.CO_GENERATOR:
        logger.warning(
            "Your function:`%s` doesn't support to transform to static function because it is a "
            "generator function, it will be run as-is.",
            function.__name__,
        )
        return function
    try:
        return converter.converted(function)
    except NoSource:
        return function


def is_convertible(function: types.FunctionType) -> bool:
    """Whether a function is the script's, and nobody said that it must stay as it is."""
    options = getattr(function, CONVERSION_OPTIONS, None)
    if options is not None and options.not_convert:
        return False
    path = function.__code__.co_filename
    if path.startswith(_FOREIGN):
        return False
    if path.startswith(_STDLIB) and not any(part in path for part in _PACKAGES):
        return False
    module = function.__module__ or ""
    return not any(f"{module}.".startswith(f"{name}.") for name in ignored.modules)


def _call_layer(layer: Layer, *args: Any, **kwargs: Any) -> Any:
    """Call a layer, hooks and all, with its forward and those of layers inside of it converted."""
    with converted_forwards(layer):
        return layer(*args, **kwargs)


@contextlib.contextmanager
def converted_forwards(layer: Layer) -> Iterator[None]:
    """Let the layers of a tree call their converted forwards inside, whoever calls them: forwards
    of this package, as that of Sequential, are not converted.
    """
    changed: list[tuple[dict[str, Any], Any]] = []
    for part in layer.sublayers(include_self=True):
        fields = part.__dict__
        own = fields.get("forward")
        forward = own if own is not None else getattr(type(part), "forward", None)
        inner = getattr(forward, "__func__", forward)
        if not isinstance(inner, types.FunctionType):
            continue
        made = converted(inner)
        if made is inner:
            continue
        is_bound = own is None or isinstance(own, types.MethodType)
        changed.append((fields, own))
        fields["forward"] = types.MethodType(made, part) if is_bound else made
    try:
        yield
    finally:
        for fields, own in reversed(changed):
            if own is None:
                fields.pop("forward", None)
            else:
                fields["forward"] = own


# The names that converted code uses, as attributes of ``_jst``.
_HELPERS = types.SimpleNamespace(
    and_=and_,
    assert_=assert_,
    call=call,
    chain=chain,
    choose=choose,
    for_=for_,
    if_=if_,
    not_=not_,
    numpy=numpy,
    or_=or_,
    returned=returned,
    shape=shape,
    while_=while_,
)

# What was converted may be forgotten, and changes nothing while it is known.
converter = Converter(_HELPERS)
register("converted functions", converter, state=lambda: None, reset=converter.forget)
