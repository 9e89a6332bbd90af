"""The kept variables of a program on several places.

Those of place 0 are the scope's own, so that the scope holds current values after each run. The
other places have copies, which follow whenever something else than a run has changed the scope:
``load``, ``set``, another program.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from argosy.static.ir.scope import Scope
from argosy.static.parallel.exchange import Exchange
from argosy.static.parallel.trainers import Trainers


class Replicas:
    """A scope for each place; programs that share variables share this."""

    def __init__(self, scope: Scope, devices: Sequence[torch.device]) -> None:
        self.devices = list(devices)
        self.scopes = [scope, *(Scope() for _ in self.devices[1:])]
        # What the scope held after the last run: the tensor and how often it had been written.
        self._seen: dict[str, tuple[torch.Tensor, int]] = {}
        self._is_agreed = False

    def refresh(self, names: Iterable[str]) -> None:
        """Copy to the places what was changed in the scope since the last run."""
        scope = self.scopes[0]
        for name in names:
            held = scope.holding(name)
            tensor = held.tensor
            assert tensor is not None
            seen = self._seen.get(name)
            if seen is not None and seen[0] is tensor and seen[1] == tensor._version:
                continue
            if tensor.device != self.devices[0]:
                held.store(tensor.to(self.devices[0]), copies=False)
                tensor = held.tensor
                assert tensor is not None
            for other, device in zip(self.scopes[1:], self.devices[1:], strict=True):
                other.var(name).store(tensor.to(device))

    def note(self, names: Iterable[str]) -> None:
        """Take what the scope holds now as the state after a run."""
        for name in names:
            tensor = self.scopes[0].var(name).tensor
            assert tensor is not None
            self._seen[name] = (tensor, tensor._version)

    def forget(self) -> None:
        """After a run that failed midway, in which places may have come apart: copy everything
        before the next.
        """
        self._seen.clear()

    def agree(self, names: Iterable[str], trainers: Trainers, exchange: Exchange) -> None:
        """Start from the values of trainer 0, once."""
        if not self._is_agreed:
            self._is_agreed = True
            held = {name: self.scopes[0].holding(name).tensor for name in names}
            with torch.no_grad():
                exchange.agree({name: t for name, t in held.items() if t is not None}, trainers)
