"""Normalisation layers."""

from __future__ import annotations

import math
from typing import Any

from argosy.foundation.errors import RankError, UsageError
from argosy.framework.param_attr import ParamAttr
from argosy.nn import functional as F
from argosy.nn.initializer import Constant, Normal
from argosy.nn.layer._batch_norm import (
    BatchNorm,
    BatchNorm1D,
    BatchNorm2D,
    BatchNorm3D,
)

# scripts test for it by this path
from argosy.nn.layer._batch_norm import NormWithStatistics as NormWithStatistics
from argosy.nn.layer._batch_norm import _BatchNormBase as _BatchNormBase
from argosy.nn.layer._sync_batch_norm import SyncBatchNorm
from argosy.nn.layer.layers import Layer
from argosy.ops.nn import norm as ops
from argosy.tensor.engine import apply

__all__ = [
    "BatchNorm",
    "BatchNorm1D",
    "BatchNorm2D",
    "BatchNorm3D",
    "SyncBatchNorm",
    "GroupNorm",
    "LayerNorm",
    "InstanceNorm1D",
    "InstanceNorm2D",
    "InstanceNorm3D",
    "LocalResponseNorm",
    "SpectralNorm",
]


class LayerNorm(Layer):
    """Normalise the last axes, of shape ``normalized_shape``, together. Weight and bias are flat.

    Example:
        >>> import paddle
        >>> norm = paddle.nn.LayerNorm([3, 4])
        >>> norm.weight.shape, norm(paddle.rand([2, 3, 4])).shape
        ([12], [2, 3, 4])
    """

    def __init__(
        self,
        normalized_shape: Any,
        epsilon: float = 1e-05,
        *,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._normalized_shape = (
            [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        )
        self._epsilon = epsilon
        self._dtype = self._default_dtype() if dtype is None else dtype
        self._weight_attr = weight_attr if elementwise_affine else False
        self._bias_attr = bias_attr if elementwise_affine and bias else False
        flat = [math.prod(self._normalized_shape)]
        one, zero = Constant(1.0), Constant(0.0)
        self.weight = self.create_parameter(
            flat, self._weight_attr, self._dtype, False, one, device
        )
        self.bias = self.create_parameter(flat, self._bias_attr, self._dtype, True, zero, device)

    def forward(self, input: Any) -> Any:
        own = self._parameters
        return F.layer_norm(
            input, self._normalized_shape, own.get("weight"), own.get("bias"), self._epsilon
        )

    def extra_repr(self) -> str:
        return f"normalized_shape={self._normalized_shape}, epsilon={self._epsilon}"


class GroupNorm(Layer):
    """Normalise groups of channels of every sample.

    Differs from Paddle: without a bias the gradient of the input still has the part that flows
    through the mean.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        epsilon: float = 1e-05,
        *,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        if data_format not in ("NCL", "NCHW", "NCDHW", "NLC", "NHWC", "NDHWC"):
            raise UsageError(f"GroupNorm: unsupported data layout: {data_format}")
        self._num_groups = num_groups
        self._num_channels = num_channels
        self._epsilon = epsilon
        self._dtype = self._default_dtype() if dtype is None else dtype
        self._data_format = "NCHW" if data_format[1] == "C" else "NHWC"
        self._weight_attr = weight_attr if affine else False
        self._bias_attr = bias_attr if affine else False
        self.weight = self._affine(self._weight_attr, 1.0, device)
        self.bias = self._affine(self._bias_attr, 0.0, device, is_bias=True)

    def _affine(self, attr: Any, value: float, device: Any, is_bias: bool = False) -> Any:
        parameter = self.create_parameter(
            [self._num_channels], attr, self._dtype, is_bias, Constant(value), device
        )
        if parameter is not None and getattr(attr, "learning_rate", 1.0) == 0.0:
            parameter.stop_gradient = True
        return parameter

    def forward(self, input: Any) -> Any:
        own = self._parameters
        return F.group_norm(
            input,
            self._num_groups,
            self._epsilon,
            own.get("weight"),
            own.get("bias"),
            self._data_format,
        )

    def extra_repr(self) -> str:
        return (
            f"num_groups={self._num_groups}, num_channels={self._num_channels}, "
            f"epsilon={self._epsilon}"
        )


class _InstanceNormBase(Layer):
    _ranks: tuple[int, ...]

    def __init__(
        self,
        num_features: int,
        epsilon: float,
        momentum: float,
        weight_attr: Any,
        bias_attr: Any,
        data_format: str,
        name: str | None,
    ) -> None:
        super().__init__()
        if (weight_attr is False) != (bias_attr is False):
            raise RankError(
                "weight_attr and bias_attr must be set to False at the same time in InstanceNorm"
            )
        self._num_features = num_features
        self._epsilon = epsilon
        self._momentum = momentum
        self._weight_attr = weight_attr
        self._bias_attr = bias_attr
        self._data_format = data_format
        self.scale = self.create_parameter(
            [num_features], weight_attr, default_initializer=Constant(1.0)
        )
        self.bias = self.create_parameter(
            [num_features], bias_attr, is_bias=True, default_initializer=Constant(0.0)
        )

    def forward(self, input: Any) -> Any:
        rank = len(input.shape)
        if rank not in self._ranks:
            wanted = " or ".join(f"{r}D" for r in self._ranks)
            raise UsageError(f"{type(self).__name__}: expected {wanted} input (got {rank}D input)")
        own = self._parameters
        return F.instance_norm(
            input, weight=own.get("scale"), bias=own.get("bias"), eps=self._epsilon
        )

    def extra_repr(self) -> str:
        return f"num_features={self._num_features}, epsilon={self._epsilon}"


class InstanceNorm1D(_InstanceNormBase):
    """Normalise every channel of every sample of [N, C, L] by itself; the weight is called
    ``scale``.
    """

    _ranks = (2, 3)

    def __init__(
        self,
        num_features: int,
        epsilon: float = 1e-05,
        momentum: float = 0.9,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, epsilon, momentum, weight_attr, bias_attr, data_format, name)


class InstanceNorm2D(_InstanceNormBase):
    """Normalise every channel of every image by itself; the weight is called ``scale``."""

    _ranks = (4,)

    def __init__(
        self,
        num_features: int,
        epsilon: float = 1e-05,
        momentum: float = 0.9,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, epsilon, momentum, weight_attr, bias_attr, data_format, name)


class InstanceNorm3D(_InstanceNormBase):
    """Normalise every channel of every volume by itself; the weight is called ``scale``."""

    _ranks = (5,)

    def __init__(
        self,
        num_features: int,
        epsilon: float = 1e-05,
        momentum: float = 0.9,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCDHW",
        name: str | None = None,
    ) -> None:
        super().__init__(num_features, epsilon, momentum, weight_attr, bias_attr, data_format, name)


class LocalResponseNorm(Layer):
    """Damp each channel by the mean square of its ``size`` neighbours."""

    def __init__(
        self,
        size: int,
        alpha: float = 0.0001,
        beta: float = 0.75,
        k: float = 1.0,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k
        self.data_format = data_format
        self.name = name

    def forward(self, input: Any) -> Any:
        return F.local_response_norm(
            input, self.size, self.alpha, self.beta, self.k, self.data_format
        )

    def extra_repr(self) -> str:
        text = f"size={self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
        if self.data_format != "NCHW":
            text += f", data_format={self.data_format}"
        return text if self.name is None else f"{text}, name={self.name}"


class SpectralNorm(Layer):
    """Divide a weight by its largest singular value, estimated anew by ``power_iters`` steps at
    each call.

    Differs from Paddle: the gradient is the derivative of the result, with the two vectors held
    fixed.
    """

    def __init__(
        self,
        weight_shape: Any,
        dim: int = 0,
        power_iters: int = 1,
        eps: float = 1e-12,
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        self._weight_shape = list(weight_shape)
        if math.prod(self._weight_shape) <= 0:
            raise RankError(
                "SpectralNorm: Any dimension of `weight_shape` cannot be 0, but received "
                f"{weight_shape}"
            )
        if dim >= len(self._weight_shape):
            raise RankError(
                f"SpectralNorm: dim should be less than the length of {weight_shape}, but "
                f"received {dim}"
            )
        self._dim = dim
        self._power_iters = power_iters
        self._eps = eps
        self._dtype = dtype
        height = self._weight_shape[dim]
        self.weight_u = self._vector(height)
        self.weight_v = self._vector(math.prod(self._weight_shape) // height)

    def _vector(self, size: int) -> Any:
        attr = ParamAttr(initializer=Normal(0.0, 1.0))
        vector = self.create_parameter([size], attr, self._dtype)
        vector.stop_gradient = True  # type: ignore[union-attr]
        return vector

    def forward(self, x: Any) -> Any:
        return apply(
            ops.spectral_norm,
            x,
            self.weight_u,
            self.weight_v,
            self._dim,
            self._power_iters,
            self._eps,
        )
