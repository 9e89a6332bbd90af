"""Probability distributions."""

import numpy as np

from goldens.harness import Cases

cases = Cases("distribution")

CLOSE = 1e-5
POINTS = np.array([0.3, -1.2, 2.0], "float32")
SCALES = np.array([1.0, 0.5, 2.0], "float32")
WEIGHTS = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]], "float32")
OTHERS = np.array([[1.0, 1.0, 3.0], [3.0, 5.0, 1.0]], "float32")


def _case(name, compute, *arrays):
    cases.op(name, compute, lambda d: arrays, rtol=CLOSE)


_case(
    "normal",
    lambda paddle, x, scale: [
        (n := paddle.distribution.Normal(paddle.zeros([3]) + 0.5, scale)).log_prob(x),
        n.probs(x),
        n.entropy(),
        n.kl_divergence(paddle.distribution.Normal([0.0, 1.0, 1.0], [1.0, 1.0, 1.0])),
    ],
    POINTS,
    SCALES,
)
_case(
    "uniform",
    lambda paddle, x, low: [
        (u := paddle.distribution.Uniform(low - 2.0, low + 3.0)).log_prob(x),
        u.probs(x),
        u.entropy(),
    ],
    POINTS,
    SCALES,
)
_case(
    "categorical",
    lambda paddle, a, b: [
        (c := paddle.distribution.Categorical(a)).entropy(),
        c.probs(paddle.to_tensor([0, 2])),
        c.log_prob(paddle.to_tensor([[1], [2]])),
        c.kl_divergence(paddle.distribution.Categorical(b)),
    ],
    WEIGHTS,
    OTHERS,
)
_case(
    "categorical/flat",
    lambda paddle, a: [
        (c := paddle.distribution.Categorical(a)).entropy(),
        c.probs(paddle.to_tensor([[0, 2]])),
    ],
    WEIGHTS[0],
)
_case(
    "bernoulli",
    lambda paddle, p: [
        # Paddle's gradient of a broadcast crashes where one of two inputs needs none.
        (b := paddle.distribution.Bernoulli(p)).entropy(),
        b.variance,
        (fixed := paddle.distribution.Bernoulli(p.detach())).cdf(paddle.to_tensor([0.5, 1.0])),
        fixed.log_prob(paddle.to_tensor([1.0, 0.0])),
        b.kl_divergence(paddle.distribution.Bernoulli(paddle.to_tensor([0.5, 0.5]))),
    ],
    np.array([0.3, 0.6], "float32"),
)
cases.error(
    "mixed arguments", lambda paddle: paddle.distribution.Normal(0.0, paddle.to_tensor(SCALES))
)
