"""Sequences whose positions, the first axis, lie on several ranks: moving them, with gradients.

The ranks are those of the group of tensor parallelism, which has one rank here, unless a group is
given.
"""

from __future__ import annotations

from typing import Any

from argosy.distributed.communication import gradients
from argosy.distributed.fleet.layers.mpu.mp_layers import ColumnParallelLinear, RowParallelLinear
from argosy.foundation.errors import BadArgument
from argosy.nn import Layer

__all__ = [
    "AllGatherOp",
    "ColumnSequenceParallelLinear",
    "GatherOp",
    "ReduceScatterOp",
    "RowSequenceParallelLinear",
    "ScatterOp",
    "is_sequence_parallel_parameter",
    "mark_as_sequence_parallel_parameter",
    "register_sequence_parallel_allreduce_hooks",
]


def _is_alone(group: Any) -> bool:
    return group is None or group.nranks == 1


class ScatterOp:
    """Takes this rank's positions of a sequence that all ranks have."""

    @staticmethod
    def apply(input: Any, axis: int = 0, group: Any = None) -> Any:
        """This rank's part; the gradients of the parts are joined."""
        if _is_alone(group):
            return input
        return gradients.own_part(input, group.id, group.rank, group.nranks, axis)


class GatherOp:
    """Joins the positions of all ranks, which go on alike."""

    @staticmethod
    def apply(input: Any, axis: int = 0, group: Any = None) -> Any:
        """The whole; of the gradient each rank takes its part."""
        if _is_alone(group):
            return input
        return gradients.all_parts(input, group.id, group.rank, group.nranks, axis)


class AllGatherOp:
    """Joins the positions of all ranks, which go on each with other weights."""

    @staticmethod
    def apply(input: Any, group: Any = None) -> Any:
        """The whole; each rank takes its part of the sum of the gradients."""
        return input if _is_alone(group) else gradients.joined(input, group.id, group.nranks)


class ReduceScatterOp:
    """Adds what the ranks have and takes this rank's positions of it."""

    @staticmethod
    def apply(input: Any, group: Any = None) -> Any:
        """This rank's part of the sum; the gradients of the parts are joined."""
        return input if _is_alone(group) else gradients.part_of_sum(input, group.id, group.nranks)


def mark_as_sequence_parallel_parameter(parameter: Any) -> None:
    """Mark a parameter that sees only some positions on each rank, so that its gradients must be
    added.
    """
    parameter.sequence_parallel = True


def is_sequence_parallel_parameter(parameter: Any) -> bool:
    """Whether it is marked."""
    return getattr(parameter, "sequence_parallel", False)


def register_sequence_parallel_allreduce_hooks(
    model: Layer, accumulation_steps: int, fuse_sequence_parallel_allreduce: bool
) -> None:
    """Add the gradients of marked parameters over the ranks of tensor parallelism: there is one, so
    nothing is to be added.
    """


class ColumnSequenceParallelLinear(ColumnParallelLinear):
    """``ColumnParallelLinear`` on the positions of all ranks."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        has_bias: bool | None = None,
        gather_output: bool = True,
        fuse_matmul_bias: bool = False,
        mp_group: Any = None,
        name: str | None = None,
    ) -> None:
        if gather_output:
            raise BadArgument(
                "ColumnSequenceParallelLinear: If sequence_parallel is True, gather_output is False"
            )
        super().__init__(
            in_features,
            out_features,
            weight_attr,
            has_bias,
            False,
            fuse_matmul_bias,
            mp_group,
            name,
        )


class RowSequenceParallelLinear(RowParallelLinear):
    """``RowParallelLinear`` that leaves each rank its positions."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        has_bias: bool = True,
        input_is_parallel: bool = False,
        fuse_matmul_bias: bool = False,
        mp_group: Any = None,
        name: str | None = None,
    ) -> None:
        if not input_is_parallel:
            raise BadArgument(
                "RowSequenceParallelLinear: If sequence_parallel is True, input_is_parallel should "
                "be true."
            )
        super().__init__(
            in_features, out_features, weight_attr, has_bias, True, fuse_matmul_bias, mp_group, name
        )
