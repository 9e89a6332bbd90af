"""Datasets, samplers and DataLoader."""

from argosy.io._collate import default_collate_fn, default_convert_fn
from argosy.io._dataloader import DataLoader
from argosy.io._dataset import (
    ChainDataset,
    ComposeDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    random_split,
)
from argosy.io._sampler import (
    RandomSampler,
    Sampler,
    SequenceSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from argosy.io.batch_sampler import BatchSampler, DistributedBatchSampler
from argosy.io.worker import WorkerInfo, get_worker_info

__all__ = [
    "Dataset",
    "IterableDataset",
    "TensorDataset",
    "ComposeDataset",
    "ChainDataset",
    "BatchSampler",
    "DistributedBatchSampler",
    "DataLoader",
    "get_worker_info",
    "Sampler",
    "SequenceSampler",
    "RandomSampler",
    "WeightedRandomSampler",
    "random_split",
    "Subset",
    "SubsetRandomSampler",
    "ConcatDataset",
]
