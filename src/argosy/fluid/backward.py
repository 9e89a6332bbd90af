"""``fluid.backward``: gradients in programs, and the names that they have."""

from __future__ import annotations

from typing import Any

from argosy.fluid.core import grad_var_suffix


def _append_grad_suffix_(name: str) -> str:
    """The name of the gradient of a variable."""
    return name + grad_var_suffix()


def _strip_grad_suffix_(name: str) -> str:
    """The name of the variable whose gradient has this name."""
    end = name.find(grad_var_suffix())
    return name[:end] if end >= 0 else name


def _as_list(x: Any) -> list[Any]:
    """``x`` as a list; None is an empty one."""
    if x is None:
        return []
    return list(x) if isinstance(x, (list, tuple)) else [x]
