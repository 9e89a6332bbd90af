"""Layers whose weights tensor parallelism spreads over ranks, on one rank: what they are then.

More ranks are refused where the layer is made.
"""

from __future__ import annotations

from typing import Any

from argosy.distributed.fleet.layers.mpu import mp_ops
from argosy.foundation.errors import NotSupported
from argosy.nn import Layer
from argosy.nn import functional as F
from argosy.nn.initializer import Constant

__all__ = [
    "ColumnParallelLinear",
    "ParallelCrossEntropy",
    "RowParallelLinear",
    "VocabParallelEmbedding",
]


# parameters have the names that they have in the plain layers, so that files fit both
_PLAIN = {
    "ColumnParallelLinear": "linear",
    "RowParallelLinear": "linear",
    "VocabParallelEmbedding": "embedding",
}


class ModelParallelLayer(Layer):
    """What layers of one rank tell about their place among ranks."""

    def __init__(self, mp_group: Any) -> None:
        super().__init__(_PLAIN.get(type(self).__name__))
        self.model_parallel_group = mp_group
        self.world_size = 1 if mp_group is None else mp_group.nranks
        self.rank = 0 if mp_group is None else mp_group.rank
        self.is_mp = False
        if self.world_size > 1:
            raise NotSupported(
                f"{type(self).__name__}: its group has {self.world_size} ranks; tensor parallelism "
                "is supported for one rank only. Use DataParallel or group_sharded_parallel"
            )

    def _make_linear(
        self, in_features: int, out_features: int, weight_attr: Any, has_bias: bool | None
    ) -> None:
        weight: Any = self.create_parameter([in_features, out_features], weight_attr)
        weight.is_distributed = False
        self.weight = weight
        self.bias: Any = None
        if has_bias:
            bias: Any = self.create_parameter([out_features], Constant(0.0), is_bias=True)
            bias.is_distributed = False
            self.bias = bias


class ColumnParallelLinear(ModelParallelLayer):
    """A linear layer, whose columns tensor parallelism would spread; without a bias unless
    ``has_bias``. ``gather_output`` and ``fuse_matmul_bias`` change nothing on one rank.

    Example:
        >>> from paddle.distributed.fleet.meta_parallel import ColumnParallelLinear
        >>> ColumnParallelLinear(2, 3, has_bias=True)(paddle.ones([1, 2])).shape
        [1, 3]
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        has_bias: bool | None = None,
        gather_output: bool = True,
        fuse_matmul_bias: bool = False,
        mp_group: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(mp_group)
        self._name = name
        self.gather_output = gather_output
        self.fuse_matmul_bias = fuse_matmul_bias
        self.output_size_per_partition = out_features
        self._make_linear(in_features, out_features, weight_attr, has_bias)

    def forward(self, x: Any) -> Any:
        return F.linear(x, self.weight, self.bias)


class RowParallelLinear(ModelParallelLayer):
    """A linear layer, whose rows tensor parallelism would spread. ``input_is_parallel`` and
    ``fuse_matmul_bias`` change nothing on one rank.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        has_bias: bool = True,
        input_is_parallel: bool = False,
        fuse_matmul_bias: bool = False,
        mp_group: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(mp_group)
        self._name = name
        self.in_features = in_features
        self.out_features = out_features
        self.input_is_parallel = input_is_parallel
        self.fuse_matmul_bias = fuse_matmul_bias
        self.input_size_per_partition = in_features
        self._make_linear(in_features, out_features, weight_attr, has_bias)

    def forward(self, x: Any) -> Any:
        return F.linear(x, self.weight, self.bias)


class VocabParallelEmbedding(ModelParallelLayer):
    """An embedding, whose rows tensor parallelism would spread."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        weight_attr: Any = None,
        mp_group: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(mp_group)
        self._name = name
        self.num_embeddings = self.origin_num_embeddings = num_embeddings
        self.vocab_start_index = 0
        weight: Any = self.create_parameter([num_embeddings, embedding_dim], weight_attr)
        weight.is_distributed = False
        self.weight = weight

    def forward(self, x: Any) -> Any:
        return F.embedding(x, self.weight)


class ParallelCrossEntropy(ModelParallelLayer):
    """The cross entropy of each position, with an axis of length 1 in the place of the classes,
    which tensor parallelism would spread.
    """

    def __init__(
        self, mp_group: Any = None, name: str | None = None, ignore_index: int = -100
    ) -> None:
        super().__init__(mp_group)
        self.name = name
        self.ignore_index = ignore_index

    def forward(self, input: Any, label: Any) -> Any:
        return mp_ops._c_softmax_with_cross_entropy(
            input, label, self.model_parallel_group, ignore_index=self.ignore_index
        )
