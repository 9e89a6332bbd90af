"""Reductions: sums, extrema, moments, quantiles, histograms."""

from __future__ import annotations

from typing import Any

from argosy.foundation.dtypes import to_torch
from argosy.foundation.errors import DtypeError, RankError, UsageError
from argosy.ops.math import histogram as histogram_ops
from argosy.ops.math import reduction as ops
from argosy.ops.table import Op
from argosy.tensor._core.arguments import axes, store
from argosy.tensor._core.tensor import Tensor, apply

__all__ = [
    "all", "amax", "amin", "any", "bincount", "count_nonzero", "histogram", "histogram_bin_edges",
    "histogramdd", "logsumexp",
    "max", "mean", "median", "min", "nanmean", "nanmedian", "nanquantile", "nansum", "prod",
    "quantile", "reduce_as", "std",
    "sum", "var",
]  # fmt: skip


def sum(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdim: bool = False,
    name: str | None = None,
    *,
    out: Any = None,
) -> Any:
    """Sum over ``axis``, all axes by default.

    bool and int32 are summed into int64; ``dtype`` chooses another result type.

    Example:
        >>> import paddle
        >>> paddle.sum(paddle.to_tensor([[1, 2], [3, 4]]), axis=0).tolist()
        [4, 6]
    """
    if axis is None and dtype is None and not keepdim and out is None:
        return apply(ops.sum, x)
    wanted = None if dtype is None else to_torch(dtype)
    return store(out, apply(ops.sum, x, axes(axis, "sum"), wanted, keepdim), "sum")


def mean(
    x: Any,
    axis: Any = None,
    keepdim: bool = False,
    name: str | None = None,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    """Average over ``axis``, all axes by default.

    The mean of integers is an integer, truncated towards zero, unless ``dtype`` names a floating
    type.

    Example:
        >>> import paddle
        >>> paddle.mean(paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]]), axis=1, keepdim=True).tolist()
        [[1.5], [3.5]]
    """
    if axis is None and not keepdim and dtype is None and out is None:
        return apply(ops.mean, x)
    wanted = None if dtype is None else to_torch(dtype)
    return store(out, apply(ops.mean, x, axes(axis, "mean"), keepdim, wanted), "mean")


def _reducer(op: Op, doc: str) -> Any:
    """A face function ``f(x, axis=None, keepdim=False, name=None)``."""
    call = op.name

    def face(x: Any, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Any:
        return apply(op, x, axes(axis, call), keepdim)

    return _dress(face, call, doc)


def _reducer_with_out(op: Op, doc: str, name: str | None = None) -> Any:
    """A face function ``f(x, axis=None, keepdim=False, name=None, *, out=None)``."""
    call = name or op.name

    def face(
        x: Any, axis: Any = None, keepdim: bool = False, name: str | None = None, *, out: Any = None
    ) -> Any:
        return store(out, apply(op, x, axes(axis, call), keepdim), call)

    return _dress(face, call, doc)


def _dress(face: Any, name: str, doc: str) -> Any:
    face.__name__ = face.__qualname__ = name
    face.__doc__ = doc
    return face


max = _reducer(ops.max, "Largest value over ``axis``; equal ones share the gradient evenly.")
min = _reducer(ops.min, "Smallest value over ``axis``; equal ones share the gradient evenly.")
amax = _reducer_with_out(
    ops.max, "Largest value over ``axis``; equal ones share the gradient evenly.", "amax"
)
amin = _reducer_with_out(
    ops.min, "Smallest value over ``axis``; equal ones share the gradient evenly.", "amin"
)
all = _reducer_with_out(ops.all, "Whether every element over ``axis`` is non-zero.")
any = _reducer_with_out(ops.any, "Whether some element over ``axis`` is non-zero.")
logsumexp = _reducer_with_out(
    ops.logsumexp, "``log(sum(exp(x)))`` over ``axis``, without overflow."
)
count_nonzero = _reducer(
    ops.count_nonzero, "How many elements over ``axis`` are not zero; NaN counts."
)
nanmean = _reducer(ops.nanmean, "Average over ``axis`` of the elements that are not NaN.")


def nansum(
    x: Any, axis: Any = None, dtype: Any = None, keepdim: bool = False, name: str | None = None
) -> Any:
    """Sum over ``axis`` with NaN counted as zero."""
    return apply(
        ops.nansum, x, axes(axis, "nansum"), None if dtype is None else to_torch(dtype), keepdim
    )


def prod(
    x: Any,
    axis: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
    out: Any = None,
    name: str | None = None,
) -> Any:
    """Product over ``axis``, all axes by default; unlike ``sum`` it keeps int32.

    Differs from Paddle: the gradient at a zero is the product of the other elements, not NaN.
    """
    value = apply(
        ops.prod, x, axes(axis, "prod"), keepdim, None if dtype is None else to_torch(dtype)
    )
    return store(out, value, "prod")


def var(
    x: Any,
    axis: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    name: str | None = None,
    *,
    correction: float = 1,
    out: Any = None,
) -> Any:
    """Variance over ``axis`` with divisor ``n - correction``; ``unbiased`` True or False means
    correction 1 or 0.
    """
    if unbiased is not None:
        if correction != 1:
            raise UsageError("var: Only one of unbiased and correction may be given")
        correction = 1 if unbiased else 0
    return store(out, apply(ops.var, x, axes(axis, "var"), correction, keepdim), "var")


def std(
    x: Any, axis: Any = None, unbiased: bool = True, keepdim: bool = False, name: str | None = None
) -> Any:
    """Standard deviation over ``axis`` with divisor ``n - 1``, or ``n`` if not ``unbiased``."""
    return apply(ops.std, x, axes(axis, "std"), 1 if unbiased else 0, keepdim)


def _check_median(x: Any, axis: Any, mode: str, call: str) -> None:
    if not isinstance(x, Tensor):
        raise DtypeError(f"{call}: the input x should be a Tensor, but received {type(x).__name__}")
    if isinstance(axis, (list, tuple)) and not axis:
        raise UsageError(f"{call}: axis list should not be empty")
    if mode not in ("avg", "min"):
        raise UsageError(f"{call}: mode {mode} is not supported. Must be avg or min.")


def median(
    x: Any,
    axis: Any = None,
    keepdim: bool = False,
    mode: str = "avg",
    name: str | None = None,
    *,
    out: Any = None,
) -> Any:
    """Median over one axis or over all elements; NaN if there is a NaN.

    ``mode`` "avg" averages the middle two of an even number, in at least float32; "min" takes the
    lower one and, given an axis, also returns its index.
    """
    _check_median(x, axis, mode, "median")
    rank = x.ndim
    if rank == 0 and axis not in (-1, 0, None):
        raise RankError(
            f"median: when input is 0-D, axis can only be -1, 0 or None, but received {axis}"
        )
    if rank and axis is not None and not (isinstance(axis, int) and -rank <= axis < rank):
        raise UsageError(
            f"median: axis should be None or an integer in [-{rank}, {rank}), but received {axis}"
        )
    pair = apply(ops.median, x, axis, keepdim, mode, False)
    if mode == "min" and axis is not None:
        return store(out, pair, "median")
    return store(out, pair[0], "median")


def nanmedian(
    x: Any, axis: Any = None, keepdim: bool = False, mode: str = "avg", name: str | None = None
) -> Any:
    """Median over ``axis`` of the elements that are not NaN; ``mode`` as in ``median``, the dtype
    stays.
    """
    _check_median(x, axis, mode, "nanmedian")
    with_index = mode == "min" and axis is not None and not isinstance(axis, (list, tuple))
    pair = apply(ops.median, x, axes(axis, "nanmedian"), keepdim, mode, True)
    return tuple(pair) if with_index else pair[0]


_INTERPOLATIONS = ("linear", "lower", "higher", "nearest", "midpoint")


def _quantile(
    x: Any, q: Any, axis: Any, keepdim: bool, interpolation: str, ignore_nan: bool
) -> Any:
    if not isinstance(x, Tensor):
        raise DtypeError(f"quantile: input x should be a Tensor, but received {type(x).__name__}")
    if not isinstance(q, (int, float, list, tuple, Tensor)):
        raise DtypeError(
            "quantile: q should be int, float, list, tuple or Tensor, but received "
            f"{type(q).__name__}"
        )
    if isinstance(q, Tensor):
        if q.ndim > 1:
            raise UsageError(
                f"quantile: q should be a 0-D or 1-D tensor, but received shape {q.shape}"
            )
    levels = q if isinstance(q, Tensor) and q.raw.is_meta else _levels(q)  # a program's: at its run
    if interpolation not in _INTERPOLATIONS:
        raise UsageError(
            f"quantile: interpolation must be one of {_INTERPOLATIONS}, but received "
            f"{interpolation!r}"
        )
    return apply(
        ops.quantile, x, levels, axes(axis, "quantile"), keepdim, interpolation, ignore_nan
    )


def _levels(q: Any) -> list[float]:
    given = q.tolist() if isinstance(q, Tensor) else q
    levels = [float(v) for v in given] if isinstance(given, (list, tuple)) else [float(given)]
    if not levels:
        raise UsageError("quantile: q should not be empty")
    for level in levels:
        if not 0 <= level <= 1:
            raise UsageError(f"quantile: q should be in range [0, 1], but received {level}")
    return levels


def quantile(
    x: Any,
    q: Any,
    axis: Any = None,
    keepdim: bool = False,
    interpolation: str = "linear",
    name: str | None = None,
    *,
    out: Any = None,
) -> Any:
    """Quantiles at the levels ``q`` over ``axis``; several levels are stacked along a new first
    axis.

    Example:
        >>> import paddle
        >>> paddle.quantile(paddle.to_tensor([1.0, 2.0, 3.0, 4.0]), [0.0, 0.5]).tolist()
        [1.0, 2.5]
    """
    return store(out, _quantile(x, q, axis, keepdim, interpolation, False), "quantile")


def nanquantile(
    x: Any, q: Any, axis: Any = None, keepdim: bool = False, interpolation: str = "linear"
) -> Any:
    """``quantile`` of the elements that are not NaN."""
    return _quantile(x, q, axis, keepdim, interpolation, True)


def reduce_as(x: Any, target: Any, name: str | None = None) -> Any:
    """Sum ``x`` down to the shape of ``target``, which must broadcast to that of ``x``."""
    return apply(ops.reduce_as, x, target)


def histogram(
    input: Any,
    bins: int = 100,
    min: float = 0.0,
    max: float = 0.0,
    weight: Any = None,
    density: bool = False,
    name: str | None = None,
) -> Any:
    """Count the elements in each of ``bins`` equal intervals of [min, max]; both 0 mean the range
    of the data.
    """
    return apply(histogram_ops.histogram, input, weight, bins, min, max, density)


def histogram_bin_edges(
    input: Any, bins: int = 100, min: float = 0.0, max: float = 0.0, name: str | None = None
) -> Any:
    """The ``bins + 1`` edges that ``histogram`` would use."""
    return apply(histogram_ops.histogram_bin_edges, input, bins, min, max)


def histogramdd(
    x: Any,
    bins: Any = 10,
    ranges: Any = None,
    density: bool = False,
    weights: Any = None,
    name: str | None = None,
) -> Any:
    """Histogram of D-dimensional points: the counts and the list of D edge tensors."""
    limits = None if ranges is None else [float(v) for v in ranges]
    return apply(histogram_ops.histogramdd, x, weights, bins, limits, density)


def bincount(x: Any, weights: Any = None, minlength: int = 0, name: str | None = None) -> Any:
    """How often each integer 0, 1, 2, ... occurs in ``x``, or the sum of its ``weights``."""
    return apply(histogram_ops.bincount, x, weights, int(minlength))


TENSOR_METHODS = __all__
