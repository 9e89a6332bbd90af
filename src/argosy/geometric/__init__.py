"""``paddle.geometric``: sampling from graphs."""

from argosy.geometric.sampling import sample_neighbors, weighted_sample_neighbors

__all__ = ["sample_neighbors", "weighted_sample_neighbors"]
