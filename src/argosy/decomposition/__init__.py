"""``paddle.decomposition``: operators as sums of primitive ones."""

from argosy.decomposition.decomp import decompose
