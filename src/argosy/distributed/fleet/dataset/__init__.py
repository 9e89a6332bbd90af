"""Datasets of files in the multi-slot text format, for ``Executor.train_from_dataset``."""

from argosy.distributed.fleet.dataset._base import DatasetBase
from argosy.distributed.fleet.dataset._box import BoxPSDataset
from argosy.distributed.fleet.dataset._memory import InMemoryDataset
from argosy.distributed.fleet.dataset._queue import FileInstantDataset, QueueDataset
from argosy.distributed.fleet.dataset.factory import DatasetFactory

__all__ = [
    "DatasetBase",
    "DatasetFactory",
    "InMemoryDataset",
    "QueueDataset",
    "FileInstantDataset",
    "BoxPSDataset",
]
