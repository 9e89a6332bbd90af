"""How a reducer holds on to parameters without being held by them.

The engine's hooks are invisible to the garbage collector, so they must not keep the reducer alive;
and what it has attached to the parameters must be taken back when it goes.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from argosy.foundation import gradients
from argosy.runtime.parallel.gradient_views import GradientBucket, GradientView
from argosy.runtime.parallel.rows import RowAverage


@dataclass
class Held:
    """What must be taken back when a reducer goes: nothing in here refers to the reducer."""

    params: list[torch.Tensor]
    handles: list[Any] = field(default_factory=list)
    views: dict[int, GradientView] = field(default_factory=dict)  # by the index of the parameter
    buckets: list[GradientBucket] = field(default_factory=list)
    rows: dict[int, RowAverage] = field(default_factory=dict)

    def release(self) -> None:
        for handle in self.handles:
            handle.remove()
        for index, view in self.views.items():
            param = self.params[index]
            if gradients.home_of(param) is view.home:
                gradients.attach(param, None)
            if view.holds(param.grad):
                param.grad = view.place.clone()
        for bucket in self.buckets:
            bucket.close()
        for rows in self.rows.values():
            rows.close()


def make_hook(
    method: weakref.WeakMethod[Callable[[int, torch.Tensor], None]], index: int
) -> Callable[[torch.Tensor], None]:
    """A hook that calls ``method(index, param)`` while its object lives."""

    def hook(param: torch.Tensor) -> None:
        alive = method()
        if alive is not None:
            alive(index, param)

    return hook


def weakly(method: Callable[[], None]) -> Callable[[], None]:
    """``method``, or nothing once its object is gone."""
    reference = weakref.WeakMethod(method)

    def call() -> None:
        alive = reference()
        if alive is not None:
            alive()

    return call
