"""Lowered: what a program becomes for one set of feeds and fetches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import torch

from argosy.foundation.errors import ProgramError
from argosy.ops.table import Op
from argosy.static.ir.operator import Operator
from argosy.static.ir.scope import Scope
from argosy.static.ir.variable import Variable
from argosy.static.lower import fetch
from argosy.static.lower.feed import FeedSpec, LodSpec
from argosy.static.lower.gradients import is_differentiable


class Lowered:
    """A program made ready for one set of feeds and fetches.

    ``operators`` says which operator a line of ``source`` comes from, ``locals_by_name`` which
    local holds a variable.
    """

    def __init__(
        self,
        run: Callable[..., Any],
        source: str,
        operators: dict[int, Operator],
        locals_by_name: dict[str, str],
        feeds: list[FeedSpec | LodSpec],
        state: list[Variable],
        writes: list[str],
        trains: bool,
        alike: Sequence[Sequence[str]] = (),
    ) -> None:
        self.run = run
        self.code = getattr(run, "__code__", None)  # by which errors find the operator
        self.source = source
        self.operators = operators
        self.locals_by_name = locals_by_name
        self.feeds = feeds
        self.lods: fetch.Places = []  # where the offsets of fetches are among what a run returns
        self.reads = [v.name for v in state]
        self.writes = writes
        self._state = state
        self.trains = trains  # has a backward
        self._alike = alike  # lists of kept variables that may share a tensor
        self._gathered: tuple[Any, int, tuple[torch.Tensor, ...]] = (None, -1, ())

    def given(self, fed: dict[str, Any], device: torch.device) -> tuple[torch.Tensor | None, ...]:
        """What is fed, by name, as the tensors that ``run`` takes."""
        tensors = []
        for spec in self.feeds:
            tensors.append(spec.to_tensor(fed[spec.source], device))
        return tuple(tensors)

    def state(self, scope: Scope) -> tuple[torch.Tensor, ...]:
        """The tensors that ``scope`` holds for the variables read; gathered anew only when one got
        other memory.
        """
        known, version, tensors = self._gathered
        if known is scope and version == scope.version:
            return tensors
        for names in self._alike:
            scope.share(names)
        tensors = tuple(self._ready(scope))
        self._gathered = (scope, scope.version, tensors)
        return tensors

    def _ready(self, scope: Scope) -> Iterator[torch.Tensor]:
        shared: dict[int, torch.Tensor] = {}
        may_share = {name for names in self._alike for name in names}
        for variable in self._state:
            held = scope.holding(variable.name)
            if held.sharers and variable.name not in may_share:
                held.take_apart()  # another program's run has joined them
            ready = shared.get(id(held.tensor))
            if ready is None:
                ready = self._prepared(variable, held.tensor)
                if held.sharers:
                    shared[id(held.tensor)] = ready
            yield ready

    def _prepared(self, variable: Variable, tensor: torch.Tensor | None) -> torch.Tensor:
        assert tensor is not None  # Scope.holding saw to it
        if list(tensor.shape) != list(variable.shape) and -1 not in variable.shape:
            raise ProgramError(
                f"Executor.run: variable {variable.name!r} has shape {list(variable.shape)} in "
                "the program, "
                f"{list(tensor.shape)} in the scope"
            )
        if self.trains and is_differentiable(variable):
            return tensor.requires_grad_()
        return tensor.detach()


class Stream(Protocol):
    """Random numbers of one's own."""

    random_state: torch.Tensor | None


class Adaptation(Protocol):
    """What a run that is one of several changes in a program: see ``parallel.adapt``."""

    def operators(self, operators: list[Operator], fetches: Sequence[str]) -> list[Operator]:
        """The operators to run in place of the recorded ones of the global block."""

    def function(self, op: Op) -> Callable[..., Any]:
        """What to call for an op of the table."""

    @property
    def stream(self) -> Stream | None:
        """What random ops draw from instead of torch's default generator."""
