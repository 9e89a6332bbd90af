"""Linear, Embedding and other everyday layers; dropout, padding and resampling come from files of
their own.
"""

from __future__ import annotations

from typing import Any

import torch

from argosy.foundation.errors import RankError, UsageError
from argosy.nn import functional as F
from argosy.nn.layer._dropout import (
    AlphaDropout,
    Dropout,
    Dropout2D,
    Dropout3D,
    FeatureAlphaDropout,
)
from argosy.nn.layer._padding import (
    CircularPad1D,
    CircularPad2D,
    CircularPad3D,
    ConstantPad1D,
    ConstantPad2D,
    ConstantPad3D,
    Pad1D,
    Pad2D,
    Pad3D,
    ReflectionPad1D,
    ReflectionPad2D,
    ReflectionPad3D,
    ReplicationPad1D,
    ReplicationPad2D,
    ReplicationPad3D,
    ZeroPad1D,
    ZeroPad2D,
    ZeroPad3D,
)
from argosy.nn.layer._resize import Upsample, UpsamplingBilinear2D, UpsamplingNearest2D
from argosy.nn.layer.layers import Layer
from argosy.tensor import manipulation

__all__ = [
    "Identity",
    "Linear",
    "Bilinear",
    "Embedding",
    "Flatten",
    "Unflatten",
    "Fold",
    "Unfold",
    "CosineSimilarity",
    "Dropout",
    "Dropout2D",
    "Dropout3D",
    "AlphaDropout",
    "FeatureAlphaDropout",
    "Upsample",
    "UpsamplingBilinear2D",
    "UpsamplingNearest2D",
    "Pad1D",
    "Pad2D",
    "Pad3D",
    "ZeroPad1D",
    "ZeroPad2D",
    "ZeroPad3D",
    "ConstantPad1D",
    "ConstantPad2D",
    "ConstantPad3D",
    "ReplicationPad1D",
    "ReplicationPad2D",
    "ReplicationPad3D",
    "ReflectionPad1D",
    "ReflectionPad2D",
    "ReflectionPad3D",
    "CircularPad1D",
    "CircularPad2D",
    "CircularPad3D",
]


class Identity(Layer):
    """Return the input; any constructor arguments are accepted, so that it can stand in for another
    layer.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Linear(Layer):
    """``y = x @ weight + bias`` with a weight of shape [in_features, out_features].

    Example:
        >>> import paddle
        >>> paddle.nn.Linear(4, 3)(paddle.ones([2, 4])).shape
        [2, 3]
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._dtype = self._default_dtype()
        self.in_features = in_features
        self.out_features = out_features
        self.name = name
        self.weight = self.create_parameter([in_features, out_features], weight_attr, self._dtype)
        self.bias = self.create_parameter([out_features], bias_attr, self._dtype, is_bias=True)

    def forward(self, input: Any) -> Any:
        own = self._parameters
        return F.linear(input, own["weight"], own.get("bias"))

    def extra_repr(self) -> str:
        name = f", name={self.name}" if self.name else ""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"dtype={self._dtype}{name}"
        )


class Bilinear(Layer):
    """``x1 @ weight[k] @ x2 + bias`` for each output k."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._in1_features = in1_features
        self._in2_features = in2_features
        self._out_features = out_features
        self._name = name
        self._dtype = self._default_dtype()
        self.weight = self.create_parameter(
            [out_features, in1_features, in2_features], weight_attr, self._dtype
        )
        self.bias = self.create_parameter([1, out_features], bias_attr, self._dtype, is_bias=True)

    def forward(self, x1: Any, x2: Any) -> Any:
        return F.bilinear(x1, x2, self.weight, self.bias)

    def extra_repr(self) -> str:
        name = f", name={self._name}" if self._name else ""
        return (
            f"in1_features={self._in1_features}, in2_features={self._in2_features}, "
            f"out_features={self._out_features}, dtype={self._dtype}{name}"
        )


class Embedding(Layer):
    """A table of ``num_embeddings`` rows, looked up by id.

    The row ``padding_idx`` starts as zeros and always reads as zeros. With ``sparse`` the gradient
    of ``weight`` holds only the rows that were looked up.

    Example:
        >>> import paddle
        >>> table = paddle.nn.Embedding(10, 4, sparse=True)
        >>> table(paddle.to_tensor([[1, 2], [2, 3]])).sum().backward()
        >>> table.weight.grad.is_selected_rows()
        True
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        *,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        if num_embeddings <= 0 or embedding_dim <= 0:
            raise UsageError(
                "Embedding: num_embeddings and embedding_dim must be greater than 0, "
                f"but received {num_embeddings} and {embedding_dim}"
            )
        if padding_idx is not None and padding_idx not in range(-num_embeddings, num_embeddings):
            raise UsageError(
                f"Embedding: padding_idx must be within [-{num_embeddings}, {num_embeddings}), "
                f"but received {padding_idx}"
            )
        self._num_embeddings = num_embeddings
        self._embedding_dim = embedding_dim
        self._size = [num_embeddings, embedding_dim]
        self._sparse = sparse
        self._max_norm = max_norm
        self._norm_type = norm_type
        self._scale_grad_by_freq = scale_grad_by_freq
        self._weight_attr = weight_attr
        self._name = name
        self._dtype = self._default_dtype() if dtype is None else dtype
        self.padding_idx = padding_idx
        self.weight = self._table(_weight, _freeze, device)
        if padding_idx is not None:
            with torch.no_grad():
                self.weight.raw[padding_idx] = 0.0

    def _table(self, given: Any, freeze: bool, device: Any) -> Any:
        if given is not None:
            if list(given.shape) != self._size:
                raise RankError(
                    f"Embedding: _weight has shape {list(given.shape)}, but should have "
                    f"{self._size}"
                )
            given.stop_gradient = freeze
            return given
        table = self.create_parameter(self._size, self._weight_attr, self._dtype, device=device)
        if self._weight_attr is None:
            table.stop_gradient = freeze  # type: ignore[union-attr]
        return table

    @property
    def is_sparse(self) -> bool:
        """Whether its weight gets row-sparse gradients."""
        return self._sparse

    @property
    def _padding_idx(self) -> int | None:
        return self.padding_idx

    def forward(self, x: Any) -> Any:
        return F.embedding(
            x,
            self.weight,
            self.padding_idx,
            self._max_norm,
            self._norm_type,
            self._sparse,
            self._scale_grad_by_freq,
        )

    def extra_repr(self) -> str:
        text = f"{self._num_embeddings}, {self._embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        text += f", sparse={self._sparse}, scale_grad_by_freq={self._scale_grad_by_freq}"
        return text if self._name is None else f"{text}, name={self._name}"


class Flatten(Layer):
    """Join the axes from ``start_axis`` to ``stop_axis`` into one."""

    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        super().__init__()
        self.start_axis = start_axis
        self.stop_axis = stop_axis

    def forward(self, input: Any) -> Any:
        return manipulation.flatten(input, self.start_axis, self.stop_axis)


class Unflatten(Layer):
    """Split one axis into axes of ``shape``."""

    def __init__(self, axis: int, shape: Any, name: str | None = None) -> None:
        super().__init__()
        self.axis = axis
        self.shape = shape
        self.name = name

    def forward(self, input: Any) -> Any:
        return manipulation.unflatten(input, self.axis, self.shape)

    def extra_repr(self) -> str:
        name = f", name={self.name}" if self.name else ""
        return f"axis={self.axis}, shape={self.shape}{name}"


class Unfold(Layer):
    """Lay the windows of images out as columns."""

    def __init__(
        self,
        kernel_sizes: Any,
        dilations: Any = 1,
        paddings: Any = 0,
        strides: Any = 1,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.kernel_sizes = kernel_sizes
        self.dilations = dilations
        self.paddings = paddings
        self.strides = strides
        self.name = name

    def forward(self, input: Any) -> Any:
        return F.unfold(input, self.kernel_sizes, self.strides, self.paddings, self.dilations)

    def extra_repr(self) -> str:
        name = f", name={self.name}" if self.name else ""
        return (
            f"kernel_size={self.kernel_sizes}, dilation={self.dilations}, "
            f"padding={self.paddings}, stride={self.strides}{name}"
        )


class Fold(Unfold):
    """Add columns back into images of ``output_sizes``."""

    def __init__(
        self,
        output_sizes: Any,
        kernel_sizes: Any,
        dilations: Any = 1,
        paddings: Any = 0,
        strides: Any = 1,
        name: str | None = None,
    ) -> None:
        super().__init__(kernel_sizes, dilations, paddings, strides, name)
        self.output_sizes = output_sizes

    def forward(self, input: Any) -> Any:
        return F.fold(
            input, self.output_sizes, self.kernel_sizes, self.strides, self.paddings, self.dilations
        )


class CosineSimilarity(Layer):
    """Cosine of the angle between two inputs along ``axis``."""

    def __init__(self, axis: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self._axis = axis
        self._eps = eps

    def forward(self, x1: Any, x2: Any) -> Any:
        return F.cosine_similarity(x1, x2, self._axis, self._eps)

    def extra_repr(self) -> str:
        return f"axis={self._axis}, eps={self._eps}"
