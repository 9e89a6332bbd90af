"""The process-wide defaults that Paddle's API forces: dtype of new floats and the place of new
tensors.
"""

from __future__ import annotations

from typing import Any

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError
from argosy.foundation.places import CPUPlace, Place, to_place
from argosy.foundation.process_state import register


class _Defaults:
    """Current values; ``reset()`` restores those of a fresh process."""

    __slots__ = ("device", "dtype", "is_place_chosen", "place")

    dtype: torch.dtype
    device: torch.device
    place: Place
    is_place_chosen: bool

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.dtype = torch.float32
        self.place = CPUPlace()
        self.device = torch.device("cpu")
        self.is_place_chosen = False
        if torch.cuda.is_available():
            self.set_place("gpu:0")
            self.is_place_chosen = False

    def set_place(self, place: Any) -> Place:
        wanted = to_place(place)
        self.device = wanted.device
        self.place = to_place(self.device)
        self.is_place_chosen = True
        return self.place


defaults = register("default dtype and place", _Defaults())


def set_default_dtype(d: Any) -> None:
    """Set the dtype that ``paddle.ones`` and the like, parameters and Python floats get when none
    is given.
    """
    dtype = dtypes.to_torch(d)
    if dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise DtypeError(
            "set_default_dtype only supports [float16, bfloat16, float32, float64], but "
            f"received {dtypes.name_of(dtype)}"
        )
    defaults.dtype = dtype


def get_default_dtype() -> str:
    """Return the name of the default dtype."""
    return dtypes.name_of(defaults.dtype)


def float_dtype(dtype: Any) -> torch.dtype:
    """The torch dtype for ``dtype``, the default one for None."""
    return defaults.dtype if dtype is None else dtypes.to_torch(dtype)
