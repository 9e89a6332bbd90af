"""Metrics over all workers."""

from argosy.distributed.fleet.metrics.metric import acc, auc, mae, max, min, mse, rmse, sum

__all__ = ["acc", "auc", "mae", "max", "min", "mse", "rmse", "sum"]
