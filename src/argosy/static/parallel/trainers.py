"""The processes that train a program together, as far as running one needs to know them.

This layer does not know how processes communicate. Whoever does (``argosy.distributed``, once it
has joined a job) installs a ``Trainers``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch

from argosy.foundation.errors import ConfigError
from argosy.foundation.process_state import Held


class SharedBuffer(Protocol):
    """A flat tensor that all trainers average in place; made by all of them alike."""

    tensor: torch.Tensor

    def average(self) -> None:
        """Leave the mean over the trainers in ``tensor``; every trainer calls it."""

    def close(self) -> None: ...


class Trainers(Protocol):
    """The group of trainers this process is one of. All of them call the methods in the same
    order.
    """

    rank: int
    world_size: int

    def check_same(self, lines: list[str]) -> None:
        """Raise unless all trainers give the same descriptions of the tensors that they are about
        to exchange.
        """

    def buffer(self, numel: int, dtype: torch.dtype, device: torch.device) -> SharedBuffer:
        """Make memory for gradients."""

    def total(self, tensor: torch.Tensor) -> None:
        """Replace ``tensor`` by its sum over the trainers."""

    def average_rows(self, grad: torch.Tensor) -> torch.Tensor:
        """The mean over the trainers of a row-sparse gradient: the rows of all, each divided by
        their number.
        """

    def broadcast(self, tensors: list[torch.Tensor]) -> None:
        """Give ``tensors`` the values they have on trainer 0."""


_installed: Held[Trainers | None] = Held("trainers of programs", None)
_promised: Held[Callable[[], object] | None] = Held("trainers that are still to meet", None)


def install(trainers: Trainers | None) -> None:
    """Make ``trainers`` the ones that programs with ``num_trainers`` above 1 talk to; None: there
    are none.
    """
    _installed.value = trainers


def promise(join: Callable[[], object] | None) -> None:
    """Have the first program that needs trainers call ``join``, which installs them."""
    _promised.value = join


def find(num_trainers: int, trainer_id: int) -> Trainers | None:
    """The trainers of a run; None for a single one, an error if the job is another one."""
    if num_trainers == 1:
        return None
    if _installed.value is None and _promised.value is not None:
        _promised.value()
    trainers = _installed.value
    if trainers is None:
        raise ConfigError(
            f"num_trainers={num_trainers}: this process has not joined the other trainers.\n"
            "  Call paddle.distributed.init_parallel_env() in every process before the first run."
        )
    if (trainers.world_size, trainers.rank) != (num_trainers, trainer_id):
        raise ConfigError(
            f"num_trainers={num_trainers} and trainer_id={trainer_id}, but this process is rank "
            f"{trainers.rank} "
            f"of a job of {trainers.world_size}"
        )
    return trainers
