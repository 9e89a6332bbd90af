"""Batch normalisation over the batches of all ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from argosy.foundation.process_state import register
from argosy.nn.initializer import Constant
from argosy.nn.layer._batch_norm import _BatchNormBase
from argosy.nn.layer.layers import Layer
from argosy.ops.nn import norm as ops
from argosy.tensor.engine import Tensor, apply


class SyncBatchNorm(_BatchNormBase):
    """Batch normalisation whose statistics span all ranks.

    ``reduce_moments`` is the hook for that: it receives this layer's sums, sums of squares and
    count as one vector and returns their total over the ranks, in a way that gradients flow
    through. While it is None each rank is alone.
    """

    reduce_moments: ClassVar[Callable[[Tensor], Tensor] | None] = None

    _ranks = (2, 3, 4, 5)
    _layouts = ("NC", "NCL", "NLC", "NCHW", "NHWC", "NCDHW", "NDHWC")

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-05,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__(
            num_features, momentum, epsilon, weight_attr, bias_attr, data_format, None, name
        )
        # Without an attribute Paddle still creates both, only frozen.
        if weight_attr is False:
            self.weight = self.create_parameter(
                [num_features], None, self._dtype, default_initializer=Constant(1.0)
            )
            self.weight.stop_gradient = True  # type: ignore[union-attr]
        if bias_attr is False:
            self.bias = self.create_parameter([num_features], None, self._dtype, is_bias=True)
            self.bias.stop_gradient = True  # type: ignore[union-attr]

    def forward(self, x: Any) -> Any:
        reduce = type(self).reduce_moments
        if reduce is None or not self.training or self._use_global_stats:
            return super().forward(x)
        self._check_data_format(self._data_format)
        self._check_input_dim(x)
        own = self._parameters
        last = self._data_format[1] != "C"
        return apply(
            ops.batch_norm_from_moments_,
            x,
            reduce(apply(ops.channel_moments, x, last)),
            own["_mean"],
            own["_variance"],
            own["weight"],
            own["bias"],
            self._momentum,
            self._epsilon,
            last,
        )

    @classmethod
    def convert_sync_batchnorm(cls, layer: Layer) -> Layer:
        """Replace every batch normalisation inside ``layer`` by a synchronised one on the same
        parameters.

        Returns the layer to use from now on: ``layer`` itself, or its replacement if it is one.

        Differs from Paddle: a layer with ``use_global_stats`` keeps that.
        """
        result = layer
        if isinstance(layer, _BatchNormBase) and not isinstance(layer, cls):
            result = layer.copy_as(cls)
        for name, sublayer in layer.named_children():
            result.add_sublayer(name, cls.convert_sync_batchnorm(sublayer))
        return result


register("statistics of SyncBatchNorm", SyncBatchNorm, attributes=("reduce_moments",))
