"""Accuracy of a batch."""

from __future__ import annotations

from typing import Any

from argosy import tensor as T
from argosy.fluid._missing import missing_names
from argosy.fluid.layers._shape import at_least_1d
from argosy.fluid.layers.tensor import assign
from argosy.metric import accuracy as _accuracy

__all__ = ["accuracy"]


def accuracy(input: Any, label: Any, k: int = 1, correct: Any = None, total: Any = None) -> Any:
    """The share of samples whose label is among the ``k`` largest of ``input``, of shape [1].

    ``correct`` and ``total`` are filled with the two counts if given.
    """
    share = at_least_1d(_accuracy(input, label, k))
    count = input.shape[0]
    if correct is not None:
        assign(T.cast(T.round(share * count), correct.dtype), correct)
    if total is not None:
        assign(T.full([1], count, total.dtype), total)
    return share


__getattr__ = missing_names(__name__, globals())
