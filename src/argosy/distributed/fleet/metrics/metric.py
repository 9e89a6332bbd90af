"""Metrics over all workers, from the numbers that each has counted.

An input is an array, a Variable or a variable's name (looked up in ``scope``, by default the global
one). ``util`` adds up; by default it is ``fleet.util``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from argosy.distributed.fleet.the_fleet import the_fleet
from argosy.foundation.errors import UsageError
from argosy.static import Variable, global_scope
from argosy.tensor.engine import Tensor

__all__ = ["acc", "auc", "mae", "max", "min", "mse", "rmse", "sum"]


def _array(value: Any, scope: Any) -> np.ndarray:
    if isinstance(value, Variable):
        value = value.name
    if isinstance(value, str):
        found = (global_scope() if scope is None else scope).find_var(value)
        if found is None:
            raise UsageError(f"fleet.metrics: the scope holds no variable {value!r}")
        return np.array(found.get_tensor())
    return value.numpy() if isinstance(value, Tensor) else np.asarray(value)


def _over_workers(value: Any, scope: Any, util: Any, mode: str = "sum") -> np.ndarray:
    mine = _array(value, scope)
    if util is None:
        util = the_fleet.util
    return np.asarray(util.all_reduce(mine, mode)).reshape(mine.shape)


def sum(input: Any, scope: Any = None, util: Any = None) -> np.ndarray:
    """The element-wise sum of ``input`` over the workers.

    Example:
        >>> import numpy
        >>> import paddle.distributed.fleet as fleet
        >>> _ = fleet.init(is_collective=True)
        >>> fleet.metrics.sum(numpy.array([1.0, 2.0]))
        array([1., 2.])
    """
    return _over_workers(input, scope, util)


def max(input: Any, scope: Any = None, util: Any = None) -> np.ndarray:
    """The element-wise maximum of ``input`` over the workers."""
    return _over_workers(input, scope, util, "max")


def min(input: Any, scope: Any = None, util: Any = None) -> np.ndarray:
    """The element-wise minimum of ``input`` over the workers."""
    return _over_workers(input, scope, util, "min")


def auc(stat_pos: Any, stat_neg: Any, scope: Any = None, util: Any = None) -> float:
    """The area under the ROC curve from counts of positive and negative samples by score, [1,
    buckets] each; 0.5 where one kind is missing.
    """
    positive = _over_workers(stat_pos, scope, util).reshape(-1)[::-1].astype(np.float64)
    negative = _over_workers(stat_neg, scope, util).reshape(-1)[::-1].astype(np.float64)
    above = np.cumsum(positive)
    total = above[-1] * negative.sum() if len(above) else 0.0
    if total == 0:
        return 0.5
    area = np.sum(negative * (2 * above - positive) / 2)
    return float(area / total)


def _ratio(part: Any, total: Any, scope: Any, util: Any) -> float:
    whole = _over_workers(total, scope, util).reshape(-1)
    return float(_over_workers(part, scope, util).reshape(-1)[0]) / float(whole[0])


def mae(abserr: Any, total_ins_num: Any, scope: Any = None, util: Any = None) -> float:
    """The mean absolute error from the sum of absolute errors and the number of samples."""
    return _ratio(abserr, total_ins_num, scope, util)


def rmse(sqrerr: Any, total_ins_num: Any, scope: Any = None, util: Any = None) -> float:
    """The root of the mean squared error from the sum of squared errors and the number of
    samples.
    """
    return math.sqrt(_ratio(sqrerr, total_ins_num, scope, util))


def mse(sqrerr: Any, total_ins_num: Any, scope: Any = None, util: Any = None) -> float:
    """The mean squared error from the sum of squared errors and the number of samples."""
    return _ratio(sqrerr, total_ins_num, scope, util)


def acc(correct: Any, total: Any, scope: Any = None, util: Any = None) -> float:
    """The accuracy from the number of correct answers and the number of all."""
    return _ratio(correct, total, scope, util)
