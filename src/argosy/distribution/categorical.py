"""The distribution over the numbers of categories."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from argosy import tensor as T
from argosy.autograd import no_grad
from argosy.distribution.distribution import Distribution, parameters
from argosy.nn import functional as F
from argosy.tensor.engine import Tensor

__all__ = ["Categorical"]


class Categorical(Distribution):
    """Categories by ``logits`` [..., num_categories].

    As in Paddle, ``sample``, ``entropy`` and ``kl_divergence`` take them as logarithms of
    probabilities, ``probs`` and ``log_prob`` as probabilities up to a factor.

    Example:
        >>> weights = paddle.to_tensor([1.0, 3.0])
        >>> paddle.distribution.Categorical(weights).probs(paddle.to_tensor([1])).tolist()
        [0.75]
    """

    def __init__(self, logits: Any, name: str | None = None) -> None:
        self.name = name or "Categorical"
        (self.logits,), kind = parameters(logits)
        self.dtype = kind.name
        self._prob = self.logits / T.sum(self.logits, axis=-1, keepdim=True)
        super().__init__(list(self.logits.shape)[:-1])

    def sample(self, shape: Sequence[int] = ()) -> Any:
        *batch, num_categories = list(self.logits.shape)
        with no_grad():
            weights = T.reshape(F.softmax(self.logits, axis=-1), [math.prod(batch), num_categories])
            drawn = T.multinomial(weights, math.prod(shape), replacement=True)
            return T.reshape(T.transpose(drawn, [1, 0]), [*shape, *batch])

    def entropy(self) -> Any:
        logs = F.log_softmax(self.logits, axis=-1)
        return -T.sum(T.exp(logs) * logs, axis=-1)

    def probs(self, value: Tensor) -> Any:
        batch = len(self._prob.shape) - 1
        if batch == 0:
            picked = T.gather(self._prob, T.reshape(value, [-1]))
            return T.reshape(picked, list(value.shape))
        if len(value.shape) == 1:
            value = T.reshape(value, [1] * batch + [-1])
        return T.take_along_axis(self._prob, value, axis=-1)

    def prob(self, value: Tensor) -> Any:
        return self.probs(value)

    def log_prob(self, value: Tensor) -> Any:
        return T.log(self.probs(value))

    def kl_divergence(self, other: Any) -> Any:
        self._require_kind(Categorical, other)
        logs, others = (F.log_softmax(x.logits, axis=-1) for x in (self, other))
        return T.sum(T.exp(logs) * (logs - others), axis=-1, keepdim=True)
