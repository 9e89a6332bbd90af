"""``fluid.layers.nn``: layers with parameters, reshaping, selecting, reducing, pooling and more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from argosy import tensor as T
from argosy.fluid.dygraph.tracer import records, tracers
from argosy.fluid.table import define, name_results
from argosy.foundation.errors import BadArgument, NotSupported, UsageError
from argosy.nn import functional as F
from argosy.nn.initializer import Constant, XavierUniform
from argosy.ops.fluid import lookup as lookup_ops
from argosy.ops.fluid import loss as loss_ops
from argosy.ops.fluid import product as product_ops
from argosy.ops.fluid import reduction as reduction_ops
from argosy.ops.fluid import shape as shape_ops
from argosy.ops.math import elementwise as elementwise_ops
from argosy.ops.nn import norm as norm_ops
from argosy.ops.nn.dropout import seeded_dropout
from argosy.ops.table import Op
from argosy.static.nn import common
from argosy.static.nn.layer import anywhere, layer_call, require_bias
from argosy.static.record.activation import activate
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import apply
from argosy.tensor.random import gaussian
from argosy.utils import convert_to_list

batch_norm = common.batch_norm
bilinear_tensor_product = common.bilinear_tensor_product
conv2d = common.conv2d
conv2d_transpose = common.conv2d_transpose
conv3d = common.conv3d
conv3d_transpose = common.conv3d_transpose
data_norm = anywhere(common.data_norm)
group_norm = common.group_norm
layer_norm = anywhere(common.layer_norm)
row_conv = common.row_conv
spectral_norm = common.spectral_norm

if TYPE_CHECKING:  # the names of the table

    def __getattr__(name: str) -> Any: ...


define(
    globals(),
    """
addmm(input, x, y, alpha=1.0, beta=1.0, name=None)
  -> tensor.addmm(input, x, y, alpha=alpha, beta=beta)
allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False, name=None)
  -> tensor.allclose(input, other, rtol, atol, equal_nan), as [1]
bmm(x, y, name=None) -> tensor.bmm(x, y)
brelu(x, t_min=0.0, t_max=24.0, name=None) -> tensor.clip(x, t_min, t_max)
clamp(input, min=None, max=None, output=None, name=None)
  -> tensor.clip(input, min, max), into output
clip(x, min, max, name=None) -> tensor.clip(x, min, max)
clip_by_norm(x, max_norm, name=None) -> nn.clip.clip_by_norm(x, max_norm)
crop_tensor(x, shape=None, offsets=None, name=None) -> tensor.crop(x, shape, offsets)
dice_loss(input, label, epsilon=1e-05, name=None)
  -> nn.functional.dice_loss(input, label, epsilon), as [1]
dist(x, y, p=2) -> tensor.dist(x, y, p), as [1]
elementwise_equal(x, y, name=None) -> tensor.equal(x, y)
elu(x, alpha=1.0, name=None) -> nn.functional.elu(x, alpha)
expand(x, expand_times, name=None) -> tensor.tile(x, expand_times)
fc(input, size, num_flatten_dims=1, param_attr=None, bias_attr=None, act=None, name=None)
  -> static.nn.common.fc(input, size, num_flatten_dims, param_attr, bias_attr, act, name)
flip(input, dims, name=None) -> tensor.flip(input, dims)
gather(input, index, overwrite=True) -> tensor.gather(input, index)
gather_nd(input, index, name=None) -> tensor.gather_nd(input, index)
gather_tree(ids, parents) -> nn.functional.gather_tree(ids, parents)
gaussian_random(shape, mean=0.0, std=1.0, seed=0, dtype='float32', name=None)
  -> tensor.random.gaussian(shape, mean, std, seed, dtype), recorded
grid_sampler(x, grid, name=None) -> nn.functional.grid_sample(x, grid)
hard_sigmoid(x, slope=0.2, offset=0.5, name=None) -> nn.functional.hardsigmoid(x, slope, offset)
index_select(input, index, dim=0) -> tensor.index_select(input, index, dim)
leaky_relu(x, alpha=0.02, name=None) -> nn.functional.leaky_relu(x, alpha)
log1p(x, out=None, name=None) -> tensor.log1p(x), into out
log_loss(input, label, epsilon=0.0001, name=None) -> nn.functional.log_loss(input, label, epsilon)
logical_and(x, y, out=None, name=None) -> tensor.logical_and(x, y), into out
logical_not(x, out=None, name=None) -> tensor.logical_not(x), into out
logical_or(x, y, out=None, name=None) -> tensor.logical_or(x, y), into out
logical_xor(x, y, out=None, name=None) -> tensor.logical_xor(x, y), into out
logsumexp(x, dim=None, keepdim=False, out=None, name=None)
  -> tensor.logsumexp(x, dim, keepdim), as [1], into out
maxout(x, groups, name=None, axis=1) -> nn.functional.maxout(x, groups, axis)
meshgrid(input, name=None) -> tensor.meshgrid(input)
mish(x, threshold=20, name=None) -> nn.functional.mish(x)
nonzero(input, as_tuple=False) -> tensor.nonzero(input, as_tuple)
pixel_shuffle(x, upscale_factor) -> nn.functional.pixel_shuffle(x, upscale_factor)
pow(x, factor=1.0, name=None) -> tensor.pow(x, factor)
prelu(x, mode, param_attr=None, name=None) -> static.nn.common.prelu(x, mode, param_attr, name=name)
rank(input) -> tensor.rank(input)
roll(input, shifts, dims=None) -> tensor.roll(input, shifts, dims)
scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None)
  -> tensor.scale(x, scale, bias, bias_after_scale), then act
scatter(input, index, updates, name=None, overwrite=True)
  -> tensor.scatter(input, index, updates, overwrite)
scatter_nd(index, updates, shape, name=None) -> tensor.scatter_nd(index, updates, shape)
scatter_nd_add(ref, index, updates, name=None) -> tensor.scatter_nd_add(ref, index, updates)
shuffle_channel(x, group, name=None) -> nn.functional.channel_shuffle(x, group)
size(input) -> tensor.numel(input), as [1]
slice(input, axes, starts, ends) -> tensor.slice(input, axes, starts, ends)
softmax(input, use_cudnn=False, name=None, axis=-1) -> nn.functional.softmax(input, axis)
split(input, num_or_sections, dim=-1, name=None) -> tensor.split(input, num_or_sections, dim)
strided_slice(input, axes, starts, ends, strides)
  -> tensor.strided_slice(input, axes, starts, ends, strides)
sum(x) -> tensor.add_n(x)
t(input, name=None) -> tensor.t(input)
temporal_shift(x, seg_num, shift_ratio=0.25, name=None)
  -> nn.functional.temporal_shift(x, seg_num, shift_ratio)
topk(input, k, name=None) -> tensor.topk(input, k)
transpose(x, perm, name=None) -> tensor.transpose(x, perm)
unfold(x, kernel_sizes, strides=1, paddings=0, dilations=1, name=None)
  -> nn.functional.unfold(x, kernel_sizes, strides, paddings, dilations)
uniform_random(shape, dtype='float32', min=-1.0, max=1.0, seed=0, name=None)
  -> tensor.uniform(shape, dtype, min, max, seed), recorded
unsqueeze(input, axes, name=None) -> tensor.unsqueeze(input, axes)
unstack(x, axis=0, num=None) -> tensor.unstack(x, axis, num)
where(condition) -> tensor.nonzero(condition)
""",
)


# -- layers with parameters


def embedding(
    input: Any,
    size: Any,
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: Any = "float32",
) -> Any:
    """Rows of a new [rows, width] parameter: the last axis of ``input``, of length 1, becomes one
    of length ``width``.

    The row ``padding_idx`` reads as zeros. ``is_sparse`` and ``is_distributed`` are those of
    ``static.nn.embedding``.
    """
    if input.shape[-1] != 1:
        raise UsageError(
            "fluid.layers.embedding: the last dimension of the ids must be 1, but their shape "
            f"is {list(input.shape)}; "
            "fluid.embedding takes ids of any shape"
        )
    with layer_call("embedding", None, input) as helper:
        weight = helper.create_parameter(
            param_attr, size, dtype, default_initializer=XavierUniform()
        )
        return common.looked_up(input, weight, padding_idx, is_sparse or is_distributed)


def instance_norm(
    input: Any,
    epsilon: float = 1e-05,
    param_attr: Any = None,
    bias_attr: Any = None,
    name: str | None = None,
) -> Any:
    """Normalise every channel of every sample by itself; unlike ``static.nn.instance_norm`` always
    with a scale and a shift.
    """
    require_bias("instance_norm", bias_attr)
    with layer_call("instance_norm", name) as helper:
        size = [input.shape[1]]
        weight = helper.create_parameter(
            param_attr, size, input.dtype, default_initializer=Constant(1.0)
        )
        bias = helper.create_parameter(bias_attr, size, input.dtype, is_bias=True)
        return F.instance_norm(input, weight=weight, bias=bias, eps=epsilon)


def lrn(
    input: Any,
    n: int = 5,
    k: float = 1.0,
    alpha: float = 1e-4,
    beta: float = 0.75,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Any:
    """Divide by ``(k + alpha * sum of squares of the n nearest channels) ** beta``."""
    if input.ndim != 4 or n % 2 == 0:
        raise UsageError(
            "fluid.layers.lrn: needs 4 dimensions and an odd n, but received the shape "
            f"{list(input.shape)} and n={n}"
        )
    return apply(norm_ops.lrn, input, n, alpha, beta, k, data_format == "NHWC")


# -- two tensors


def _elementwise(name: str, op: Op) -> Any:
    """``op`` with the first axis of the second operand under ``axis`` of the first."""

    def function(
        x: Any, y: Any, axis: int = -1, act: str | None = None, name: str | None = None
    ) -> Any:
        return activate(apply(product_ops.ALONG[op], x, y, axis), act)

    function.__name__ = function.__qualname__ = f"elementwise_{name}"
    function.__doc__ = (
        f"``{op.name}(x, y)`` with the first axis of ``y`` under ``axis`` of ``x``, then ``act``."
    )
    return function


elementwise_add = _elementwise("add", elementwise_ops.add)
elementwise_sub = _elementwise("sub", elementwise_ops.subtract)
elementwise_mul = _elementwise("mul", elementwise_ops.multiply)
elementwise_div = _elementwise("div", elementwise_ops.divide)
elementwise_max = _elementwise("max", elementwise_ops.maximum)
elementwise_min = _elementwise("min", elementwise_ops.minimum)
elementwise_pow = _elementwise("pow", elementwise_ops.pow)
elementwise_mod = _elementwise("mod", elementwise_ops.remainder)
elementwise_floordiv = _elementwise("floordiv", elementwise_ops.floor_divide)


def matmul(
    x: Any,
    y: Any,
    transpose_x: bool = False,
    transpose_y: bool = False,
    alpha: float = 1.0,
    name: str | None = None,
) -> Any:
    """The product of matrices, times ``alpha``; two vectors give shape [1]."""
    return apply(product_ops.matmul, x, y, transpose_x, transpose_y, float(alpha))


def cos_sim(X: Any, Y: Any) -> Any:
    """The cosine of the angle between rows, of shape [N, 1]; ``Y`` may have one row for all."""
    return apply(loss_ops.cos_sim, X, Y)


# -- reductions: over everything they have shape [1], and integers stay what they are


def _reduce(word: str, op: Op) -> Any:
    def function(
        input: Any, dim: Any = None, keep_dim: bool = False, name: str | None = None
    ) -> Any:
        axes = list(dim) if isinstance(dim, (list, tuple)) else dim
        return apply(op, input, None if axes == [] else axes, keep_dim)

    function.__name__ = function.__qualname__ = f"reduce_{word}"
    function.__doc__ = f"The {word} over the axes ``dim``, by default over all."
    return function


reduce_sum = _reduce("sum", reduction_ops.reduce_sum)
reduce_mean = _reduce("mean", reduction_ops.reduce_mean)
reduce_max = _reduce("max", reduction_ops.reduce_max)
reduce_min = _reduce("min", reduction_ops.reduce_min)
reduce_prod = _reduce("prod", reduction_ops.reduce_prod)
reduce_all = _reduce("all", reduction_ops.reduce_all)
reduce_any = _reduce("any", reduction_ops.reduce_any)


def mean(x: Any, name: str | None = None) -> Any:
    """The mean of all elements, of shape [1]."""
    return apply(reduction_ops.mean_of_all, x)


def l2_normalize(x: Any, axis: int | None, epsilon: float = 1e-12, name: str | None = None) -> Any:
    """``x`` divided by the root of its sum of squares plus ``epsilon`` along ``axis``; None stands
    for 1, and vectors have one axis.
    """
    axis = 0 if x.ndim == 1 else 1 if axis is None else axis
    return apply(shape_ops.l2_norm, x, axis, epsilon)


# -- shapes and places


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


def squeeze(input: Any, axes: Any, name: str | None = None) -> Any:
    """Drop the given axes of length 1, or all of them for []."""
    return T.squeeze(input, axes if axes else None)


def flatten(x: Any, axis: int = 1, name: str | None = None) -> Any:
    """A matrix: the axes before ``axis`` are its rows."""
    return apply(shape_ops.flatten, x, axis)


def stack(x: Any, axis: int = 0, name: str | None = None) -> Any:
    """Join tensors of one shape along a new axis."""
    return T.stack(x if isinstance(x, (list, tuple)) else [x], axis)


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


def shape(input: Any) -> Any:
    """The shape, as a tensor of int32."""
    return apply(shape_ops.shape, input)


def one_hot(input: Any, depth: int, allow_out_of_range: bool = False) -> Any:
    """Ones at the given columns: the last axis of ``input``, of length 1, becomes one of length
    ``depth``.
    """
    return apply(lookup_ops.one_hot, input, depth, allow_out_of_range)


def pad(x: Any, paddings: Any, pad_value: float = 0.0, name: str | None = None) -> Any:
    """``pad_value`` around ``x``: two numbers for each axis, how much before and after."""
    return apply(shape_ops.pad, x, list(paddings), pad_value)


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
    if mode not in shape_ops.PAD_MODES:
        raise BadArgument(
            f"fluid.layers.pad2d: mode should be one of {list(shape_ops.PAD_MODES)}, but received "
            f"{mode!r}"
        )
    around = list(paddings)
    return apply(shape_ops.pad2d, input, around, mode, float(pad_value), data_format == "NHWC")


def uniform_random_batch_size_like(
    input: Any,
    shape: Any,
    dtype: Any = "float32",
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
    min: float = -1.0,
    max: float = 1.0,
    seed: int = 0,
) -> Any:
    """As ``uniform_random``, with axis ``output_dim_idx`` as long as axis ``input_dim_idx`` of
    ``input``.
    """
    return T.uniform(shape_like(input, shape, input_dim_idx, output_dim_idx), dtype, min, max, seed)


def gaussian_random_batch_size_like(
    input: Any,
    shape: Any,
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
    mean: float = 0.0,
    std: float = 1.0,
    seed: int = 0,
    dtype: Any = "float32",
) -> Any:
    """As ``gaussian_random``, with axis ``output_dim_idx`` as long as axis ``input_dim_idx`` of
    ``input``.
    """
    return gaussian(shape_like(input, shape, input_dim_idx, output_dim_idx), mean, std, seed, dtype)


def shape_like(input: Any, shape: Any, input_dim_idx: int, output_dim_idx: int) -> list[Any]:
    """``shape`` with one extent of ``input`` in it: a number, or a variable where only a run
    tells.
    """
    extents, known = list(shape), input.shape[input_dim_idx]
    extents[output_dim_idx] = known if known >= 0 else T.shape(input)[input_dim_idx]
    return extents


# -- activations


def hard_swish(
    x: Any, threshold: float = 6.0, scale: float = 6.0, offset: float = 3.0, name: str | None = None
) -> Any:
    """``x`` times ``x + offset`` held between 0 and ``threshold``, divided by ``scale``."""
    if (threshold, scale, offset) == (6.0, 6.0, 3.0):
        return F.hardswish(x)
    return x * T.clip(x + offset, 0.0, threshold) / scale


def relu6(x: Any, threshold: float = 6.0, name: str | None = None) -> Any:
    """``min(max(x, 0), threshold)``."""
    return F.relu6(x) if threshold == 6.0 else T.clip(x, 0.0, threshold)


def soft_relu(x: Any, threshold: float = 40.0, name: str | None = None) -> Any:
    """``log(1 + exp(x))`` of ``x`` held between the threshold and its negative."""
    return T.log(T.exp(T.clip(x, -threshold, threshold)) + 1.0)


def selu(
    x: Any, scale: float | None = None, alpha: float | None = None, name: str | None = None
) -> Any:
    """``scale`` times ``x``, or times ``alpha * (exp(x) - 1)`` where it is negative."""
    own_scale, own_alpha = 1.0507009873554805, 1.6732632423543772
    return F.selu(x, own_scale if scale is None else scale, own_alpha if alpha is None else alpha)


def swish(x: Any, beta: float = 1.0, name: str | None = None) -> Any:
    """``x * F.sigmoid(beta * x)``."""
    return F.swish(x) if beta == 1.0 else x * F.sigmoid(x * beta)


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
    return drop(x, dropout_prob, is_training, seed, dropout_implementation)


def drop(x: Any, p: float, is_training: bool, seed: int | None, implementation: str) -> Any:
    """Zero elements of ``x`` with probability ``p``; a seed other than 0 chooses the same ones in
    each call.
    """
    if implementation not in _MODES:
        raise BadArgument(
            f"dropout: dropout_implementation must be one of {list(_MODES)}, but received "
            f"{implementation!r}"
        )
    if not seed:
        return F.dropout(x, p, training=is_training, mode=_MODES[implementation])
    return apply(
        seeded_dropout, x, p, not is_training, implementation == "upscale_in_train", int(seed)
    )


_MODES = {"downgrade_in_infer": "downscale_in_infer", "upscale_in_train": "upscale_in_train"}


def label_smooth(
    label: Any,
    prior_dist: Any = None,
    epsilon: float = 0.1,
    dtype: Any = "float32",
    name: str | None = None,
) -> Any:
    """``(1 - epsilon) * label + epsilon * prior``; without a prior every class is as likely."""
    return F.label_smooth(T.cast(label, dtype), prior_dist, epsilon)


def smooth_l1(
    x: Any,
    y: Any,
    inside_weight: Any = None,
    outside_weight: Any = None,
    sigma: float | None = None,
) -> Any:
    """The sum over each row of squared differences below ``1 / sigma ** 2`` and absolute ones
    above, of shape [N, 1].
    """
    scale = 1.0 if sigma is None else float(sigma)
    return apply(loss_ops.smooth_l1_loss, x, y, inside_weight, outside_weight, scale)


# -- pooling: one function for maximum and average, with a stride of 1 by default


def pool2d(
    input: Any,
    pool_size: Any = -1,
    pool_type: str = "max",
    pool_stride: Any = 1,
    pool_padding: Any = 0,
    global_pooling: bool = False,
    use_cudnn: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
    exclusive: bool = True,
    data_format: str = "NCHW",
) -> Any:
    """Maximum or average over windows of images; ``exclusive`` leaves padding out of averages.
    ``use_cudnn`` changes nothing.
    """
    return _pool(
        2,
        input,
        pool_size,
        pool_type,
        pool_stride,
        pool_padding,
        global_pooling,
        ceil_mode,
        exclusive,
        data_format,
    )


def pool3d(
    input: Any,
    pool_size: Any = -1,
    pool_type: str = "max",
    pool_stride: Any = 1,
    pool_padding: Any = 0,
    global_pooling: bool = False,
    use_cudnn: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
    exclusive: bool = True,
    data_format: str = "NCDHW",
) -> Any:
    """As ``pool2d``, over three axes."""
    return _pool(
        3,
        input,
        pool_size,
        pool_type,
        pool_stride,
        pool_padding,
        global_pooling,
        ceil_mode,
        exclusive,
        data_format,
    )


def _pool(
    num_dims: int,
    input: Any,
    pool_size: Any,
    pool_type: str,
    pool_stride: Any,
    pool_padding: Any,
    global_pooling: bool,
    ceil_mode: bool,
    exclusive: bool,
    data_format: str,
) -> Any:
    call = f"pool{num_dims}d"
    _require_type(pool_type, call)
    if global_pooling:
        return apply(shape_ops.global_pool, input, pool_type, data_format[-1] == "C")
    if pool_size == -1:
        raise UsageError(f"{call}: pool_size must be given when global_pooling is False")
    if pool_type == "max":
        pool = F.max_pool2d if num_dims == 2 else F.max_pool3d
        return pool(
            input,
            pool_size,
            pool_stride,
            pool_padding,
            ceil_mode=ceil_mode,
            data_format=data_format,
        )
    if ceil_mode and not exclusive:
        if num_dims == 3:
            raise NotSupported("pool3d: ceil_mode with exclusive=False")
        # Windows that jut out count as whole ones in 1.x, so what is missing becomes padding.
        input, pool_padding, ceil_mode = (
            _filled(input, pool_size, pool_stride, pool_padding, data_format),
            0,
            False,
        )
    average = F.avg_pool2d if num_dims == 2 else F.avg_pool3d
    return average(
        input, pool_size, pool_stride, pool_padding, ceil_mode, exclusive, data_format=data_format
    )


def adaptive_pool2d(
    input: Any,
    pool_size: Any,
    pool_type: str = "max",
    require_index: bool = False,
    name: str | None = None,
) -> Any:
    """Maximum or average over a grid of ``pool_size`` windows that cover each image; the places of
    maxima on request.
    """
    _require_type(pool_type, "adaptive_pool2d")
    if pool_type == "max":
        return F.adaptive_max_pool2d(input, pool_size, require_index)
    if require_index:
        raise UsageError("adaptive_pool2d: require_index needs pool_type='max'")
    return F.adaptive_avg_pool2d(input, pool_size)


def _require_type(pool_type: str, call: str) -> None:
    if pool_type not in ("max", "avg"):
        raise UsageError(
            f"{call}: pool_type can only be 'max' or 'avg', but received {pool_type!r}"
        )


def _filled(x: Any, pool_size: Any, pool_stride: Any, pool_padding: Any, data_format: str) -> Any:
    """``x`` with zeros around it, so many that windows from its start end exactly at its end."""
    if isinstance(pool_padding, str) or (
        isinstance(pool_padding, (list, tuple)) and len(pool_padding) != 2
    ):
        raise NotSupported(
            "pool2d: ceil_mode with exclusive=False needs pool_padding as an int or two of them"
        )
    if any(n < 0 for n in x.shape[1:]):
        raise NotSupported("pool2d: ceil_mode with exclusive=False needs images of a known size")
    around = []
    extents = x.shape[2:4] if data_format == "NCHW" else x.shape[1:3]
    settings = [
        convert_to_list(value, 2, "window") for value in (pool_size, pool_stride, pool_padding)
    ]
    for extent, window, stride, padding in zip(extents, *settings, strict=True):
        overhang = -(extent + 2 * padding - window) % stride
        around.append([padding, padding + overhang])
    (top, bottom), (left, right) = around
    return F.pad(x, [left, right, top, bottom], data_format=data_format)


# -- images in another size


def image_resize(
    input: Any,
    out_shape: Any = None,
    scale: Any = None,
    name: str | None = None,
    resample: str = "BILINEAR",
    actual_shape: Any = None,
    align_corners: bool = True,
    align_mode: int = 1,
    data_format: str = "NCHW",
) -> Any:
    """Images of size ``out_shape``, or ``scale`` times as large, by "BILINEAR" or "NEAREST"
    interpolation.
    """
    if resample not in ("BILINEAR", "NEAREST"):
        raise NotSupported(
            f"fluid.layers.image_resize: resample={resample!r}; 'BILINEAR' and 'NEAREST' are "
            "supported"
        )
    if actual_shape is not None:
        raise NotSupported("fluid.layers.image_resize: actual_shape; use out_shape")
    if out_shape is None and scale is None:
        raise UsageError("fluid.layers.image_resize: one of out_shape and scale must be given")
    if resample == "NEAREST" and align_corners:
        return _nearest_corners(input, out_shape, scale, data_format)
    factor = None if out_shape is not None else scale
    mode = resample.lower()
    return F.interpolate(input, out_shape, factor, mode, align_corners, align_mode, data_format)


def _nearest_corners(x: Any, out_shape: Any, scale: Any, data_format: str) -> Any:
    """The nearest elements when the first and last ones of both sizes coincide."""
    axes = (2, 3) if data_format == "NCHW" else (1, 2)
    extents = [x.shape[axis] for axis in axes]
    if any(n < 0 for n in extents):
        raise NotSupported(
            "fluid.layers.resize_nearest: align_corners=True needs images of a known size"
        )
    sizes = (
        [int(n * scale) for n in extents]
        if out_shape is None
        else convert_to_list(out_shape, 2, "out_shape")
    )
    for axis, extent, size in zip(axes, extents, sizes, strict=True):
        ratio = (extent - 1.0) / (size - 1.0) if size > 1 else 0.0
        places = T.assign([int(ratio * i + 0.5) for i in range(size)])
        x = T.index_select(x, places, axis)
    return x


def resize_bilinear(
    input: Any,
    out_shape: Any = None,
    scale: Any = None,
    name: str | None = None,
    actual_shape: Any = None,
    align_corners: bool = True,
    align_mode: int = 1,
    data_format: str = "NCHW",
) -> Any:
    """``image_resize`` by bilinear interpolation."""
    return image_resize(
        input,
        out_shape,
        scale,
        name,
        "BILINEAR",
        actual_shape,
        align_corners,
        align_mode,
        data_format,
    )


def resize_nearest(
    input: Any,
    out_shape: Any = None,
    scale: Any = None,
    name: str | None = None,
    actual_shape: Any = None,
    align_corners: bool = True,
    data_format: str = "NCHW",
) -> Any:
    """``image_resize`` to the nearest elements."""
    return image_resize(
        input, out_shape, scale, name, "NEAREST", actual_shape, align_corners, 1, data_format
    )


# -- counters of runs


def autoincreased_step_counter(
    counter_name: str | None = None, begin: int = 1, step: int = 1
) -> Any:
    """The int64 variable of this name that grows by ``step`` with each run, of a test copy too,
    from ``begin - 1``; made at the first call.

    Example:
        >>> import paddle.fluid as fluid
        >>> main, startup = fluid.Program(), fluid.Program()
        >>> with fluid.program_guard(main, startup):
        ...     steps = fluid.layers.autoincreased_step_counter()
        >>> exe = fluid.Executor(fluid.CPUPlace())
        >>> _ = exe.run(startup)
        >>> [exe.run(main, fetch_list=[steps])[0].item() for _ in range(3)]
        [1, 2, 3]
        >>> paddle.disable_static()
    """
    if not records():
        raise UsageError(
            "fluid.layers.autoincreased_step_counter: counts the runs of static programs; there "
            "is none in dygraph"
        )
    name = counter_name or "@STEP_COUNTER@"
    block = recorder.main.global_block()
    if block.has_var(name):
        return block.var(name)
    counter = recorder.new_state(name, [1], torch.int64, begin - 1)
    num_before = len(block.ops)
    with block.program.in_block(block.idx):
        T.increment(counter, step)
    block.ops[:] = [*block.ops[num_before:], *block.ops[:num_before]]
    return counter


name_results(
    globals(),
    """
expand_as expand_as:0
hard_swish hard_swish:0
soft_relu soft_relu:0
swish swish:0
uniform_random_batch_size_like uniform_random_batch_size_like:0
gaussian_random_batch_size_like gaussian_random_batch_size_like:0
dice_loss reduce_mean:0
flatten flatten:0,1
lrn lrn:1
reshape reshape2:0,1
resize_nearest nearest_interp:0
resize_bilinear bilinear_interp:0
smooth_l1 smooth_l1_loss
squeeze squeeze:0,1
topk top_k
transpose transpose:0,1
unsqueeze unsqueeze2:0,1
where where_index
""",
    but="""
    adaptive_pool2d autoincreased_step_counter embedding image_resize instance_norm label_smooth
    """,
)
