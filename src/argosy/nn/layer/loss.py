"""Losses as layers: they keep the options of the function of the same name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy.foundation.errors import UsageError
from argosy.nn import functional as F
from argosy.nn.layer._hierarchical_loss import AdaptiveLogSoftmaxWithLoss, HSigmoidLoss
from argosy.nn.layer.layers import Layer

__all__ = [
    "AdaptiveLogSoftmaxWithLoss", "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss", "HSigmoidLoss", "HingeEmbeddingLoss", "KLDivLoss", "L1Loss", "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss",
    "PoissonNLLLoss", "RNNTLoss", "SmoothL1Loss",
    "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]  # fmt: skip


class _Loss(Layer):
    """What losses share: a checked ``reduction`` and a ``name``."""

    def __init__(self, reduction: str, name: str | None = None) -> None:
        super().__init__()
        if reduction not in ("sum", "mean", "none"):
            raise UsageError(
                f"{type(self).__name__}: the value of 'reduction' should be 'sum', 'mean' or "
                f"'none', but received {reduction}"
            )
        self.reduction = reduction
        self.name = name


class CrossEntropyLoss(Layer):
    """Cross entropy of logits and class numbers or distributions.

    Example:
        >>> import paddle
        >>> loss = paddle.nn.CrossEntropyLoss(reduction="sum")
        >>> round(float(loss(paddle.zeros([2, 4]), paddle.to_tensor([0, 3]))), 4)
        2.7726
    """

    def __init__(
        self,
        weight: Any = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        soft_label: bool = False,
        axis: int = -1,
        use_softmax: bool = True,
        label_smoothing: float = 0.0,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.weight = weight
        self.reduction = reduction
        self.ignore_index = ignore_index
        self.soft_label = soft_label
        self.axis = axis
        self.use_softmax = use_softmax
        self.label_smoothing = label_smoothing
        self.name = name

    def forward(self, input: Any, label: Any) -> Any:
        return F.cross_entropy(
            input,
            label,
            self.weight,
            self.ignore_index,
            self.reduction,
            self.soft_label,
            self.axis,
            self.use_softmax,
            self.label_smoothing,
            name=self.name,
        )


class NLLLoss(_Loss):
    """Negative log-likelihood of class numbers under log-probabilities."""

    def __init__(
        self,
        weight: Any = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        name: str | None = None,
    ) -> None:
        super().__init__(reduction, name)
        self._weight = weight
        self._ignore_index = ignore_index

    def forward(self, input: Any, label: Any) -> Any:
        return F.nll_loss(
            input, label, self._weight, self._ignore_index, self.reduction, name=self.name
        )


class MSELoss(_Loss):
    """Squared differences."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__(reduction)

    def forward(self, input: Any, label: Any) -> Any:
        return F.mse_loss(input, label, self.reduction)


class L1Loss(_Loss):
    """Absolute differences."""

    def __init__(self, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(reduction, name)

    def forward(self, input: Any, label: Any) -> Any:
        return F.l1_loss(input, label, self.reduction, name=self.name)


class SmoothL1Loss(Layer):
    """Huber's loss: quadratic up to a gap of ``delta``, linear beyond."""

    def __init__(
        self,
        reduction: str = "mean",
        delta: float = 1.0,
        is_huber: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.reduction = reduction
        self.delta = delta
        self.is_huber = is_huber
        self.name = name

    def forward(self, input: Any, label: Any) -> Any:
        return F.smooth_l1_loss(
            input, label, self.reduction, self.delta, self.is_huber, name=self.name
        )


class BCELoss(_Loss):
    """Cross entropy of probabilities."""

    def __init__(
        self, weight: Any = None, reduction: str = "mean", name: str | None = None
    ) -> None:
        super().__init__(reduction, name)
        self.weight = weight

    def forward(self, input: Any, label: Any) -> Any:
        return F.binary_cross_entropy(input, label, self.weight, self.reduction, name=self.name)


class BCEWithLogitsLoss(_Loss):
    """Cross entropy of the sigmoids of logits."""

    def __init__(
        self,
        weight: Any = None,
        reduction: str = "mean",
        pos_weight: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(reduction, name)
        self.weight = weight
        self.pos_weight = pos_weight

    def forward(self, logit: Any, label: Any) -> Any:
        return F.binary_cross_entropy_with_logits(
            logit,
            label,
            self.weight,
            self.reduction,
            self.pos_weight,
            name=self.name,
        )


class KLDivLoss(Layer):
    """Kullback-Leibler divergence; ``reduction`` may also be "batchmean"."""

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__()
        self.reduction = reduction
        self.log_target = log_target

    def forward(self, input: Any, label: Any) -> Any:
        return F.kl_div(input, label, self.reduction, self.log_target)


class MarginRankingLoss(_Loss):
    """What keeps one score from exceeding another by ``margin``, in the direction the label
    says.
    """

    def __init__(
        self, margin: float = 0.0, reduction: str = "mean", name: str | None = None
    ) -> None:
        super().__init__(reduction, name)
        self.margin = margin

    def forward(self, input: Any, other: Any, label: Any) -> Any:
        return F.margin_ranking_loss(
            input, other, label, self.margin, self.reduction, name=self.name
        )


class HingeEmbeddingLoss(Layer):
    """A distance itself for label 1, what it lacks to ``margin`` for label -1."""

    def __init__(
        self, margin: float = 1.0, reduction: str = "mean", name: str | None = None
    ) -> None:
        super().__init__()
        self.margin = margin
        self.reduction = reduction
        self.name = name

    def forward(self, input: Any, label: Any) -> Any:
        return F.hinge_embedding_loss(input, label, self.margin, self.reduction, name=self.name)


class CosineEmbeddingLoss(_Loss):
    """Pulls pairs labelled 1 together in angle and those labelled -1 apart; ``margin`` lies in [-1,
    1].
    """

    def __init__(self, margin: float = 0, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(reduction, name)
        if not -1 <= margin <= 1:
            raise UsageError(
                f"CosineEmbeddingLoss: margin should be in [-1, 1], but received {margin}"
            )
        self.margin = margin

    def forward(self, input1: Any, input2: Any, label: Any) -> Any:
        return F.cosine_embedding_loss(
            input1, input2, label, self.margin, self.reduction, name=self.name
        )


class TripletMarginLoss(_Loss):
    """How much the distance to the positive fails to stay ``margin`` below that to the negative."""

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        epsilon: float = 1e-6,
        swap: bool = False,
        reduction: str = "mean",
        name: str | None = None,
    ) -> None:
        super().__init__(reduction, name)
        self.margin = margin
        self.p = p
        self.epsilon = epsilon
        self.swap = swap

    def forward(self, input: Any, positive: Any, negative: Any) -> Any:
        return F.triplet_margin_loss(
            input,
            positive,
            negative,
            self.margin,
            self.p,
            self.epsilon,
            self.swap,
            self.reduction,
            name=self.name,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """``TripletMarginLoss`` with a distance of your own, Euclidean by default.

    Differs from Paddle, whose layer ignores ``distance_function`` (its functional form does not).
    """

    def __init__(
        self,
        distance_function: Callable[[Any, Any], Any] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
        name: str | None = None,
    ) -> None:
        super().__init__(reduction, name)
        self.margin = margin
        self.swap = swap
        self.distance_function = distance_function

    def forward(self, input: Any, positive: Any, negative: Any) -> Any:
        return F.triplet_margin_with_distance_loss(
            input,
            positive,
            negative,
            self.distance_function,
            self.margin,
            self.swap,
            self.reduction,
            name=self.name,
        )


class SoftMarginLoss(_Loss):
    """``log(1 + exp(-label * input))``."""

    def __init__(self, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(reduction, name)

    def forward(self, input: Any, label: Any) -> Any:
        return F.soft_margin_loss(input, label, self.reduction, name=self.name)


class MultiLabelSoftMarginLoss(_Loss):
    """Binary cross entropy of logits averaged over classes."""

    def __init__(
        self, weight: Any = None, reduction: str = "mean", name: str | None = None
    ) -> None:
        super().__init__(reduction, name)
        self.weight = weight

    def forward(self, input: Any, label: Any) -> Any:
        return F.multi_label_soft_margin_loss(
            input, label, self.weight, self.reduction, name=self.name
        )


class MultiMarginLoss(_Loss):
    """How far wrong classes come within ``margin`` of the right one."""

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Any = None,
        reduction: str = "mean",
        name: str | None = None,
    ) -> None:
        super().__init__(reduction, name)
        self.p = p
        self.margin = margin
        self.weight = weight

    def forward(self, input: Any, label: Any) -> Any:
        return F.multi_margin_loss(
            input, label, self.p, self.margin, self.weight, self.reduction, name=self.name
        )


class MultiLabelMarginLoss(_Loss):
    """``MultiMarginLoss`` for several right classes per sample."""

    def __init__(self, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(reduction, name)

    def forward(self, input: Any, label: Any) -> Any:
        return F.multi_label_margin_loss(input, label, self.reduction, name=self.name)


class PoissonNLLLoss(_Loss):
    """Negative log-likelihood of counts under Poisson rates."""

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        epsilon: float = 1e-8,
        reduction: str = "mean",
        name: str | None = None,
    ) -> None:
        super().__init__(reduction, name)
        if epsilon <= 0:
            raise UsageError(f"PoissonNLLLoss: epsilon should be positive, but received {epsilon}")
        self._log_input = log_input
        self._full = full
        self._epsilon = epsilon

    def forward(self, input: Any, label: Any) -> Any:
        return F.poisson_nll_loss(
            input,
            label,
            self._log_input,
            self._full,
            self._epsilon,
            self.reduction,
            name=self.name,
        )


class GaussianNLLLoss(_Loss):
    """Negative log-likelihood under normal distributions."""

    def __init__(
        self,
        full: bool = False,
        epsilon: float = 1e-6,
        reduction: str = "mean",
        name: str | None = None,
    ) -> None:
        super().__init__(reduction, name)
        self.full = full
        self.epsilon = epsilon

    def forward(self, input: Any, label: Any, variance: Any) -> Any:
        return F.gaussian_nll_loss(
            input, label, variance, self.full, self.epsilon, self.reduction, name=self.name
        )


class CTCLoss(Layer):
    """Connectionist temporal classification of [time, batch, classes] logits."""

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__()
        self.blank = blank
        self.reduction = reduction
        self.zero_infinity = zero_infinity

    def forward(
        self,
        log_probs: Any,
        labels: Any,
        input_lengths: Any,
        label_lengths: Any,
        norm_by_times: bool = False,
    ) -> Any:
        return F.ctc_loss(
            log_probs,
            labels,
            input_lengths,
            label_lengths,
            self.blank,
            self.reduction,
            norm_by_times,
            self.zero_infinity,
        )


class RNNTLoss(Layer):
    """Transducer loss of [batch, time, labels + 1, classes] log-probabilities."""

    def __init__(
        self,
        blank: int = 0,
        fastemit_lambda: float = 0.001,
        reduction: str = "mean",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.blank = blank
        self.fastemit_lambda = fastemit_lambda
        self.reduction = reduction
        self.name = name

    def forward(self, input: Any, label: Any, input_lengths: Any, label_lengths: Any) -> Any:
        return F.rnnt_loss(
            input,
            label,
            input_lengths,
            label_lengths,
            self.blank,
            self.fastemit_lambda,
            self.reduction,
            name=self.name,
        )
