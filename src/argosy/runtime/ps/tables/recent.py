"""Where the ids of the last pulls were found: a worker pushes the ids that it has pulled, and to
find 20,000 of them again takes as long as to update their rows.
"""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

_KEPT = 8  # pulls; workers may have several steps under way
_LARGEST = 1 << 18  # ids; what is kept stays below 25 MB


class Recent:
    """Rows by all the ids of a pull, as long as rows stay where they are."""

    def __init__(self) -> None:
        self._kept: deque[tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]] = deque(maxlen=_KEPT)

    def keep(self, ids: npt.NDArray[np.int64], rows: npt.NDArray[np.int32]) -> None:
        if ids.shape[0] <= _LARGEST:
            self._kept.append((ids.copy(), rows))

    def take(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int32] | None:
        """The rows of these very ids; None if they were not pulled together lately."""
        for place, (known, rows) in enumerate(self._kept):
            if known.shape == ids.shape and np.array_equal(known, ids):
                del self._kept[place]
                return rows
        return None

    def forget(self) -> None:
        """Rows have got other places."""
        self._kept.clear()
