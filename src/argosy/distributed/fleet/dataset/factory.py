"""Datasets as Paddle 1.x and 2.0-beta made them: by a factory, with a setter for each setting."""

from __future__ import annotations

from typing import Any

from argosy.distributed.fleet.dataset import _base, _memory, _queue
from argosy.foundation.errors import UsageError, nearest

__all__ = [
    "BoxPSDataset",
    "DatasetBase",
    "DatasetFactory",
    "FileInstantDataset",
    "InMemoryDataset",
    "QueueDataset",
]


def _setters(kind: type[_base.DatasetBase]) -> dict[str, Any]:
    """``set_x`` for each ``_set_x``, and ``desc``."""
    wanted = [n for n in dir(kind) if n.startswith("_set_") or n == "_desc"]
    return {n[1:]: getattr(kind, n) for n in wanted}


class DatasetBase(_base.DatasetBase):
    """Settings of a dataset."""


class QueueDataset(_queue.QueueDataset):
    """Reads its files while training."""


class InMemoryDataset(_memory.InMemoryDataset):
    """Loads its files and shuffles."""


class FileInstantDataset(_queue.FileInstantDataset):
    """As QueueDataset."""


for _kind in (DatasetBase, QueueDataset, InMemoryDataset, FileInstantDataset):
    for _name, _function in _setters(_kind).items():
        setattr(_kind, _name, _function)

BoxPSDataset = _queue.BoxPSDataset
_KINDS = {
    kind.__name__: kind
    for kind in (InMemoryDataset, QueueDataset, FileInstantDataset, BoxPSDataset)
}


class DatasetFactory:
    """Makes datasets by the name of their class.

    Example:
        >>> import paddle.fluid as fluid
        >>> dataset = fluid.DatasetFactory().create_dataset("InMemoryDataset")
        >>> dataset.set_batch_size(32)
        >>> dataset.set_filelist(["train.txt"])
    """

    def create_dataset(self, datafeed_class: str = "QueueDataset") -> Any:
        """A QueueDataset, InMemoryDataset or FileInstantDataset."""
        if datafeed_class not in _KINDS:
            raise UsageError(
                f"datafeed class {datafeed_class} does not "
                f"exist.{nearest(str(datafeed_class), _KINDS)}"
            )
        return _KINDS[datafeed_class]()
