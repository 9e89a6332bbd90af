"""Data parallelism on raw torch tensors: gradients in buckets, reduced while backward goes on."""
