"""Datasets as Paddle 1.x and 2.0-beta made them: by a factory, with a setter for each setting."""

from __future__ import annotations

from typing import Any

from argosy.distributed.fleet.dataset import _base, _box, _memory, _queue
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
    others = ("_desc", "_generate_local_tables_unlock")
    wanted = [n for n in dir(kind) if n.startswith("_set_") or n in others]
    return {n[1:]: getattr(kind, n) for n in wanted}


class DatasetBase(_base.DatasetBase):
    """Settings of a dataset."""


class QueueDataset(_queue.QueueDataset):
    """Reads its files while training."""


class InMemoryDataset(_memory.InMemoryDataset):
    """Loads its files and shuffles.

    Walks over graphs are made on GPUs: without them, as in Paddle, their settings are kept and
    lines are read as always.
    """

    def __init__(self) -> None:
        super().__init__()
        self.graph_config: dict[str, Any] = {}
        self._pass_id = 0

    def set_graph_config(self, config: dict[str, Any]) -> None:
        """Keep the settings of walks over a graph."""
        self.graph_config = dict(config)

    def set_pass_id(self, pass_id: int) -> None:
        """Number the pass over the graph."""
        self._pass_id = pass_id

    def get_pass_id(self) -> int:
        return self._pass_id

    def get_epoch_finish(self) -> bool:
        """Whether all nodes of the graph were visited: without walks never."""
        return False


class BoxPSDataset(_box.BoxPSDataset):
    """As InMemoryDataset."""


class FileInstantDataset(_queue.FileInstantDataset):
    """As QueueDataset."""


for _kind in (DatasetBase, QueueDataset, InMemoryDataset, BoxPSDataset, FileInstantDataset):
    for _name, _function in _setters(_kind).items():
        setattr(_kind, _name, _function)

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
