"""``paddle.distribution``: probability distributions that are sampled and differentiated."""

from argosy.distribution.bernoulli import Bernoulli
from argosy.distribution.categorical import Categorical
from argosy.distribution.distribution import Distribution
from argosy.distribution.kl import kl_divergence
from argosy.distribution.normal import Normal
from argosy.distribution.uniform import Uniform

__all__ = ["Bernoulli", "Categorical", "Distribution", "Normal", "Uniform", "kl_divergence"]
