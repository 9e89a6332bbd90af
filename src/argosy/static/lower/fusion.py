"""Compiling a lowered program with torch's compiler, where one can run.

What is compiled are the plain ops of the forward pass, and with them their gradients. Updates are
fused kernels already; they and everything that draws random numbers, works in place or meets other
places run as they are.
"""

from __future__ import annotations

import builtins
import shutil
import warnings
from collections.abc import Callable
from typing import Any

import torch

from argosy.foundation import env
from argosy.ops import table
from argosy.ops.table import Op
from argosy.static.lower.lowered import Lowered


def has_compiler() -> bool:
    """Whether there is a compiler for the code that torch generates for the CPU; a warning if
    not.
    """
    if any(shutil.which(name) for name in (env.get("CXX"), "g++", "clang++") if name):
        return True
    warnings.warn(
        "BuildStrategy.enable_auto_fusion: no C++ compiler was found (CXX, g++, clang++), so the "
        "program runs without fusion",
        stacklevel=2,
    )
    return False


def fuse(lowered: Lowered) -> None:
    """Let ``lowered.run`` be compiled at its first call."""
    names = lowered.run.__globals__
    names["gradients_of"] = _kept_out(names["gradients_of"])
    # torch's guards look here for their own; the function itself has none
    names["__builtins__"] = vars(builtins)
    lowered.run = torch.compile(lowered.run)


def unfused(op: Op, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, kept out of what is compiled if the op is none of those that can be."""
    is_plain = (
        table.named(op.name) is op
        and function is op.fn
        and not op.traits.is_random
        and not op.traits.mutates
    )
    return function if is_plain and not _reads_values(function) else _kept_out(function)


def _kept_out(function: Callable[..., Any]) -> Callable[..., Any]:
    out: Callable[..., Any] = torch.compiler.disable(function)  # type: ignore[no-untyped-call]
    return out


def _reads_values(function: Callable[..., Any]) -> bool:
    """Whether a function takes numbers out of tensors, at which the compiler would have to stop and
    complain.
    """
    code = getattr(function, "__code__", None)
    return code is not None and "item" in code.co_names
