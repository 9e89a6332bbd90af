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
    """Iterates a dataset anew each time: lists of feeds, a dict of LoDTensors for each place. With
    ``drop_last`` batches that are not full, and places without a batch, are left out.
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
        held: list[dict[str, Any]] = []
        for feed, num_samples in self._dataset.counted_feeds(len(self._places)):
            if self._drop_last and num_samples < self._dataset.batch_size:
                continue
            place = self._places[len(held)]
            held.append({name: _tensor(value, place) for name, value in feed.items()})
            if len(held) == len(self._places):
                yield held
                held = []
        if held and not self._drop_last:
            yield held


def _tensor(value: Any, place: Any) -> LoDTensor:
    if isinstance(value, LoDTensor):
        return value
    made = LoDTensor()
    made.set(value.numpy(), place)
    return made
