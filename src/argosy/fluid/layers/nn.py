"""Reshaping, selecting and multiplying tensors; convolutions, dropout, pooling and other
functions.
"""

from __future__ import annotations

from typing import Any

import torch

from argosy import tensor as T
from argosy.fluid._dropout import dropout as _dropout
from argosy.fluid._pooling import adaptive_pool2d, pool2d, pool3d
from argosy.fluid._tracer import tracers
from argosy.fluid.input import one_hot as _one_hot
from argosy.fluid.layers._counter import autoincreased_step_counter
from argosy.fluid.layers._shape import at_least_1d
from argosy.fluid.missing import missing_names
from argosy.foundation.errors import BadArgument, UsageError
from argosy.nn import functional as F
from argosy.nn.clip import clip_by_norm as _clip_by_norm
from argosy.static.nn import common, py_func
from argosy.static.nn.layer import anywhere
from argosy.static.record.activation import activate
from argosy.static.record.folding import mul

__all__ = [
    "adaptive_pool2d",
    "autoincreased_step_counter",
    "clip",
    "clip_by_norm",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "cos_sim",
    "dropout",
    "expand",
    "expand_as",
    "flatten",
    "gather",
    "gather_nd",
    "gather_tree",
    "l2_normalize",
    "matmul",
    "mul",
    "one_hot",
    "pad",
    "pad2d",
    "pixel_shuffle",
    "pool2d",
    "pool3d",
    "prelu",
    "py_func",
    "reshape",
    "row_conv",
    "scatter",
    "scatter_nd",
    "scatter_nd_add",
    "sequence_mask",
    "shape",
    "size",
    "slice",
    "split",
    "squeeze",
    "stack",
    "strided_slice",
    "sum",
    "topk",
    "transpose",
    "unsqueeze",
    "unstack",
    "where",
]

conv2d = anywhere(common.conv2d)
conv2d_transpose = anywhere(common.conv2d_transpose)
conv3d = anywhere(common.conv3d)
conv3d_transpose = anywhere(common.conv3d_transpose)
row_conv = anywhere(common.row_conv)


def reshape(
    x: Any,
    shape: Any,
    actual_shape: Any = None,
    act: str | None = None,
    inplace: bool = False,
    name: str | None = None,
) -> Any:
    """Another shape; -1 stands for what is left, 0 for the extent that ``x`` has there.
    ``actual_shape`` replaces ``shape``.
    """
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
    if axis in (0, x.ndim):
        return T.reshape(x, [1, -1] if axis == 0 else [-1, 1])
    columns = T.flatten(x, axis) if x.ndim > axis + 1 else x
    return T.flatten(columns, 0, axis - 1) if axis > 1 else columns


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
    pairs = list(zip(target_tensor.shape, x.shape, strict=True))
    if all(have in (1, to) for to, have in pairs):
        return T.expand_as(x, target_tensor)
    if any(n < 0 for pair in pairs for n in pair):
        raise UsageError(
            f"fluid.layers.expand_as: where the shapes {list(x.shape)} and "
            f"{list(target_tensor.shape)} differ by more than a 1, all of both must be known"
        )
    return T.tile(x, [to // have for to, have in pairs])


def slice(input: Any, axes: Any, starts: Any, ends: Any) -> Any:
    """The part from ``starts`` to before ``ends`` along each of ``axes``."""
    return T.slice(input, axes, starts, ends)


def shape(input: Any) -> Any:
    """The shape, as a tensor of int32."""
    return T.cast(T.shape(input), "int32")


def gather(input: Any, index: Any, overwrite: bool = True) -> Any:
    """The rows with the given numbers; ``overwrite`` only chose how gradients of equal rows were
    added.
    """
    return T.gather(input, index)


def gather_nd(input: Any, index: Any, name: str | None = None) -> Any:
    """The elements or parts at the positions that the last axis of ``index`` holds."""
    return T.gather_nd(input, index)


def scatter(
    input: Any, index: Any, updates: Any, name: str | None = None, overwrite: bool = True
) -> Any:
    """A copy of ``input`` whose rows ``index`` are replaced by ``updates``, or by their sums."""
    return T.scatter(input, index, updates, overwrite)


def scatter_nd(index: Any, updates: Any, shape: Any, name: str | None = None) -> Any:
    """Zeros of the given shape, to which ``updates`` are added at the positions in the last axis of
    ``index``.
    """
    return T.scatter_nd(index, updates, shape)


def scatter_nd_add(ref: Any, index: Any, updates: Any, name: str | None = None) -> Any:
    """``ref``, to which ``updates`` are added at the positions in the last axis of ``index``."""
    return T.scatter_nd_add(ref, index, updates)


def strided_slice(input: Any, axes: Any, starts: Any, ends: Any, strides: Any) -> Any:
    """Every ``strides``-th element from ``starts`` to before ``ends`` along each of ``axes``."""
    return T.strided_slice(input, axes, starts, ends, strides)


def size(input: Any) -> Any:
    """The number of elements, as an int64 of shape [1]."""
    return at_least_1d(T.numel(input))


def pixel_shuffle(x: Any, upscale_factor: int) -> Any:
    """Images ``upscale_factor`` times as large, from so many squared channels each."""
    return F.pixel_shuffle(x, upscale_factor)


def where(condition: Any) -> Any:
    """The positions of the elements that are true, one per row."""
    return T.nonzero(condition)


def topk(input: Any, k: Any, name: str | None = None) -> Any:
    """The ``k`` largest elements along the last axis, and where they are."""
    return T.topk(input, k)


def one_hot(input: Any, depth: int, allow_out_of_range: bool = False) -> Any:
    """Ones at the given columns: the last axis of ``input``, of length 1, becomes one of length
    ``depth``.
    """
    ids = T.squeeze(input, [-1]) if input.ndim > 1 and input.shape[-1] == 1 else input
    return _one_hot(ids, depth, allow_out_of_range)


def matmul(
    x: Any,
    y: Any,
    transpose_x: bool = False,
    transpose_y: bool = False,
    alpha: float = 1.0,
    name: str | None = None,
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
    """``x`` divided by the root of its sum of squares plus ``epsilon`` along ``axis``; None stands
    for 1, and vectors have one axis.
    """
    axis = 0 if x.ndim == 1 else 1 if axis is None else axis
    return x / T.sqrt(T.sum(T.square(x), axis, keepdim=True) + epsilon)


def cos_sim(X: Any, Y: Any) -> Any:
    """The cosine of the angle between rows, of shape [N, 1]; ``Y`` may have one row for all."""

    def norm(x: Any) -> Any:
        return T.sqrt(T.sum(T.square(x), 1, keepdim=True))

    return T.sum(X * Y, 1, keepdim=True) / (norm(X) * norm(Y))


def pad(x: Any, paddings: Any, pad_value: float = 0.0, name: str | None = None) -> Any:
    """``pad_value`` around ``x``: two numbers for each axis, how much before and after."""
    return F.pad(x, list(paddings), "constant", pad_value, pad_from_left_axis=True)


def pad2d(
    input: Any,
    paddings: Any = (0, 0, 0, 0),
    mode: str = "constant",
    pad_value: float = 0.0,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Pad images above, below, left and right, with a number ("constant"), their mirror ("reflect")
    or their edge ("edge").
    """
    if mode not in _PAD_MODES:
        raise BadArgument(
            f"fluid.layers.pad2d: mode should be one of {list(_PAD_MODES)}, but received {mode!r}"
        )
    top, bottom, left, right = paddings
    return F.pad(input, [left, right, top, bottom], _PAD_MODES[mode], pad_value, data_format)


_PAD_MODES = {"constant": "constant", "reflect": "reflect", "edge": "replicate"}


def prelu(x: Any, mode: str, param_attr: Any = None, name: str | None = None) -> Any:
    """``x``, times a new parameter where it is negative: one for "all", for each "channel" or for
    each "element".
    """
    return anywhere(common.prelu)(x, mode, param_attr, name=name)


def gather_tree(ids: Any, parents: Any) -> Any:
    """Whole beams from the ids of each step and the beams that they continue."""
    return F.gather_tree(ids, parents)


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
    """Zero elements with probability ``dropout_prob``, unless ``is_test``, a layer's ``eval()`` or
    ``no_grad`` says otherwise.

    By default what is kept stays as it is, and in evaluation everything is multiplied by 1 -
    dropout_prob.
    """
    is_training = not is_test and tracers.current.is_training and torch.is_grad_enabled()
    return _dropout(x, dropout_prob, is_training, seed, dropout_implementation)


__getattr__ = missing_names(__name__, globals())
