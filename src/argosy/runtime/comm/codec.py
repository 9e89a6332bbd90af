"""A codec: how values travel in fewer bytes than they have."""

from __future__ import annotations

import abc
from collections.abc import Sequence

import torch


class Codec(abc.ABC):
    """One form on the wire, for flat tensors of float32 or float64 on the CPU. ``code`` is what
    hosts compare; parts of a tensor that are encoded by themselves begin at multiples of ``block``.

    The same bytes decode to the same bits everywhere.
    """

    code: int
    block: int = 16
    keeps_residual: bool = False  # what was lost in encoding is added to the next values
    wire: torch.dtype | None = None  # where what it encodes are numbers of a dtype

    @abc.abstractmethod
    def num_bytes(self, count: int) -> int:
        """What ``count`` values take."""

    def plain_bytes(self, count: int) -> int:
        """How many of them lie before the numbers of dtype ``wire``."""
        return 0

    @abc.abstractmethod
    def encode(
        self, values: torch.Tensor, out: torch.Tensor, residual: torch.Tensor | None
    ) -> None:
        """Write ``values`` to ``out``, bytes; ``residual`` goes in before and holds what was lost
        after, where the codec keeps one.
        """

    @abc.abstractmethod
    def add_up(
        self, parts: Sequence[torch.Tensor], weights: Sequence[float], out: torch.Tensor
    ) -> None:
        """Decode ``parts`` and leave their weighted sum, in their order, in ``out``."""
