"""The layers of 1.x: their arguments, names and an activation ``act`` over the functions of
``paddle.nn.functional``.
"""

from __future__ import annotations

import functools
import math
from typing import Any, TypeVar

from argosy import nn
from argosy.fluid.dygraph.layers import Layer
from argosy.fluid.layers.gru import ACTIVATIONS, gru_step
from argosy.fluid.layers.nn import drop, pool2d, reduce_mean, reduce_sum
from argosy.fluid.layers.rnn_cell import require
from argosy.fluid.table import at_least_1d
from argosy.foundation.errors import BadArgument, UsageError
from argosy.nn import functional as F
from argosy.nn.initializer import ConstantInitializer as Constant
from argosy.nn.initializer import NormalInitializer as Normal
from argosy.static.record.activation import activate
from argosy.static.record.folding import mul
from argosy.tensor import abs as absolute
from argosy.tensor import reshape, square
from argosy.tensor.engine import Tensor
from argosy.utils import convert_to_list

_L = TypeVar("_L", bound=type)


def _takes_scope(*instead: Any) -> Any:
    """Decorate a layer: a string as first argument is dropped, or replaced by the argument that had
    no place then.
    """

    def decorate(cls: _L) -> _L:
        construct = cls.__init__  # type: ignore[misc]

        @functools.wraps(construct)
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            if args and isinstance(args[0], str):
                args = (*instead, *args[1:])
            construct(self, *args, **kwargs)

        cls.__init__ = __init__  # type: ignore[misc]
        return cls

    return decorate


def _require_attr(param_attr: Any, owner: str) -> None:
    if param_attr is False:
        raise BadArgument(f"{owner}: param_attr should not be False")


class Linear(Layer):
    """``act(x @ weight + bias)``.

    Example:
        >>> import numpy as np
        >>> import paddle.fluid as fluid
        >>> with fluid.dygraph.guard():
        ...     linear = fluid.dygraph.Linear(4, 3, act="softmax")
        ...     linear(fluid.dygraph.to_variable(np.ones([2, 4], "float32"))).shape
        [2, 3]
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        param_attr: Any = None,
        bias_attr: Any = None,
        act: str | None = None,
        dtype: Any = "float32",
    ) -> None:
        super().__init__(dtype=dtype)
        self._act = act
        self.weight = self.create_parameter([input_dim, output_dim], param_attr, dtype)
        self.bias = self.create_parameter([output_dim], bias_attr, dtype, is_bias=True)

    def forward(self, input: Any) -> Any:
        own = self._parameters
        return activate(F.linear(input, own["weight"], own.get("bias")), self._act)


@_takes_scope(None)
class Conv2D(Layer):
    """A convolution over images of layout NCHW; ``use_cudnn`` changes nothing.

    With ``num_channels=None`` the first input tells, as in 1.6, where layers have the name of a
    scope as first argument.
    """

    def __init__(
        self,
        num_channels: int | None,
        num_filters: int,
        filter_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int | None = None,
        param_attr: Any = None,
        bias_attr: Any = None,
        use_cudnn: bool = True,
        act: str | None = None,
        dtype: Any = "float32",
    ) -> None:
        _require_attr(param_attr, "Conv2D")
        super().__init__(dtype=dtype)
        self._num_filters, self._filter_size = num_filters, filter_size
        self._stride = convert_to_list(stride, 2, "stride")
        self._padding = convert_to_list(padding, 2, "padding")
        self._dilation = convert_to_list(dilation, 2, "dilation")
        self._groups = groups
        self._act = act
        self._attrs = param_attr, bias_attr
        if num_channels is not None:
            self._create(num_channels)

    def _build_once(self, input: Any) -> None:
        if "weight" not in self._parameters:
            self._create(input.shape[1])

    def _create(self, num_channels: int) -> None:
        groups = self._groups or 1
        if num_channels % groups != 0:
            raise UsageError(
                f"Conv2D: num_channels must be divisible by groups, but received {num_channels} "
                f"and {groups}"
            )
        self._num_channels = num_channels
        window = convert_to_list(self._filter_size, 2, "filter_size")
        spread = math.sqrt(2.0 / (window[0] * window[1] * num_channels))
        shape = [self._num_filters, num_channels // groups, *window]
        param_attr, bias_attr = self._attrs
        self.weight = self.create_parameter(
            shape, param_attr, self._dtype, default_initializer=Normal(0.0, spread)
        )
        self.bias = self.create_parameter([self._num_filters], bias_attr, self._dtype, is_bias=True)

    def forward(self, input: Any) -> Any:
        own = self._parameters
        out = F.conv2d(
            input,
            own["weight"],
            own.get("bias"),
            self._stride,
            self._padding,
            self._dilation,
            self._groups or 1,
        )
        return activate(out, self._act)


class Conv2DTranspose(Layer):
    """The transpose of a convolution over images of layout NCHW; ``use_cudnn`` changes nothing."""

    def __init__(
        self,
        num_channels: int,
        num_filters: int,
        filter_size: Any,
        output_size: Any = None,
        padding: Any = 0,
        stride: Any = 1,
        dilation: Any = 1,
        groups: int | None = None,
        param_attr: Any = None,
        bias_attr: Any = None,
        use_cudnn: bool = True,
        act: str | None = None,
        dtype: Any = "float32",
    ) -> None:
        _require_attr(param_attr, "Conv2DTranspose")
        super().__init__(dtype=dtype)
        self._num_channels, self._num_filters, self._filter_size = (
            num_channels,
            num_filters,
            filter_size,
        )
        self._output_size = (
            None if output_size is None else convert_to_list(output_size, 2, "output_size")
        )
        self._padding = convert_to_list(padding, 2, "padding")
        self._stride = convert_to_list(stride, 2, "stride")
        self._dilation = convert_to_list(dilation, 2, "dilation")
        self._groups = groups or 1
        self._act = act
        window = convert_to_list(filter_size, 2, "filter_size")
        self.weight = self.create_parameter(
            [num_channels, num_filters // self._groups, *window], param_attr, dtype
        )
        self.bias = self.create_parameter([num_filters], bias_attr, dtype, is_bias=True)

    def forward(self, input: Any) -> Any:
        own = self._parameters
        out = F.conv2d_transpose(
            input,
            own["weight"],
            own.get("bias"),
            self._stride,
            self._padding,
            dilation=self._dilation,
            groups=self._groups,
            output_size=self._output_size,
        )
        return activate(out, self._act)


class Conv3D(Layer):
    """A convolution over volumes of layout NCDHW; ``use_cudnn`` changes nothing."""

    def __init__(
        self,
        num_channels: int,
        num_filters: int,
        filter_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int | None = None,
        param_attr: Any = None,
        bias_attr: Any = None,
        use_cudnn: bool = True,
        act: str | None = None,
        dtype: Any = "float32",
    ) -> None:
        _require_attr(param_attr, "Conv3D")
        super().__init__(dtype=dtype)
        if num_channels % (groups or 1) != 0:
            raise UsageError(
                f"Conv3D: num_channels must be divisible by groups, but received {num_channels} "
                f"and {groups}"
            )
        self._stride = convert_to_list(stride, 3, "stride")
        self._padding = convert_to_list(padding, 3, "padding")
        self._dilation = convert_to_list(dilation, 3, "dilation")
        self._groups = groups or 1
        self._act = act
        window = convert_to_list(filter_size, 3, "filter_size")
        spread = math.sqrt(2.0 / (math.prod(window) * num_channels))
        self.weight = self.create_parameter(
            [num_filters, num_channels // self._groups, *window],
            param_attr,
            dtype,
            default_initializer=Normal(0.0, spread),
        )
        self.bias = self.create_parameter([num_filters], bias_attr, dtype, is_bias=True)

    def forward(self, input: Any) -> Any:
        own = self._parameters
        out = F.conv3d(
            input,
            own["weight"],
            own.get("bias"),
            self._stride,
            self._padding,
            self._dilation,
            self._groups,
        )
        return activate(out, self._act)


class Conv3DTranspose(Layer):
    """The transpose of a convolution over volumes of layout NCDHW; ``use_cudnn`` changes nothing.

    As in 1.8 the bias is added only where ``bias_attr`` is given.
    """

    def __init__(
        self,
        num_channels: int,
        num_filters: int,
        filter_size: Any,
        padding: Any = 0,
        stride: Any = 1,
        dilation: Any = 1,
        groups: int | None = None,
        param_attr: Any = None,
        bias_attr: Any = None,
        use_cudnn: bool = True,
        act: str | None = None,
        dtype: Any = "float32",
    ) -> None:
        super().__init__(dtype=dtype)
        if not isinstance(use_cudnn, bool):
            raise UsageError(f"Conv3DTranspose: use_cudnn should be True or False: {use_cudnn!r}")
        _require_attr(param_attr, "Conv3DTranspose")
        self._padding = convert_to_list(padding, 3, "padding")
        self._stride = convert_to_list(stride, 3, "stride")
        self._dilation = convert_to_list(dilation, 3, "dilation")
        self._groups = groups or 1
        self._act, self._adds_bias = act, bool(bias_attr)
        window = convert_to_list(filter_size, 3, "conv3d_transpose.filter_size")
        self.weight = self.create_parameter(
            [num_channels, num_filters // self._groups, *window], param_attr, dtype
        )
        self.bias = self.create_parameter([num_filters], bias_attr, dtype, is_bias=True)

    def forward(self, input: Any) -> Any:
        out = F.conv3d_transpose(
            input,
            self.weight,
            self.bias if self._adds_bias else None,
            self._stride,
            self._padding,
            dilation=self._dilation,
            groups=self._groups,
        )
        return activate(out, self._act)


@_takes_scope()
class Pool2D(Layer):
    """Maximum (``max``) or average (``avg``) over windows of images; ``global_pooling`` takes the
    whole image.
    """

    def __init__(
        self,
        pool_size: Any = -1,
        pool_type: str = "max",
        pool_stride: Any = 1,
        pool_padding: Any = 0,
        global_pooling: bool = False,
        use_cudnn: bool = True,
        ceil_mode: bool = False,
        exclusive: bool = True,
    ) -> None:
        if pool_type not in ("max", "avg"):
            raise UsageError(
                f"Pool2D: pool_type can only be 'max' or 'avg', but received {pool_type!r}"
            )
        if not global_pooling and pool_size == -1:
            raise UsageError("Pool2D: pool_size must be given when global_pooling is False")
        super().__init__()
        self._pool_size, self._pool_type = pool_size, pool_type
        self._pool_stride, self._pool_padding = pool_stride, pool_padding
        self._global_pooling, self._ceil_mode, self._exclusive = (
            global_pooling,
            ceil_mode,
            exclusive,
        )

    def forward(self, input: Any) -> Any:
        return pool2d(
            input,
            self._pool_size,
            self._pool_type,
            self._pool_stride,
            self._pool_padding,
            self._global_pooling,
            ceil_mode=self._ceil_mode,
            exclusive=self._exclusive,
        )


@_takes_scope()
class BatchNorm(Layer, nn.BatchNorm):
    """Batch normalisation, then ``act``; momentum is the share of the old statistics that is
    kept.
    """


@_takes_scope()
class Embedding(Layer, nn.Embedding):
    """Rows of a table of shape ``size``, by id. With ``is_sparse`` the gradient holds the rows that
    were looked up.

    ``is_distributed`` belongs to parameter servers and changes nothing here. The row
    ``padding_idx`` reads as zeros.
    """

    def __init__(
        self,
        size: Any,
        is_sparse: bool = False,
        is_distributed: bool = False,
        padding_idx: int | None = None,
        param_attr: Any = None,
        dtype: Any = "float32",
    ) -> None:
        if len(size) != 2:
            raise UsageError(f"Embedding: size must be [rows, width], but received {size!r}")
        nn.Layer.__init__(self, dtype=dtype)
        self._size = list(size)
        self._num_embeddings, self._embedding_dim = self._size
        self._is_sparse = self._sparse = is_sparse
        self._max_norm, self._norm_type, self._scale_grad_by_freq, self._name = (
            None,
            2.0,
            False,
            None,
        )
        self.padding_idx = padding_idx
        self.weight = self.create_parameter(self._size, param_attr, dtype)


class LayerNorm(Layer):
    """Normalisation over the last axes, those of ``normalized_shape``; then ``act``."""

    def __init__(
        self,
        normalized_shape: Any,
        scale: bool = True,
        shift: bool = True,
        epsilon: float = 1e-05,
        param_attr: Any = None,
        bias_attr: Any = None,
        act: str | None = None,
        dtype: Any = "float32",
    ) -> None:
        super().__init__(dtype=dtype)
        shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        self._normalized_shape, self._epsilon, self._act = shape, epsilon, act
        width = [math.prod(shape)]
        self.weight = (
            self.create_parameter(width, param_attr, dtype, default_initializer=Constant(1.0))
            if scale
            else None
        )
        self.bias = self.create_parameter(width, bias_attr, dtype, is_bias=True) if shift else None

    def forward(self, input: Any) -> Any:
        out = F.layer_norm(input, self._normalized_shape, self.weight, self.bias, self._epsilon)
        return activate(out, self._act)


class InstanceNorm(Layer):
    """Normalisation of every channel of every sample by itself, with ``scale`` and ``bias``."""

    def __init__(
        self,
        num_channels: int,
        epsilon: float = 1e-5,
        param_attr: Any = None,
        bias_attr: Any = None,
        dtype: Any = "float32",
    ) -> None:
        super().__init__(dtype=dtype)
        if bias_attr is False:
            raise BadArgument("InstanceNorm: bias_attr should not be False")
        self._epsilon = epsilon
        shape = [num_channels]
        self.scale = self.create_parameter(
            shape, param_attr, dtype, default_initializer=Constant(1.0)
        )
        self.bias = self.create_parameter(
            shape, bias_attr, dtype, is_bias=True, default_initializer=Constant(0.0)
        )

    def forward(self, input: Any) -> Any:
        return F.instance_norm(input, weight=self.scale, bias=self.bias, eps=self._epsilon)


class GroupNorm(Layer):
    """Normalisation of groups of channels of every sample, then ``act``.

    As in 1.8 there are weights and a bias only where their attributes are given.
    """

    def __init__(
        self,
        channels: int,
        groups: int,
        epsilon: float = 1e-05,
        param_attr: Any = None,
        bias_attr: Any = None,
        act: str | None = None,
        data_layout: str = "NCHW",
        dtype: Any = "float32",
    ) -> None:
        super().__init__(dtype=dtype)
        if data_layout != "NCHW":
            raise UsageError(f"GroupNorm: unsupported data layout: {data_layout}")
        self._groups, self._epsilon, self._act = groups, epsilon, act
        self.weight = self.create_parameter(
            [channels], param_attr or False, dtype, default_initializer=Constant(1.0)
        )
        self.bias = self.create_parameter([channels], bias_attr or False, dtype, is_bias=True)

    def forward(self, input: Any) -> Any:
        out = F.group_norm(input, self._groups, self._epsilon, self.weight, self.bias)
        return activate(out, self._act)


class SpectralNorm(Layer, nn.SpectralNorm):
    """A weight divided by its largest singular value."""


class BilinearTensorProduct(Layer):
    """``act(x @ weight[i] @ y + bias)`` for each of ``output_dim`` matrices."""

    def __init__(
        self,
        input1_dim: int,
        input2_dim: int,
        output_dim: int,
        name: str | None = None,
        act: str | None = None,
        param_attr: Any = None,
        bias_attr: Any = None,
        dtype: Any = "float32",
    ) -> None:
        super().__init__(dtype=dtype)
        self._act = act
        self.weight = self.create_parameter([output_dim, input1_dim, input2_dim], param_attr, dtype)
        self.bias = self.create_parameter([1, output_dim], bias_attr, dtype, is_bias=True)

    def forward(self, x: Any, y: Any) -> Any:
        return activate(F.bilinear(x, y, self.weight, self.bias), self._act)


class Dropout(Layer):
    """Zero elements with probability ``p`` in training.

    By default (``downgrade_in_infer``) what is kept stays as it is, and in evaluation everything is
    multiplied by 1 - p.
    """

    def __init__(
        self,
        p: float = 0.5,
        seed: int | None = None,
        dropout_implementation: str = "downgrade_in_infer",
        is_test: bool = False,
    ) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise BadArgument(f"Dropout: p argument should be between 0 and 1, but received {p}")
        self._dropout_prob = p
        self._seed = seed
        self._dropout_implementation = dropout_implementation
        self.training = not is_test

    def forward(self, input: Any) -> Any:
        return drop(
            input, self._dropout_prob, self.training, self._seed, self._dropout_implementation
        )


class PRelu(Layer):
    """``max(0, x) + weight * min(0, x)`` with one weight (``all``), one per channel (``channel``)
    or per element (``element``).
    """

    def __init__(
        self,
        mode: str,
        channel: int | None = None,
        input_shape: Any = None,
        param_attr: Any = None,
        dtype: Any = "float32",
    ) -> None:
        super().__init__("prelu", dtype)
        if mode == "channel" and channel is None:
            raise BadArgument("PRelu: channel argument is required when mode is 'channel'")
        if mode == "element" and input_shape is None:
            raise BadArgument("PRelu: input_shape argument is required when mode is 'element'")
        shapes = {
            "all": [1],
            "channel": [1, channel, 1, 1],
            "element": [1, *(input_shape or ())[1:]],
        }
        if mode not in shapes:
            raise UsageError(
                f"PRelu: mode should be one of all, channel, element, but received {mode!r}"
            )
        self._mode = mode
        self.weight = self.create_parameter(
            shapes[mode], param_attr, dtype, default_initializer=Constant(1.0)
        )

    def forward(self, input: Any) -> Any:
        if self._mode == "element":
            return F.relu(input) - self.weight * F.relu(-input)
        return F.prelu(input, reshape(self.weight, [-1]))


class FC(Layer):
    """``act(sum of flattened inputs @ weights + bias)``; axes from ``num_flatten_dims`` on are
    joined into the columns.

    ``forward`` takes one input or a list of them; each has a weight of its own. The parameters
    exist after the first call.
    """

    def __init__(
        self,
        name_scope: str,
        size: int,
        num_flatten_dims: int = 1,
        param_attr: Any = None,
        bias_attr: Any = None,
        act: str | None = None,
        is_test: bool = False,
        dtype: Any = "float32",
    ) -> None:
        super().__init__(name_scope, dtype)
        self._size, self._num_flatten_dims, self._act = size, num_flatten_dims, act
        self._param_attr, self._bias_attr = param_attr, bias_attr
        self._b: Any = None

    def _build_once(self, input: Any) -> None:
        for i, one in enumerate(_listed(input)):
            shape = [math.prod(one.shape[self._num_flatten_dims :]), self._size]
            self.add_parameter(
                f"_w{i}", self.create_parameter(shape, self._param_attr, self._dtype)
            )
        self._b = self.create_parameter([self._size], self._bias_attr, self._dtype, is_bias=True)

    @property
    def weight(self) -> Any:
        """The weight, or the list of weights if the layer takes several inputs."""
        weights = [p for name, p in self._parameters.items() if name.startswith("_w")]
        return weights[0] if len(weights) == 1 else weights

    @property
    def bias(self) -> Any:
        return self._b

    def forward(self, input: Any) -> Any:
        own = self._parameters
        products = [
            mul(one, own[f"_w{i}"], self._num_flatten_dims) for i, one in enumerate(_listed(input))
        ]
        out = sum(products[1:], products[0])
        return activate(out if self._b is None else out + self._b, self._act)


def _listed(input: Any) -> list[Any]:
    return list(input) if isinstance(input, (list, tuple)) else [input]


@_takes_scope()
class GRUUnit(Layer):
    """``hidden = (1 - u) * hidden + u * candidate`` with ``size // 3`` units; ``origin_mode`` swaps
    ``u`` and ``1 - u``.

    The weight of shape [D, 3D] holds, one after the other in memory, the matrix [D, 2D] of the
    update and reset gates and the matrix [D, D] of the candidate, as files of 1.x have it.
    """

    def __init__(
        self,
        size: int,
        param_attr: Any = None,
        bias_attr: Any = None,
        activation: str = "tanh",
        gate_activation: str = "sigmoid",
        origin_mode: bool = False,
        dtype: Any = "float32",
    ) -> None:
        super().__init__(dtype=dtype)
        for name in (activation, gate_activation):
            if name not in ACTIVATIONS:
                raise UsageError(
                    f"GRUUnit: activations can be {', '.join(ACTIVATIONS)}, but received {name!r}"
                )
        self._activation, self._gate_activation = activation, gate_activation
        self._origin_mode = origin_mode
        self._num_units = size // 3
        self.weight = self.create_parameter(
            [self._num_units, 3 * self._num_units], param_attr, dtype
        )
        self.bias = self.create_parameter([1, 3 * self._num_units], bias_attr, dtype, is_bias=True)

    def forward(self, input: Any, hidden: Any) -> tuple[Any, Any, Any]:
        """Return the new hidden state, the old one after the reset gate, and gates with candidate:
        [N, D], [N, D], [N, 3D].
        """
        for argument, value in (("input", input), ("hidden", hidden)):
            require("GRUUnit", argument, value)
        return gru_step(
            input,
            hidden,
            self.weight,
            self.bias,
            self._activation,
            self._gate_activation,
            self._origin_mode,
        )


# -- losses: means and sums have shape [1]


def _require_reduction(owner: str, reduction: str) -> None:
    if reduction not in ("sum", "mean", "none"):
        raise UsageError(
            f"{owner}: reduction should be 'sum', 'mean' or 'none', but received {reduction!r}"
        )


def _reduced(loss: Any, reduction: str) -> Any:
    if reduction == "none":
        return loss
    return reduce_sum(loss) if reduction == "sum" else reduce_mean(loss)


class MSELoss(Layer):
    """Squares of the differences, averaged or added if ``reduction`` says so."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        _require_reduction("MSELoss", reduction)
        self.reduction = reduction

    def forward(self, input: Any, label: Any) -> Any:
        return _reduced(square(input - label), self.reduction)


class L1Loss(Layer):
    """Absolute differences, averaged or added if ``reduction`` says so."""

    def __init__(self, reduction: str = "mean") -> None:
        _require_reduction("L1Loss", reduction)
        super().__init__()
        self.reduction = reduction

    def forward(self, input: Any, label: Any) -> Any:
        return _reduced(absolute(input - label), self.reduction)


class BCELoss(Layer):
    """Cross entropy of probabilities and labels in [0, 1], times ``weight``."""

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        _require_reduction("BCELoss", reduction)
        super().__init__()
        self.weight = weight
        self.reduction = reduction

    def forward(self, input: Any, label: Any) -> Any:
        if self.weight is not None and not isinstance(self.weight, Tensor):
            raise UsageError("BCELoss: the weight is not a Variable, please convert to Variable")
        return _reduced(
            F.binary_cross_entropy(input, label, self.weight, reduction="none"), self.reduction
        )


class NLLLoss(Layer):
    """The negative log-likelihood of classes, from log-probabilities with classes in axis 1."""

    def __init__(
        self, weight: Any = None, reduction: str = "mean", ignore_index: int = -100
    ) -> None:
        super().__init__()
        self.weight = weight
        self.reduction = reduction
        self.ignore_index = ignore_index

    def forward(self, input: Any, label: Any) -> Any:
        _require_reduction("NLLLoss", self.reduction)
        if len(input.shape) < 2:
            raise UsageError(f"NLLLoss: expected 2 or more dimensions (got {len(input.shape)})")
        loss = F.nll_loss(input, label, self.weight, self.ignore_index, self.reduction)
        return at_least_1d(loss)
