"""``fluid.dataset``: the datasets with the setters of Paddle 1.x."""

from argosy.distributed.fleet.dataset.factory import (
    BoxPSDataset,
    DatasetBase,
    DatasetFactory,
    FileInstantDataset,
    InMemoryDataset,
    QueueDataset,
)

__all__ = [
    "DatasetFactory",
    "DatasetBase",
    "InMemoryDataset",
    "QueueDataset",
    "FileInstantDataset",
    "BoxPSDataset",
]
