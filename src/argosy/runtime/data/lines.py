"""Lines that hold a whole batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from argosy.runtime.data.slots import BadData

Array = npt.NDArray[Any]


def as_batches(values: Array, offsets: Array | None) -> tuple[Array, Array | None]:
    """The column of one line, whose values belong to a sample each."""
    if offsets is None:
        return values, None
    if len(offsets) != 2:
        raise BadData(
            "input_type=1: a line is a batch, so batch_size must be 1, but a batch has "
            f"{len(offsets) - 1} lines"
        )
    return values, np.arange(len(values) + 1)
