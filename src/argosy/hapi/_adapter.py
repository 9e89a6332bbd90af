"""What a Model asks of the mode that it works in."""

from __future__ import annotations

import abc
from typing import Any

from argosy.distributed.communication.all_gather import all_gather
from argosy.foundation import env
from argosy.hapi._setup import Setup
from argosy.io import DataLoader, IterableDataset
from argosy.tensor import concat


def gather(x: Any) -> Any:
    """The rows of all ranks, in rank order; every rank must call it."""
    rows: list[Any] = []
    all_gather(rows, x)
    return concat(rows, axis=0)


class Adapter(abc.ABC):
    """Trains, evaluates and predicts one batch, keeps files; one per mode."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.world_size = env.world_size()
        self._num_counted = 0  # samples of this evaluation so far
        self.num_samples: int | None = None  # of all ranks in the last batch, where it is known

    @abc.abstractmethod
    def prepare(self) -> None:
        """Take up what ``prepare`` of the Model said."""

    @abc.abstractmethod
    def train_batch(self, inputs: Any, labels: Any, update: bool) -> Any:
        """A forward and a backward pass, and with ``update`` a step of the optimizer."""

    @abc.abstractmethod
    def eval_batch(self, inputs: Any, labels: Any) -> Any:
        """A forward pass with loss and metrics."""

    @abc.abstractmethod
    def predict_batch(self, inputs: Any) -> Any:
        """A forward pass."""

    @abc.abstractmethod
    def save(self, path: str) -> None:
        """Write parameters and the optimizer's state to files that start with ``path``."""

    @abc.abstractmethod
    def load(self, params: list[tuple[Any, Any]], optimizer: Any, scaler: Any) -> None:
        """Set parameters, (parameter, value) each, and states where they are not None."""

    @abc.abstractmethod
    def save_inference(self, path: str) -> None:
        """Write the network as a program for inference."""

    def start(self) -> None:
        """Begin an epoch, an evaluation or a prediction."""
        self._num_counted = 0
        self.num_samples = None

    def without_padding(self, gathered: list[Any]) -> list[Any]:
        """Cut off the rows with which samplers filled up the last batch, so that every rank has as
        many.
        """
        loader = self.setup.eval_loader
        if not isinstance(loader, DataLoader) or isinstance(loader.dataset, IterableDataset):
            return gathered
        left = len(loader.dataset) - self._num_counted
        self.num_samples = min(gathered[0].shape[0], left)
        # a loader that gives every rank all samples starts anew when they are through
        self._num_counted = self._num_counted + self.num_samples if self.num_samples < left else 0
        return [rows[: self.num_samples] for rows in gathered]
