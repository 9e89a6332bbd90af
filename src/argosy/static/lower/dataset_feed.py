"""Batches of a dataset as what programs are fed with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from argosy.static.ir.lod import Lod, LoDTensor


class SlotTensor(LoDTensor):
    """Sequences whose offsets were made by the reader, as a tensor: a batch has thousands, which
    need neither checks nor lists.
    """

    def __init__(self, value: torch.Tensor, offsets: torch.Tensor) -> None:
        self._value = value
        self.offset_tensors = (offsets,)

    @property
    def _offsets(self) -> Lod:  # type: ignore[override]
        return [level.tolist() for level in self.offset_tensors]


def feed_of(
    values: np.ndarray, offsets: np.ndarray | None, shape: Sequence[int]
) -> torch.Tensor | SlotTensor:
    """A dense slot as it is; a sequence slot of declared ``shape`` with its offsets, one value in a
    row.
    """
    raw = torch.from_numpy(values)
    if offsets is None:
        return raw
    return SlotTensor(raw.reshape([-1, *(max(n, 1) for n in shape[1:])]), torch.from_numpy(offsets))
