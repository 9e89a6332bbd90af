"""A program as one step of eager code.

The lowered function runs on the tensors inside of its inputs, and of the Tensors that the program
captured, directly under torch's autograd: what it computes is part of the caller's graph as if the
ops had been called one by one, and `backward` of eager code goes through it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from argosy.foundation.errors import raise_as
from argosy.static.ir.program import Program
from argosy.static.lower.lowered import Lowered
from argosy.static.lower.lowering import lower
from argosy.static.run.call import located
from argosy.tensor.engine import Tensor, rewrap, wrap


class PartialProgram:
    """A recorded program with the Tensors that it uses.

    ``feeds`` and ``fetches`` name its inputs and outputs; ``tensors`` holds what stands behind its
    persistable variables, by name.
    """

    def __init__(
        self,
        program: Program,
        feeds: Sequence[str],
        fetches: Sequence[str],
        tensors: dict[str, Tensor],
        call: str,
    ) -> None:
        self.program = program
        self._feeds = list(feeds)
        self._fetches = list(dict.fromkeys(fetches))
        self._positions = [self._fetches.index(name) for name in fetches]
        self._tensors = tensors
        self.training = True  # whether it was recorded in training mode
        self._call = call
        self._lowered_version = -1
        self._lowered: Lowered | None = None
        self._state: list[Tensor] = []
        self._written: list[Tensor] = []

    def _lower(self) -> Lowered:
        device = torch.device("cpu")
        lowered = lower(self.program, self._feeds, self._fetches, device, joins_graph=True)
        self._state = [self._tensors[name] for name in lowered.reads]
        self._written = [self._tensors[name] for name in lowered.writes]
        self._lowered, self._lowered_version = lowered, self.program.version
        return lowered

    def __call__(self, inputs: Sequence[torch.Tensor]) -> list[Any]:
        """Run; returns the outputs as Tensors, None where one got no value."""
        lowered = self._lowered
        if lowered is None or self._lowered_version != self.program.version:
            lowered = self._lower()
        try:
            fetched, written = lowered.run(tuple(inputs), [t.raw for t in self._state])
        except Exception as error:  # of an op: whatever it is, it is told with the operator
            raise_as(located(lowered, error, self._call), error)
        if written:
            for tensor, value in zip(self._written, written, strict=True):
                _store(tensor, value)
        return [_given(fetched[position]) for position in self._positions]


def _given(value: Any) -> Any:
    return wrap(value) if type(value) is torch.Tensor else rewrap(value)


def _store(tensor: Tensor, value: torch.Tensor) -> None:
    """Let a Tensor that the program captured hold what was assigned to its variable."""
    raw = tensor.raw
    if value is raw:
        return
    with torch.no_grad():
        if raw.shape == value.shape and raw.dtype is value.dtype:
            raw.copy_(value)
        else:
            tensor.take_over(value.detach().clone())
