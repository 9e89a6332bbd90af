"""How the gradients of a wrapped model become common to its ranks.

A wrapper *holds* an exchange and asks it for a reducer whenever its trainable parameters change, so
that another way to exchange gradients is another object and not a subclass of the wrapper.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from argosy.foundation.errors import NotSupported
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.reducer import Reducer, ReducerOptions
from argosy.runtime.parallel.sharding.sharded_reducer import ReplicatedReducer, ShardedReducer
from argosy.runtime.parallel.sharding.shards import Shards


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


@dataclass(frozen=True)
class OwnedGradients(GradientExchange):
    """Sharding stage 2: the owner of a parameter gets the mean of its gradient, the others None.

    ``replicas`` are the ranks, one of each sharding group, that own the same parameters.
    """

    shards: Shards
    bucket_bytes: int
    replicas: Group | None = None

    def make_reducer(
        self, params: Sequence[torch.Tensor], names: Sequence[str], sparse: Sequence[bool]
    ) -> ShardedReducer:
        owners = self.shards.owners_of(params, names, sparse)
        return ShardedReducer(
            params, names, owners, self.shards.group, self.bucket_bytes, self.replicas
        )


@dataclass(frozen=True)
class ReplicatedGradients(GradientExchange):
    """Sharding stage 3 in several groups, for parameters that stay whole: the mean over ``group``
    and over ``replicas``, the ranks with the same parts in other groups.
    """

    group: Group
    options: ReducerOptions
    replicas: Group

    def make_reducer(
        self, params: Sequence[torch.Tensor], names: Sequence[str], sparse: Sequence[bool]
    ) -> ReplicatedReducer:
        if any(sparse):
            name = names[list(sparse).index(True)]
            raise NotSupported(
                f"sharding stage 3 with dp_group: parameter {name!r} has row-sparse gradients"
            )
        return ReplicatedReducer(params, names, sparse, self.group, self.options, self.replicas)
