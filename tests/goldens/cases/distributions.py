"""Further probability distributions, and transforms of them."""

import numpy as np

from goldens.harness import Cases

cases = Cases("distributions")
CLOSE = 3e-5
A = np.array([0.5, 1.5, 3.0], "float32")
B = np.array([2.0, 0.7, 1.2], "float32")
SHARES = np.array([0.2, 0.5, 0.9], "float32")
VALUES = np.array([0.3, 1.7, 2.5], "float32")
COUNTS = np.array([0.0, 2.0, 5.0], "float32")


def _results(paddle, one, other, x, questions):
    out = {"batch": list(one.batch_shape), "event": list(one.event_shape)}
    for question in questions:
        if question == "kl":
            out[question] = paddle.distribution.kl_divergence(one, other)
        elif question in ("mean", "variance", "stddev"):
            out[question] = getattr(one, question)
        elif question in ("entropy",):
            out[question] = one.entropy()
        else:
            out[question] = getattr(one, question)(x)
    drawn = one.sample([4])
    out["drawn"] = list(drawn.shape)
    return out


def distribution(name, make, parameters, others, x, questions, rtol=CLOSE, has_gradients=True):
    """Values and, where Paddle's backward does not crash, gradients to the parameters."""

    @cases.add(name, rtol=rtol)
    def run(paddle, d):
        own = [paddle.to_tensor(p, stop_gradient=not has_gradients) for p in parameters]
        one = make(paddle.distribution, *own)
        other = make(paddle.distribution, *(paddle.to_tensor(p) for p in others))
        out = _results(paddle, one, other, paddle.to_tensor(x), questions.split())
        chosen = [
            out[question]
            for question in ("log_prob", "log_pmf", "entropy", "kl")
            if question in out and not out[question].stop_gradient
        ]
        if chosen:
            paddle.add_n([v.sum() for v in chosen]).backward()
        return out, [p.grad for p in own]


ALL = "mean variance log_prob prob entropy kl"
distribution("Beta", lambda D, a, b: D.Beta(a, b), [A, B], [B, A], SHARES, ALL)
distribution("Dirichlet", lambda D, a: D.Dirichlet(a), [A], [B], SHARES / SHARES.sum(), ALL)
distribution("Exponential", lambda D, a: D.Exponential(a), [A], [B], SHARES, f"{ALL} cdf icdf")
distribution("Gamma", lambda D, a, b: D.Gamma(a, b), [A, B], [B, A], VALUES, ALL)
distribution("Chi2", lambda D, a: D.Chi2(a), [A], [B], VALUES, ALL)
distribution(
    "Geometric",
    lambda D, a: D.Geometric(a),
    [SHARES],
    [SHARES[::-1].copy()],
    COUNTS,
    "mean variance stddev pmf log_pmf cdf entropy kl",
)
distribution(
    "Gumbel",
    lambda D, a, b: D.Gumbel(a, b),
    [A, B],
    [B, A],
    VALUES,
    "mean variance stddev log_prob prob cdf entropy",
)
distribution(
    "Laplace",
    lambda D, a, b: D.Laplace(a, b),
    [A, B],
    [B, A],
    SHARES,
    "mean variance stddev log_prob cdf icdf entropy kl",
    has_gradients=False,
)
distribution(
    "LogNormal",
    lambda D, a, b: D.LogNormal(a, b),
    [A, B],
    [B, A],
    VALUES,
    "mean variance log_prob probs entropy kl",
)
distribution(
    "Cauchy",
    lambda D, a, b: D.Cauchy(a, b),
    [A, B],
    [B, A],
    VALUES,
    "log_prob prob cdf entropy kl",
    has_gradients=False,
)
distribution("Poisson", lambda D, a: D.Poisson(a), [A], [B], COUNTS, ALL)
distribution(
    "Binomial",
    lambda D, a: D.Binomial(6, a),
    [SHARES],
    [SHARES[::-1].copy()],
    COUNTS,
    ALL,
    has_gradients=False,
)
distribution(
    "Multinomial",
    lambda D, a: D.Multinomial(7, a),
    [A],
    [B],
    COUNTS,
    "mean variance log_prob prob entropy",
    has_gradients=False,
)
distribution(
    "StudentT",
    lambda D, a, b: D.StudentT(a * 2, b, a),
    [A, B],
    [B, A],
    VALUES,
    "mean variance log_prob prob entropy",
)
ROOT = np.array([[1.0, 0.0, 0.0], [0.5, 2.0, 0.0], [-0.3, 0.2, 0.7]], "float32")
for kind, matrix in (
    ("covariance_matrix", ROOT @ ROOT.T),
    ("precision_matrix", np.linalg.inv(ROOT @ ROOT.T)),
    ("scale_tril", ROOT),
):
    distribution(
        f"MultivariateNormal {kind}",
        lambda D, a, m, kind=kind: D.MultivariateNormal(a, **{kind: m}),
        [A, matrix],
        [B, matrix * 2],
        VALUES,
        ALL,
        rtol=1e-4,
        has_gradients=False,
    )
distribution(
    "Independent",
    lambda D, a, b: D.Independent(D.Normal(a, b), 1),
    [np.stack([A, B]), np.stack([B, A])],
    [np.stack([A, B]), np.stack([B, A])],
    np.stack([VALUES, SHARES]),
    "mean variance log_prob prob entropy",
)


def transform(name, make, x, has_jacobian=True):
    @cases.add(f"transform {name}", rtol=CLOSE)
    def run(paddle, d):
        one = make(paddle, paddle.distribution)
        value = paddle.to_tensor(x)
        y = one.forward(value)
        out = [
            y,
            one.inverse(y),
            list(one.forward_shape(x.shape)),
            list(one.inverse_shape(y.shape)),
        ]
        if has_jacobian:
            out += [one.forward_log_det_jacobian(value), one.inverse_log_det_jacobian(y)]
        return out


WIDE = np.stack([VALUES, SHARES])
transform("exp", lambda p, D: D.ExpTransform(), WIDE)
transform("sigmoid", lambda p, D: D.SigmoidTransform(), WIDE)
transform("tanh", lambda p, D: D.TanhTransform(), WIDE)
transform("power", lambda p, D: D.PowerTransform(p.to_tensor(2.0)), WIDE)
transform(
    "affine", lambda p, D: D.AffineTransform(p.to_tensor(2.0), p.to_tensor([1.0, 2.0, -3.0])), WIDE
)
transform("softmax", lambda p, D: D.SoftmaxTransform(), WIDE, has_jacobian=False)
transform("stick", lambda p, D: D.StickBreakingTransform(), WIDE)
transform("reshape", lambda p, D: D.ReshapeTransform((2, 3), (3, 2)), WIDE)
transform("independent", lambda p, D: D.IndependentTransform(D.ExpTransform(), 1), WIDE)
transform(
    "chain",
    lambda p, D: D.ChainTransform(
        [D.AffineTransform(p.to_tensor(0.0), p.to_tensor(2.0)), D.StickBreakingTransform()]
    ),
    WIDE,
)


@cases.add("transform stack", rtol=CLOSE)
def stack(paddle, d):
    D = paddle.distribution
    one = D.StackTransform([D.ExpTransform(), D.TanhTransform()], 0)
    x = paddle.to_tensor(WIDE)
    y = one.forward(x)
    return [y, one.inverse(y), one.forward_log_det_jacobian(x)]


@cases.add("transform abs")
def absolute(paddle, d):
    one = paddle.distribution.AbsTransform()
    y = paddle.to_tensor(VALUES)
    return [one.forward(-y), list(one.inverse(y))]


@cases.add("TransformedDistribution", rtol=CLOSE)
def transformed(paddle, d):
    D = paddle.distribution
    base = D.Normal(paddle.to_tensor(A), paddle.to_tensor(B))
    exp = D.TransformedDistribution(base, [D.ExpTransform()])
    stick = D.TransformedDistribution(base, [D.StickBreakingTransform()])
    shares = paddle.to_tensor([0.1, 0.2, 0.3, 0.4])
    chained = D.ExpTransform()(base)
    return {
        "exp": exp.log_prob(paddle.to_tensor(VALUES)),
        "prob": exp.prob(paddle.to_tensor(VALUES)),
        "stick": stick.log_prob(shares),
        "shapes": [list(stick.batch_shape), list(stick.event_shape), list(exp.batch_shape)],
        "drawn": [list(stick.sample([2]).shape), list(exp.rsample([2]).shape)],
        "called": chained.log_prob(paddle.to_tensor(VALUES)),
    }


@cases.add("numbers")
def numbers(paddle, d):
    D = paddle.distribution
    return [
        D.Gamma(2.0, 4.0).mean,
        D.Beta(1.0, 3.0).variance,
        D.Laplace(0.0, 2.0).variance,
        D.Gumbel(0.0, 1.0).mean,
        D.Geometric(0.5).mean,
        D.Exponential(2.0).entropy(),
        D.Poisson(2.0).mean,
        list(D.LogNormal(0.0, 1.0).sample([3]).shape),
    ]


for kind, call in {
    "Cauchy mean": lambda p: p.distribution.Cauchy(0.0, 1.0).mean,
    "Independent rank": lambda p: p.distribution.Independent(p.distribution.Normal(0.0, 1.0), 1),
    "Multinomial count": lambda p: p.distribution.Multinomial(0, p.ones([2])),
    "MultivariateNormal none": lambda p: p.distribution.MultivariateNormal(p.ones([2])),
    "Dirichlet scalar": lambda p: p.distribution.Dirichlet(p.to_tensor(1.0)),
    "Affine number": lambda p: p.distribution.AffineTransform(1.0, 2.0),
    "Reshape sizes": lambda p: p.distribution.ReshapeTransform((2,), (3,)),
    "kl unknown": lambda p: p.distribution.kl_divergence(
        p.distribution.Gumbel(0.0, 1.0), p.distribution.Normal(0.0, 1.0)
    ),
}.items():
    cases.error(kind, call)
