"""Losses, and what metrics count."""

from argosy.ops.losses import classification, cross_entropy, detection, loss, metric, nce
