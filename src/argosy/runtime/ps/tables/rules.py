"""How a pushed gradient changes a row: the optimizers that run on servers, one compiled loop each.

A row is ``dim`` values followed by the rule's state. Weight decay is added to the gradient (L2) and
bounds hold after the update; both touch only rows that are pushed. ``shows`` counts how often a row
occurred in the batch: the rules of Paddle's tables divide by it.

Loops that divide value by value do it as NumPy and torch do, without an exception for 0: the check
would keep the compiler from computing with vectors, which makes Adam 2.7 times as fast.
"""

# mypy: disable-error-code="untyped-decorator,no-any-return,call-arg"
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from argosy.foundation.errors import BadArgument, nearest
from argosy.runtime.ps.tables.rows import ask_for

_KNOWN_STEPS = 256


@numba.njit(nogil=True, cache=True)
def _sgd(memory: Any, rows: Any, grads: Any, shows: Any, lr: Any, h: Any, decay: Any) -> None:
    dim = grads.shape[1]
    for i in range(rows.shape[0]):
        ask_for(memory, rows, i, 4 * dim)
        w, g = memory[rows[i]], grads[i]
        for c in range(dim):
            w[c] -= lr * (g[c] + decay * w[c])


@numba.njit(nogil=True, cache=True)
def _momentum(memory: Any, rows: Any, grads: Any, shows: Any, lr: Any, h: Any, decay: Any) -> None:
    mu, nesterov, dim = h[0], h[1], grads.shape[1]
    for i in range(rows.shape[0]):
        ask_for(memory, rows, i, 8 * dim)
        w, g = memory[rows[i], :dim], grads[i]
        velocity = memory[rows[i], dim:]
        for c in range(dim):
            slope = g[c] + decay * w[c]
            velocity[c] = mu * velocity[c] + slope
            # with Nesterov's rule: the slope and one more turn of momentum
            w[c] -= lr * (velocity[c] + nesterov * (slope + mu * velocity[c] - velocity[c]))


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _adagrad(memory: Any, rows: Any, grads: Any, shows: Any, lr: Any, h: Any, decay: Any) -> None:
    eps, dim = h[0], grads.shape[1]
    for i in range(rows.shape[0]):
        ask_for(memory, rows, i, 8 * dim)
        w, g = memory[rows[i], :dim], grads[i]
        squares = memory[rows[i], dim:]
        for c in range(dim):
            slope = g[c] + decay * w[c]
            squares[c] += slope * slope
            w[c] -= lr * slope / (np.sqrt(squares[c]) + eps)


@numba.njit(nogil=True, cache=True)
def _table_adagrad(
    memory: Any, rows: Any, grads: Any, shows: Any, lr: Any, h: Any, decay: Any
) -> None:
    start, dim = h[0], grads.shape[1]
    for i in range(rows.shape[0]):
        ask_for(memory, rows, i, 4 * dim + 4)
        w, g = memory[rows[i]], grads[i]
        scale = np.float32(1.0) / shows[i]
        rate = lr * np.sqrt(start / (start + w[dim]))
        total = np.float32(0.0)
        for c in range(dim):
            slope = g[c] * scale + decay * w[c]
            w[c] -= rate * slope
            total += slope * slope
        w[dim] += total / np.float32(dim)


@numba.njit(nogil=True, cache=True)
def _table_std_adagrad(
    memory: Any, rows: Any, grads: Any, shows: Any, lr: Any, h: Any, decay: Any
) -> None:
    start, dim = h[0], grads.shape[1]
    for i in range(rows.shape[0]):
        ask_for(memory, rows, i, 8 * dim)
        w, g = memory[rows[i], :dim], grads[i]
        squares = memory[rows[i], dim:]
        scale = np.float32(1.0) / shows[i]
        for c in range(dim):
            slope = g[c] * scale + decay * w[c]
            w[c] -= lr * slope * np.sqrt(start / (start + squares[c]))
            squares[c] += slope * slope


@numba.njit(nogil=True, cache=True)
def _table_adagrad_v2(
    memory: Any, rows: Any, grads: Any, shows: Any, lr: Any, h: Any, decay: Any
) -> None:
    dim = grads.shape[1]
    for i in range(rows.shape[0]):
        ask_for(memory, rows, i, 4 * dim + 4)
        w, g = memory[rows[i]], grads[i]
        scale = np.float32(1.0) / shows[i]
        total = np.float32(0.0)
        for c in range(dim):
            slope = g[c] * scale + decay * w[c]
            total += slope * slope
        w[dim] += total / np.float32(dim)
        rate = lr / (np.sqrt(w[dim]) + np.float32(1e-8))
        for c in range(dim):
            w[c] -= rate * (g[c] * scale + decay * w[c])


@numba.njit(nogil=True, cache=True, inline="always")
def _corrections(known: Any, steps: Any, beta1: Any, beta2: Any) -> Any:
    """What Adam multiplies the rate and epsilon by in step ``steps`` of a row. Two powers take
    longer than all else that is done to a row of sixteen, and most rows of a push are in few
    different steps: ``known`` keeps them by step.
    """
    place = known[np.int64(steps) % known.shape[0]]
    if place[0] != steps:
        correction = math.sqrt(1.0 - float(beta2) ** steps)
        place[0], place[1], place[2] = steps, correction, 1.0 - float(beta1) ** steps
    return place[1], place[2]


@numba.njit(nogil=True, cache=True)
def _table_shared_adam(
    memory: Any, rows: Any, grads: Any, shows: Any, lr: Any, h: Any, decay: Any
) -> None:
    """Adam with one pair of moments for all values of a row: the means of what they would be."""
    beta1, beta2, eps, dim = h[0], h[1], h[2], grads.shape[1]
    known = np.zeros((_KNOWN_STEPS, 3))
    one = np.float32(1.0)
    for i in range(rows.shape[0]):
        ask_for(memory, rows, i, 4 * dim + 12)
        w, g = memory[rows[i]], grads[i]
        first, second, steps = w[dim], w[dim + 1], w[dim + 2] + one
        correction, divisor = _corrections(known, steps, beta1, beta2)
        rate = np.float32(lr * correction / divisor)
        firsts = seconds = np.float32(0.0)
        for c in range(dim):
            slope = g[c] + decay * w[c]
            m = beta1 * first + (one - beta1) * slope
            v = beta2 * second + (one - beta2) * slope * slope
            w[c] -= rate * m / (np.sqrt(v) + eps)
            firsts += m
            seconds += v
        w[dim], w[dim + 1], w[dim + 2] = firsts / np.float32(dim), seconds / np.float32(dim), steps


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _adam(memory: Any, rows: Any, grads: Any, shows: Any, lr: Any, h: Any, decay: Any) -> None:
    beta1, beta2, eps, decoupled, dim = h[0], h[1], h[2], h[3], grads.shape[1]
    known = np.zeros((_KNOWN_STEPS, 3))
    one = np.float32(1.0)
    keep = one - lr * decoupled
    for i in range(rows.shape[0]):
        ask_for(memory, rows, i, 12 * dim + 4)
        row, g = memory[rows[i]], grads[i]
        w, m, v = row[:dim], row[dim : 2 * dim], row[2 * dim : 3 * dim]
        steps = row[3 * dim] + one
        row[3 * dim] = steps
        correction, divisor = _corrections(known, steps, beta1, beta2)
        rate = np.float32(lr * correction / divisor)
        floor = np.float32(eps * correction)
        for c in range(dim):
            slope = g[c] + decay * w[c]
            m[c] = beta1 * m[c] + (one - beta1) * slope
            v[c] = beta2 * v[c] + (one - beta2) * slope * slope
            w[c] = w[c] * keep - rate * m[c] / (np.sqrt(v[c]) + floor)


@numba.njit(nogil=True, cache=True)
def _hold(memory: Any, rows: Any, dim: int, low: Any, high: Any) -> None:
    """Bring values back between the bounds."""
    for i in range(rows.shape[0]):
        w = memory[rows[i], :dim]
        for c in range(dim):
            w[c] = min(max(w[c], low), high)


@dataclass(frozen=True)
class _Kind:
    """The loop of a rule, its hyper-parameters in order with their defaults, and how many numbers
    of state a row of ``dim`` has.
    """

    loop: Callable[..., None]
    defaults: dict[str, float]
    state_width: Callable[[int], int]


_KINDS = {
    "sgd": _Kind(_sgd, {}, lambda dim: 0),
    "momentum": _Kind(_momentum, {"momentum": 0.9, "use_nesterov": 0.0}, lambda dim: dim),
    "adagrad": _Kind(_adagrad, {"epsilon": 1e-6}, lambda dim: dim),
    "table_adagrad": _Kind(_table_adagrad, {"initial_g2sum": 3.0}, lambda dim: 1),
    "table_std_adagrad": _Kind(_table_std_adagrad, {"initial_g2sum": 3.0}, lambda dim: dim),
    "table_adagrad_v2": _Kind(_table_adagrad_v2, {}, lambda dim: 1),
    "table_shared_adam": _Kind(
        _table_shared_adam, {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}, lambda dim: 3
    ),
    "adam": _Kind(
        _adam,
        {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "decoupled_decay": 0.0},
        lambda dim: 2 * dim + 1,
    ),
}
_UNBOUNDED = (-math.inf, math.inf)


@dataclass(frozen=True)
class Rule:
    """An optimizer of a sparse table: its name, rate, hyper-parameters, L2 decay, bounds of values,
    what its state begins with, and bounds of gradients.
    """

    name: str = "sgd"
    learning_rate: float = 0.01
    settings: dict[str, float] = field(default_factory=dict)
    weight_decay: float = 0.0
    bounds: tuple[float, float] = _UNBOUNDED
    initial_state: float = 0.0
    clip: tuple[float, float] = _UNBOUNDED

    def __post_init__(self) -> None:
        if self.name not in _KINDS:
            raise BadArgument(
                f"Rule: name must be one of {sorted(_KINDS)}, but received "
                f"{self.name!r}.{nearest(self.name, _KINDS)}"
            )
        known = _KINDS[self.name].defaults
        for key in self.settings:
            if key not in known:
                raise BadArgument(
                    f"Rule {self.name!r} has no setting {key!r}; it has "
                    f"{sorted(known)}.{nearest(key, known)}"
                )

    def row_width(self, dim: int) -> int:
        """Numbers per row: values and state."""
        return dim + _KINDS[self.name].state_width(dim)

    def update(
        self,
        memory: npt.NDArray[np.float32],
        rows: npt.NDArray[np.int32],
        grads: npt.NDArray[np.float32],
        shows: npt.NDArray[np.float32],
        learning_rate: float | None = None,
    ) -> None:
        """Apply one gradient to each of ``rows``, which are all different."""
        kind = _KINDS[self.name]
        hyper = np.array(
            [self.settings.get(key, default) for key, default in kind.defaults.items()], np.float32
        )
        rate = np.float32(self.learning_rate if learning_rate is None else learning_rate)
        if self.clip != _UNBOUNDED:
            grads = np.clip(grads, np.float32(self.clip[0]), np.float32(self.clip[1]))
        kind.loop(memory, rows, grads, shows, rate, hyper, np.float32(self.weight_decay))
        if self.bounds != _UNBOUNDED:
            _hold(
                memory, rows, grads.shape[1], np.float32(self.bounds[0]), np.float32(self.bounds[1])
            )
