"""What Paddle's files have in the place of ops that are one call here: other ops of the table, by
their names. These are values of the trait ``file_parts``; NotImplemented stands for the op itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from argosy.ops import table
from argosy.ops.traits import Record

Parts = Callable[..., Any]


class Ops:
    """The ops of the table as methods that record them."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def __getattr__(self, name: str) -> Callable[..., Any]:
        op = table.get(name)
        return lambda *args, **attrs: self._record(op, *args, **attrs)


def composed(parts: Parts) -> Parts:
    """Decorate parts that take the ops as their first argument."""
    return lambda record, *args, **attrs: parts(Ops(record), *args, **attrs)


def _axes(x: Any, axis: Any) -> list[int]:
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, (list, tuple)) else [axis]
    return [n % x.ndim for n in axes] if x.ndim else []


def _scaled(ops: Ops, x: Any, scale: float, bias: float) -> Any:
    return ops.scale(x, scale, bias, True)


def _at_least(ops: Ops, x: Any, least: float) -> Any:
    return ops.clip(x, least, torch.finfo(x.raw.dtype).max)


# -- numbers
# --------------------------------------------------------------------------------------------------


def _spread(ops: Ops, x: Any, axis: Any, correction: float, keepdim: bool) -> Any:
    mean = ops.mean(x, axis, True)
    total = ops.sum(ops.square(ops.subtract(x, mean)), axis, None, keepdim)
    sizes = [x.shape[n] for n in _axes(x, axis)]
    if -1 not in sizes:
        count = 1
        for size in sizes:
            count *= size
        return ops.divide(total, float(count - correction))
    per_mean = ops.divide(
        ops.cast(ops.numel(x), x.raw.dtype), ops.cast(ops.numel(mean), x.raw.dtype)
    )
    return ops.divide(total, ops.subtract(per_mean, float(correction)))


@composed
def var(ops: Ops, x: Any, axis: Any = None, correction: float = 1, keepdim: bool = False) -> Any:
    return _spread(ops, x, axis, correction, keepdim)


@composed
def std(ops: Ops, x: Any, axis: Any = None, correction: float = 1, keepdim: bool = False) -> Any:
    return ops.sqrt(_spread(ops, x, axis, correction, keepdim))


@composed
def clip(ops: Ops, x: Any, min: Any = None, max: Any = None) -> Any:
    """An open bound is the last number of the dtype."""
    if (min is not None and max is not None) or not x.raw.dtype.is_floating_point:
        return NotImplemented
    info = torch.finfo(x.raw.dtype)
    return ops.clip(x, info.min if min is None else min, info.max if max is None else max)


@composed
def normalize(ops: Ops, x: Any, p: float, axis: int, epsilon: float) -> Any:
    length = _at_least(ops, ops.p_norm(x, p, axis, True), epsilon)
    return ops.divide(x, length)


@composed
def cosine_similarity(ops: Ops, x1: Any, x2: Any, axis: int, epsilon: float) -> Any:
    if x1.shape[axis] != x2.shape[axis]:
        return NotImplemented

    def dot(x: Any, y: Any) -> Any:
        return ops.sum(ops.multiply(x, y), axis)

    squares = _at_least(ops, ops.multiply(dot(x1, x1), dot(x2, x2)), epsilon * epsilon)
    return ops.divide(dot(x1, x2), ops.sqrt(squares))


@composed
def cos_sim(ops: Ops, x: Any, y: Any) -> Any:
    def dot(x: Any, y: Any) -> Any:
        return ops.sum(ops.multiply(x, y), 1, None, True)

    lengths = ops.multiply(ops.sqrt(dot(x, x)), ops.sqrt(dot(y, y)))
    return ops.divide(dot(x, y), lengths)


def along_flat(name: str) -> Parts:
    """The parts of an op that works on all elements in a row where it is given no axis."""

    @composed
    def parts(ops: Ops, *args: Any, **attrs: Any) -> Any:
        given = table.get(name).signature.bind(*args, **attrs).arguments
        if given.get("axis") is not None:
            return NotImplemented
        return getattr(ops, name)(**given | {"x": ops.reshape(given["x"], [-1]), "axis": 0})

    return parts


@composed
def frac(ops: Ops, x: Any) -> Any:
    return ops.subtract(x, ops.trunc(x))


def scaled(factor: float) -> Parts:
    """The parts of an op that multiplies numbers with a fraction."""

    @composed
    def parts(ops: Ops, x: Any) -> Any:
        return _scaled(ops, x, factor, 0.0) if x.raw.dtype.is_floating_point else NotImplemented

    return parts


@composed
def logaddexp(ops: Ops, x: Any, y: Any) -> Any:
    gap = _scaled(ops, ops.abs(ops.subtract(x, y)), -1.0, 0.0)
    return ops.add(ops.maximum(x, y), ops.log1p(ops.exp(gap)))


@composed
def hypot(ops: Ops, x: Any, y: Any) -> Any:
    return ops.sqrt(ops.add(ops.square(x), ops.square(y)))


@composed
def nansum(
    ops: Ops, x: Any, axis: Any = None, dtype: torch.dtype | None = None, keepdim: bool = False
) -> Any:
    return ops.sum(
        ops.where(ops.isnan(x), ops.full_like(x, 0.0, x.raw.dtype), x), axis, dtype, keepdim
    )


@composed
def count_nonzero(ops: Ops, x: Any, axis: Any = None, keepdim: bool = False) -> Any:
    return ops.sum(ops.cast(ops.cast(x, torch.bool), torch.int64), axis, torch.int64, keepdim)


@composed
def inner(ops: Ops, x: Any, y: Any) -> Any:
    return ops.matmul(x, y, False, True) if x.ndim == y.ndim == 2 else NotImplemented


@composed
def outer(ops: Ops, x: Any, y: Any) -> Any:
    return ops.multiply(ops.reshape(x, [-1, 1]), ops.reshape(y, [1, -1]))


@composed
def pairwise_distance(
    ops: Ops, x: Any, y: Any, p: float = 2.0, epsilon: float = 1e-6, keepdim: bool = False
) -> Any:
    return ops.p_norm(_scaled(ops, ops.subtract(x, y), 1.0, epsilon), p, -1, keepdim)


@composed
def glu(ops: Ops, x: Any, axis: int = -1) -> Any:
    value, gate = ops.split(x, 2, axis % x.ndim)
    return ops.multiply(value, ops.sigmoid(gate))


@composed
def dropout(ops: Ops, x: Any, p: float, is_test: bool, upscale: bool, axes: Any) -> Any:
    """Paddle's operator knows no axes; in a test there are none."""
    if axes is None or not is_test:
        return NotImplemented
    return ops.dropout(x, p, True, upscale, None)


@composed
def alpha_dropout(ops: Ops, x: Any, p: float, is_test: bool, by_feature: bool) -> Any:
    return ops.assign(x) if is_test else NotImplemented


# -- losses
# --------------------------------------------------------------------------------------------------


def _reduced(ops: Ops, loss: Any, reduction: str) -> Any:
    return loss if reduction == "none" else getattr(ops, reduction)(loss)


@composed
def margin_ranking_loss(
    ops: Ops, input: Any, other: Any, label: Any, margin: float = 0.0, reduction: str = "mean"
) -> Any:
    gap = ops.multiply(ops.subtract(other, input), label)
    return _reduced(ops, ops.relu(_scaled(ops, gap, 1.0, margin)), reduction)


@composed
def smooth_l1_loss(
    ops: Ops, x: Any, y: Any, inside_weight: Any = None, outside_weight: Any = None,
    sigma: float = 1.0,
) -> Any:  # fmt: skip
    gap = ops.subtract(x, y)
    gap = ops.abs(gap if inside_weight is None else ops.multiply(gap, inside_weight))
    limit = 1.0 / sigma**2
    small, large = (
        _scaled(ops, ops.square(gap), 0.5 / limit, 0.0),
        _scaled(ops, gap, 1.0, -0.5 * limit),
    )
    loss = ops.where(ops.less_than(gap, limit), small, large)
    loss = loss if outside_weight is None else ops.multiply(loss, outside_weight)
    return ops.reshape(ops.sum(loss, list(range(1, x.ndim))), [-1, 1])


@composed
def hinge_embedding_loss(
    ops: Ops, input: Any, label: Any, margin: float = 1.0, reduction: str = "mean"
) -> Any:
    nothing = ops.full_like(input, 0.0, input.raw.dtype)
    far = ops.relu(_scaled(ops, input, -1.0, margin))
    loss = ops.add(
        ops.where(ops.equal(label, ops.full_like(label, 1.0, label.raw.dtype)), input, nothing),
        ops.where(ops.equal(label, ops.full_like(label, -1.0, label.raw.dtype)), far, nothing),
    )
    return _reduced(ops, loss, reduction)


@composed
def soft_margin_loss(ops: Ops, input: Any, label: Any, reduction: str = "mean") -> Any:
    agreed = ops.multiply(ops.cast(label, input.raw.dtype), input)
    loss = ops.softplus(_scaled(ops, agreed, -1.0, 0.0), 1.0, 20.0)
    return _reduced(ops, loss, reduction)


@composed
def ctc_loss(
    ops: Ops, logits: Any, labels: Any, input_lengths: Any, label_lengths: Any, blank: int = 0,
    reduction: str = "mean", norm_by_times: bool = False,
) -> Any:  # fmt: skip
    column = ops.ctc_column(logits, labels, input_lengths, label_lengths, blank, norm_by_times)
    loss = ops.squeeze(column, [1])
    if reduction == "mean":
        loss = ops.divide(loss, ops.cast(label_lengths, logits.raw.dtype))
    return _reduced(ops, loss, reduction)
