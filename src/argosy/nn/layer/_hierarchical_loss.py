"""Losses with parameters of their own, for large numbers of classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.foundation.errors import UsageError
from argosy.nn import functional as F
from argosy.nn.layer.layers import Layer
from argosy.ops.losses import classification
from argosy.tensor.engine import apply


class HSigmoidLoss(Layer):
    """Binary decisions along the path to each label's leaf, in a complete binary tree or a custom
    one.

    The weight has a row per inner node: ``num_classes - 1`` of them, ``num_classes`` with
    ``is_custom``. ``is_sparse`` only concerns how gradients are stored; here they are dense.
    """

    def __init__(
        self,
        feature_size: int,
        num_classes: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        is_custom: bool = False,
        is_sparse: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        if num_classes < 2 and not is_custom:
            raise UsageError(
                "HSigmoidLoss: num_classes must not be less than 2 with default tree, but is "
                f"{num_classes}"
            )
        self._feature_size = feature_size
        self._num_classes = num_classes
        self._is_custom = is_custom
        self._is_sparse = is_sparse and is_custom
        num_nodes = num_classes if is_custom else num_classes - 1
        self.weight = self.create_parameter([num_nodes, feature_size], weight_attr)
        self.bias = self.create_parameter([num_nodes, 1], bias_attr, is_bias=True)

    def forward(self, input: Any, label: Any, path_table: Any = None, path_code: Any = None) -> Any:
        return F.hsigmoid_loss(
            input,
            label,
            self._num_classes,
            self.weight,
            self.bias,
            path_table,
            path_code,
            self._is_sparse,
        )


class AdaptiveLogSoftmaxWithLoss(Layer):
    """A softmax whose rare classes live in clusters with ever smaller projections.

    ``cutoffs`` are the first class numbers of the clusters; classes are sorted by frequency.
    Cluster i projects to ``in_features / div_value**(i + 1)`` features. As in Paddle the matrices
    of the clusters, ``tail_weights``, are not among ``parameters()``: pass them to the optimizer
    yourself.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        weight_attr: Any = None,
        bias_attr: Any = None,
        div_value: float = 4.0,
        head_bias: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if (
            cutoffs != sorted(set(cutoffs))
            or not cutoffs
            or cutoffs[0] <= 0
            or cutoffs[-1] > n_classes - 1
        ):
            raise UsageError(
                "AdaptiveLogSoftmaxWithLoss: cutoffs should be a sequence of unique, positive "
                "integers in increasing order, each between "
                f"1 and n_classes - 1 = {n_classes - 1}, but received {cutoffs}"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.is_head_bias = head_bias
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head_weight = self.create_parameter([in_features, self.head_size], weight_attr)
        self.head_bias = (
            self.create_parameter([self.head_size], bias_attr, is_bias=True) if head_bias else None
        )
        self.tail_weights = []
        for i in range(self.n_clusters):
            hidden = int(in_features // div_value ** (i + 1))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail_weights.append(
                [
                    self.create_parameter(shape, weight_attr)
                    for shape in ([in_features, hidden], [hidden, size])
                ]
            )

    def forward(self, input: Any, label: Any) -> Any:
        return F.adaptive_log_softmax_with_loss(
            input, label, self.head_weight, self.tail_weights, self.cutoffs, self.head_bias
        )

    def log_prob(self, input: Any) -> Any:
        """Log-probabilities of all classes for each row."""
        return apply(
            classification.adaptive_log_softmax,
            input,
            self.head_weight,
            self.head_bias,
            self.tail_weights,
            self.cutoffs,
        )

    def predict(self, input: Any) -> Any:
        """The most likely class of each row."""
        return self.log_prob(input).argmax(axis=1)
