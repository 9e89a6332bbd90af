"""How the gradients of a wrapped model become common to its ranks.

A wrapper *holds* an exchange and asks it for a reducer whenever its trainable parameters change, so
that another way to exchange gradients is another object and not a subclass of the wrapper.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.reducer import Reducer, ReducerOptions
from argosy.runtime.parallel.sharded_reducer import ShardedReducer


class GradientExchange(abc.ABC):
    """One way; all ranks of the model have the same."""

    @abc.abstractmethod
    def make_reducer(
        self, params: Sequence[torch.Tensor], names: Sequence[str], sparse: Sequence[bool]
    ) -> Reducer | ShardedReducer:
        """A reducer on ``params``, whose backward it takes part in until it is closed; ``sparse``
        marks those with row-sparse gradients. All ranks call it alike.
        """


@dataclass(frozen=True)
class AveragedGradients(GradientExchange):
    """Every rank of ``group`` gets the mean of every gradient."""

    group: Group
    options: ReducerOptions

    def make_reducer(
        self, params: Sequence[torch.Tensor], names: Sequence[str], sparse: Sequence[bool]
    ) -> Reducer:
        return Reducer(params, names, sparse, self.group, self.options)
