"""What both minimisers ask of their arguments, and the value and gradient of an objective."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy.autograd import grad
from argosy.foundation.errors import DtypeError, NotSupported, UsageError
from argosy.framework.mode import switch
from argosy.static import gradients
from argosy.static.record.assert_op import record_assert
from argosy.tensor import all as all_true
from argosy.tensor import assign, cast, eigvalsh, eye, transpose
from argosy.tensor.engine import Tensor

Objective = Callable[[Tensor], Tensor]

_INDEFINITE = "initial_inverse_hessian_estimate must be symmetric and positive definite"


def _check_arguments(call: str, position: Any, line_search_fn: str, dtype: str) -> None:
    """Refuse what no minimiser takes."""
    if dtype not in ("float32", "float64"):
        raise UsageError(f"{call}: dtype must be 'float32' or 'float64', but received {dtype!r}")
    if line_search_fn != "strong_wolfe":
        raise NotSupported(
            f"{call}: the only line_search_fn is 'strong_wolfe', but received {line_search_fn!r}"
        )
    _require_tensor(call, "initial_position", position)


def _first_estimate(call: str, given: Any, size: int, dtype: str) -> Tensor:
    """The inverse Hessian to start with: the identity, or ``given`` after a look at it, which in a
    program happens when it runs.
    """
    if given is None:
        identity: Tensor = eye(size, dtype=dtype)
        return identity
    _require_tensor(call, "initial_inverse_hessian_estimate", given)
    symmetric = all_true(given == transpose(given, [1, 0]))
    definite = symmetric.logical_and(all_true(eigvalsh(given) > 0.0))
    if switch.is_static:
        record_assert(definite, [given], message=_INDEFINITE)
    elif not definite:
        raise UsageError(f"{call}: {_INDEFINITE}, but received {given}")
    estimate: Tensor = cast(given, dtype)
    return estimate


def begin(
    call: str, objective: Objective, position: Any, estimate: Any, line_search_fn: str, dtype: str
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Look at the arguments of a minimiser; returns the inverse Hessian to start with, and
    position, value and gradient there.
    """
    _check_arguments(call, position, line_search_fn, dtype)
    estimate = _first_estimate(call, estimate, position.shape[0], dtype)
    start = assign(position.detach())
    return estimate, start, *value_and_gradient(objective, start)


def value_and_gradient(objective: Objective, position: Tensor) -> tuple[Tensor, Tensor]:
    """Both, apart from any graph; ``position`` keeps no gradient."""
    leaf = position.detach()
    leaf.stop_gradient = False
    value = objective(leaf)
    differentiate: Any = gradients if switch.is_static else grad
    return value.detach(), differentiate([value], [leaf])[0].detach()


def _require_tensor(call: str, argument: str, value: Any) -> None:
    if not isinstance(value, Tensor):
        error = DtypeError if switch.is_static else UsageError
        raise error(f"{call}: {argument} must be a Tensor, but received {type(value).__name__}")
