"""A bucket: a flat tensor that all ranks of a group average in place, in two halves so that other
work can go on in between.
"""

from __future__ import annotations

import abc

import torch


class Bucket(abc.ABC):
    """Memory for gradients, the same on every rank. Each round: fill ``tensor``, ``publish()``,
    perhaps ``progress()``, ``finish()``.
    """

    tensor: torch.Tensor

    @abc.abstractmethod
    def publish(self) -> None:
        """Say that this rank has filled its tensor; returns at once."""

    @abc.abstractmethod
    def progress(self) -> bool:
        """Do what can be done without waiting; True once nothing is left for it to do in this
        round.
        """

    def is_complete(self) -> bool:
        """Whether ``tensor`` is known to hold the mean of this round, so that ``finish`` need not
        wait.
        """
        return False

    @abc.abstractmethod
    def finish(self) -> None:
        """Wait until ``tensor`` holds the mean over all ranks."""

    @abc.abstractmethod
    def close(self) -> None: ...
