"""``paddle.distribution``: probability distributions that are sampled and differentiated."""

from argosy.distribution.bernoulli import Bernoulli
from argosy.distribution.categorical import Categorical
from argosy.distribution.count import Binomial, Geometric, Multinomial, Poisson
from argosy.distribution.dirichlet import Beta, Dirichlet
from argosy.distribution.distribution import Distribution
from argosy.distribution.exponential import Exponential
from argosy.distribution.exponential_family import ExponentialFamily
from argosy.distribution.gamma import Chi2, Gamma
from argosy.distribution.independent import Independent
from argosy.distribution.kl import kl_divergence, register_kl
from argosy.distribution.location_scale import Cauchy, Gumbel, Laplace
from argosy.distribution.lognormal import LogNormal
from argosy.distribution.multivariate_normal import MultivariateNormal
from argosy.distribution.normal import Normal
from argosy.distribution.student_t import StudentT
from argosy.distribution.transform import (
    AbsTransform,
    AffineTransform,
    ChainTransform,
    ExpTransform,
    IndependentTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
)
from argosy.distribution.transformed_distribution import TransformedDistribution
from argosy.distribution.uniform import Uniform

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "ChainTransform",
    "Chi2",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "Gamma",
    "Geometric",
    "Gumbel",
    "Independent",
    "IndependentTransform",
    "Laplace",
    "LogNormal",
    "Multinomial",
    "MultivariateNormal",
    "Normal",
    "Poisson",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "kl_divergence",
    "register_kl",
]
