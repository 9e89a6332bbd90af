"""Batch normalisation layers.

Running mean and variance are parameters that are never trained: they appear in ``parameters()`` and
``state_dict()`` as ``_mean`` and ``_variance``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from argosy.foundation.errors import UsageError
from argosy.framework.param_attr import ParamAttr
from argosy.nn import functional as F
from argosy.nn.initializer import Constant
from argosy.nn.layer.layers import Layer
from argosy.ops.nn import norm as ops
from argosy.tensor.engine import apply, get_default_dtype

Base = TypeVar("Base", bound="_BatchNormBase")


class NormWithStatistics(Layer):
    """Creates the four parameters that every kind of batch normalisation has."""

    def _create(
        self,
        size: int,
        weight_attr: Any,
        bias_attr: Any,
        mean_name: str | None,
        variance_name: str | None,
        do_model_average: bool = True,
    ) -> None:
        self.weight = self.create_parameter(
            [size], weight_attr, self._dtype, default_initializer=Constant(1.0)
        )
        self.bias = self.create_parameter([size], bias_attr, self._dtype, is_bias=True)
        self._mean = self._running(size, mean_name, 0.0, do_model_average)
        self._variance = self._running(size, variance_name, 1.0, do_model_average)

    def _running(self, size: int, name: str | None, value: float, do_model_average: bool) -> Any:
        attr = ParamAttr(
            name=name,
            initializer=Constant(value),
            trainable=False,
            do_model_average=do_model_average,
        )
        return self.create_parameter([size], attr, self._dtype)


class _BatchNormBase(NormWithStatistics):
    _ranks: tuple[int, ...] = ()
    _layouts: tuple[str, ...] = ()

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-05,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        default = get_default_dtype()
        self._dtype = "float32" if default == "float16" else default
        self._num_features = num_features
        self._weight_attr = weight_attr
        self._bias_attr = bias_attr
        self._use_global_stats = use_global_stats
        self._data_format = data_format
        self._momentum = momentum
        self._epsilon = epsilon
        self._name = name
        names = (None, None) if name is None else (f"{name}_mean", f"{name}_variance")
        self._create(num_features, weight_attr, bias_attr, *names)

    def _check_data_format(self, data_format: str) -> None:
        if data_format not in self._layouts:
            raise UsageError(
                f"{type(self).__name__}: expected one of {list(self._layouts)} for data_format, "
                f"but received {data_format!r}"
            )
        kind = "NCHW" if data_format[1] == "C" else "NHWC"
        if kind != data_format:
            self._data_format = kind

    def _check_input_dim(self, input: Any) -> None:
        rank = input.ndim
        if rank not in self._ranks:
            wanted = " or ".join(f"{r}D" for r in self._ranks)
            raise UsageError(f"{type(self).__name__}: expected {wanted} input (got {rank}D input)")

    def forward(self, input: Any) -> Any:
        self._check_data_format(self._data_format)
        self._check_input_dim(input)
        own = self._parameters
        return F.batch_norm(
            input,
            own["_mean"],
            own["_variance"],
            own.get("weight"),
            own.get("bias"),
            self.training,
            self._momentum,
            self._epsilon,
            self._data_format,
            self._use_global_stats,
        )

    def copy_as(self, kind: Callable[..., Base]) -> Base:
        """A layer of another kind on the same parameters and statistics."""
        twin = kind(
            self._num_features,
            self._momentum,
            self._epsilon,
            _renamed(self._weight_attr),
            _renamed(self._bias_attr),
            self._data_format,
            self._name,
        )
        if self._weight_attr is not False and self._bias_attr is not False:
            twin.weight = self.weight
            twin.bias = self.bias
        twin._mean = self._mean
        twin._variance = self._variance
        twin._use_global_stats = self._use_global_stats
        twin.training = self.training
        return twin

    def extra_repr(self) -> str:
        text = (
            f"num_features={self._num_features}, momentum={self._momentum}, epsilon={self._epsilon}"
        )
        if self._data_format != "NCHW":
            text += f", data_format={self._data_format}"
        return text if self._name is None else f"{text}, name={self._name}"


def _renamed(attr: Any) -> Any:
    """A named attribute names another parameter in the copy, with the suffix Paddle gives it."""
    if getattr(attr, "name", None) is not None:
        attr.name = f"{attr.name}_sync"
    return attr


class BatchNorm1D(_BatchNormBase):
    """Normalise each channel of [N, C] or [N, C, L] over the batch."""

    _ranks = (2, 3)
    _layouts = ("NC", "NCL", "NLC", "NCHW", "NHWC")

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-05,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(
            num_features,
            momentum,
            epsilon,
            weight_attr,
            bias_attr,
            data_format,
            use_global_stats,
            name,
        )


class BatchNorm2D(_BatchNormBase):
    """Normalise each channel of images over the batch.

    ``momentum`` is the fraction of the running statistics that each step keeps.

    Differs from Paddle: with ``bias_attr=False`` the weight is still trained.

    Example:
        >>> import paddle
        >>> norm = paddle.nn.BatchNorm2D(3)
        >>> norm(paddle.rand([2, 3, 4, 4])).shape
        [2, 3, 4, 4]
        >>> list(norm.state_dict())
        ['weight', 'bias', '_mean', '_variance']
    """

    _ranks = (4,)
    _layouts = ("NCHW", "NHWC")


class BatchNorm3D(_BatchNormBase):
    """Normalise each channel of volumes over the batch."""

    _ranks = (5,)
    _layouts = ("NCDHW", "NDHWC", "NCHW", "NHWC")

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-05,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCDHW",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(
            num_features,
            momentum,
            epsilon,
            weight_attr,
            bias_attr,
            data_format,
            use_global_stats,
            name,
        )


class BatchNorm(NormWithStatistics):
    """Batch normalisation with the arguments of Paddle 1.x, among them an activation ``act`` after
    it.
    """

    def __init__(
        self,
        num_channels: int,
        act: str | None = None,
        is_test: bool = False,
        momentum: float = 0.9,
        epsilon: float = 1e-05,
        param_attr: Any = None,
        bias_attr: Any = None,
        dtype: Any = "float32",
        data_layout: str = "NCHW",
        in_place: bool = False,
        moving_mean_name: str | None = None,
        moving_variance_name: str | None = None,
        do_model_average_for_mean_and_var: bool = True,
        use_global_stats: bool = False,
        trainable_statistics: bool = False,
    ) -> None:
        super().__init__()
        self._param_attr = param_attr
        self._bias_attr = bias_attr
        self._act = act
        self._dtype = "float32" if dtype == "float16" else dtype
        self._in_place = in_place
        self._data_layout = data_layout
        self._momentum = momentum
        self._epsilon = epsilon
        self._is_test = is_test
        self._use_global_stats = use_global_stats
        self._trainable_statistics = trainable_statistics
        if act is not None and not hasattr(F, act):
            raise UsageError(f"BatchNorm: unknown activation act={act!r}")
        self._create(
            num_channels,
            param_attr,
            bias_attr,
            moving_mean_name,
            moving_variance_name,
            do_model_average_for_mean_and_var,
        )
        self.training = not is_test

    def forward(self, input: Any) -> Any:
        own = self._parameters
        out = apply(
            ops.batch_norm_,
            input,
            own["_mean"],
            own["_variance"],
            own.get("weight"),
            own.get("bias"),
            not self.training,
            self._momentum,
            self._epsilon,
            self._data_layout[1] != "C",
            self._use_global_stats,
            self._trainable_statistics,
        )
        return out if self._act is None else getattr(F, self._act)(out)
