"""``fluid.dataset``: the datasets with the setters of Paddle 1.x."""

from __future__ import annotations

from typing import Any

from argosy.distributed.fleet import dataset as _dataset
from argosy.foundation.errors import UsageError, nearest

__all__ = ["DatasetFactory", "DatasetBase", "InMemoryDataset", "QueueDataset", "FileInstantDataset", "BoxPSDataset"]


def _setters(kind: type) -> dict[str, Any]:
    """``set_x`` for each ``_set_x``."""
    found = {n[1:]: getattr(kind, n) for n in dir(kind) if n.startswith("_set_")}
    return {**found, "desc": kind._desc}


class DatasetBase(_dataset.DatasetBase):
    """Settings of a dataset."""


class QueueDataset(_dataset.QueueDataset):
    """Reads its files while training."""


class InMemoryDataset(_dataset.InMemoryDataset):
    """Loads its files and shuffles."""


class FileInstantDataset(_dataset.FileInstantDataset):
    """As QueueDataset."""


for _kind in (DatasetBase, QueueDataset, InMemoryDataset, FileInstantDataset):
    for _name, _function in _setters(_kind).items():
        setattr(_kind, _name, _function)

BoxPSDataset = _dataset.BoxPSDataset


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
        kinds = __all__[2:]
        if datafeed_class not in kinds:
            raise UsageError(f"datafeed class {datafeed_class} does not exist.{nearest(str(datafeed_class), kinds)}")
        return globals()[datafeed_class]()
