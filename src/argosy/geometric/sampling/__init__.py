"""Sampling from graphs."""

from argosy.geometric.sampling.neighbors import sample_neighbors, weighted_sample_neighbors

__all__ = ["sample_neighbors", "weighted_sample_neighbors"]
