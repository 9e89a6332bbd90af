"""What ``DataLoader.from_dataset`` gives: the batches of a dataset, one for each place at a
time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from argosy.foundation.errors import BadArgument
from argosy.framework import in_dynamic_mode
from argosy.static.ir.lod import LoDTensor

__all__ = ["DatasetLoader"]


class DatasetLoader:
    """Iterates a dataset anew each time: lists of feeds, a dict of LoDTensors for each place. Each
    place has a reader of its own; the others go on when one is at its end. Where fewer batches than
    places are left these are dropped, with ``drop_last`` a reader's last batch too, if it is not
    full.
    """

    def __init__(self, dataset: Any, places: Any, drop_last: bool) -> None:
        if in_dynamic_mode():
            raise BadArgument("DatasetLoader is not supported in dygraph mode yet")
        self._places = list(places) if isinstance(places, (list, tuple)) else [places]
        if len(dataset.filelist) < len(self._places):
            raise BadArgument(
                f"Filelist number of dataset {len(dataset.filelist)} must be not less than place "
                f"number {len(self._places)}"
            )
        self._dataset = dataset
        self._drop_last = drop_last

    def __call__(self) -> Iterator[list[dict[str, Any]]]:
        return iter(self)

    def __iter__(self) -> Iterator[list[dict[str, Any]]]:
        left = self._dataset.readers(len(self._places))
        held: list[dict[str, Any]] = []
        while left:
            for reader in list(left):
                feed, num_samples = next(reader, (None, 0))
                if feed is None or (self._drop_last and num_samples < self._dataset.batch_size):
                    left.remove(reader)
                    continue
                place = self._places[len(held)]
                held.append({name: _tensor(value, place) for name, value in feed.items()})
                if len(held) == len(self._places):
                    yield held
                    held = []
                    break


def _tensor(value: Any, place: Any) -> LoDTensor:
    if isinstance(value, LoDTensor):
        return value
    made = LoDTensor()
    made.set(value.numpy(), place)
    return made
