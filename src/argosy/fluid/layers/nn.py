"""Reshaping, selecting and multiplying tensors; dropout, pooling and other functions without parameters."""

from __future__ import annotations

from typing import Any

import torch

from argosy import tensor as T
from argosy.fluid._activation import activate
from argosy.fluid._dropout import dropout as _dropout
from argosy.fluid._missing import missing_names
from argosy.fluid._multiply import mul
from argosy.fluid._pooling import pool2d
from argosy.fluid._tracer import tracers
from argosy.nn import functional as F
from argosy.nn.clip import clip_by_norm as _clip_by_norm

__all__ = [
    "clip",
    "clip_by_norm",
    "cos_sim",
    "dropout",
    "expand",
    "expand_as",
    "flatten",
    "gather",
    "gather_nd",
    "l2_normalize",
    "matmul",
    "mul",
    "one_hot",
    "pool2d",
    "reshape",
    "scatter",
    "sequence_mask",
    "shape",
    "slice",
    "split",
    "squeeze",
    "stack",
    "sum",
    "topk",
    "transpose",
    "unsqueeze",
    "unstack",
    "where",
]


def reshape(
    x: Any, shape: Any, actual_shape: Any = None, act: str | None = None, inplace: bool = False, name: str | None = None
) -> Any:
    """Another shape; -1 stands for what is left, 0 for the extent that ``x`` has there. ``actual_shape`` replaces ``shape``."""
    return activate(T.reshape(x, shape if actual_shape is None else actual_shape), act)


def transpose(x: Any, perm: Any, name: str | None = None) -> Any:
    """Reorder the axes."""
    return T.transpose(x, perm)


def squeeze(input: Any, axes: Any, name: str | None = None) -> Any:
    """Drop the given axes of length 1, or all of them for []."""
    return T.squeeze(input, axes if axes else None)


def unsqueeze(input: Any, axes: Any, name: str | None = None) -> Any:
    """Insert axes of length 1."""
    return T.unsqueeze(input, axes)


def flatten(x: Any, axis: int = 1, name: str | None = None) -> Any:
    """A matrix: the axes before ``axis`` are its rows."""
    rows = 1
    for extent in x.shape[:axis]:
        rows *= extent
    return T.reshape(x, [rows, x.size // rows if rows else -1])


def split(input: Any, num_or_sections: Any, dim: Any = -1, name: str | None = None) -> Any:
    """Cut along ``dim`` into equal parts, or into sections of given lengths."""
    return T.split(input, num_or_sections, dim)


def stack(x: Any, axis: int = 0, name: str | None = None) -> Any:
    """Join tensors of one shape along a new axis."""
    return T.stack(x if isinstance(x, (list, tuple)) else [x], axis)


def unstack(x: Any, axis: int = 0, num: int | None = None) -> Any:
    """The tensors along an axis, without it."""
    return T.unstack(x, axis, num)


def expand(x: Any, expand_times: Any, name: str | None = None) -> Any:
    """Repeat along each axis."""
    return T.tile(x, expand_times)


def expand_as(x: Any, target_tensor: Any, name: str | None = None) -> Any:
    """Repeat along each axis until the shape is that of ``target_tensor``."""
    return T.tile(x, [to // have for to, have in zip(target_tensor.shape, x.shape, strict=True)])


def slice(input: Any, axes: Any, starts: Any, ends: Any) -> Any:
    """The part from ``starts`` to before ``ends`` along each of ``axes``."""
    return T.slice(input, axes, starts, ends)


def shape(input: Any) -> Any:
    """The shape, as a tensor of int32."""
    return T.cast(T.shape(input), "int32")


def gather(input: Any, index: Any, overwrite: bool = True) -> Any:
    """The rows with the given numbers; ``overwrite`` only chose how gradients of equal rows were added."""
    return T.gather(input, index)


def gather_nd(input: Any, index: Any, name: str | None = None) -> Any:
    """The elements or parts at the positions that the last axis of ``index`` holds."""
    return T.gather_nd(input, index)


def scatter(input: Any, index: Any, updates: Any, name: str | None = None, overwrite: bool = True) -> Any:
    """A copy of ``input`` whose rows ``index`` are replaced by ``updates``, or by their sums."""
    return T.scatter(input, index, updates, overwrite)


def where(condition: Any) -> Any:
    """The positions of the elements that are true, one per row."""
    return T.nonzero(condition)


def topk(input: Any, k: Any, name: str | None = None) -> Any:
    """The ``k`` largest elements along the last axis, and where they are."""
    return T.topk(input, k)


def one_hot(input: Any, depth: int, allow_out_of_range: bool = False) -> Any:
    """Ones at the given columns: the last axis of ``input``, of length 1, becomes one of length ``depth``."""
    ids = T.squeeze(input, [-1]) if input.ndim > 1 and input.shape[-1] == 1 else input
    if not allow_out_of_range:
        return F.one_hot(ids, depth)
    return T.cast(T.equal(T.unsqueeze(ids, [-1]), T.arange(0, depth, 1, ids.dtype)), "float32")


def matmul(
    x: Any, y: Any, transpose_x: bool = False, transpose_y: bool = False, alpha: float = 1.0, name: str | None = None
) -> Any:
    """The product of matrices, times ``alpha``; two vectors give shape [1]."""
    product = T.matmul(x, y, transpose_x, transpose_y)
    if product.ndim == 0:
        product = T.reshape(product, [1])
    return product if alpha == 1.0 else product * alpha


def sum(x: Any) -> Any:
    """Add up the tensors of a list, element by element."""
    return T.add_n(x)


def clip(x: Any, min: float, max: float, name: str | None = None) -> Any:
    """The elements, held between ``min`` and ``max``."""
    return T.clip(x, min, max)


def clip_by_norm(x: Any, max_norm: float, name: str | None = None) -> Any:
    """``x``, scaled down so that its 2-norm is at most ``max_norm``."""
    return _clip_by_norm(x, max_norm)


def l2_normalize(x: Any, axis: int | None, epsilon: float = 1e-12, name: str | None = None) -> Any:
    """``x`` divided by the root of its sum of squares plus ``epsilon`` along ``axis``."""
    axis = 0 if x.ndim == 1 or axis is None else axis
    return x / T.sqrt(T.sum(T.square(x), axis, keepdim=True) + epsilon)


def cos_sim(X: Any, Y: Any) -> Any:
    """The cosine of the angle between rows, of shape [N, 1]; ``Y`` may have one row for all."""

    def norm(x: Any) -> Any:
        return T.sqrt(T.sum(T.square(x), 1, keepdim=True))

    return T.sum(X * Y, 1, keepdim=True) / (norm(X) * norm(Y))


def sequence_mask(x: Any, maxlen: Any = None, dtype: Any = "int64", name: str | None = None) -> Any:
    """For each length, that many ones followed by zeros."""
    return F.sequence_mask(x, maxlen, dtype)


def dropout(
    x: Any,
    dropout_prob: float,
    is_test: bool = False,
    seed: int | None = None,
    name: str | None = None,
    dropout_implementation: str = "downgrade_in_infer",
) -> Any:
    """Zero elements with probability ``dropout_prob``, unless ``is_test``, a layer's ``eval()`` or ``no_grad`` says otherwise.

    By default what is kept stays as it is, and in evaluation everything is multiplied by 1 - dropout_prob.
    """
    is_training = not is_test and tracers.current.is_training and torch.is_grad_enabled()
    return _dropout(x, dropout_prob, is_training, seed, dropout_implementation)


__getattr__ = missing_names(__name__, globals())
