"""Losses, and what metrics count."""

from argosy.ops.losses import classification, cross_entropy, loss, metric, nce
