"""``fluid.contrib``: mixed precision, sharing readers among ranks, and an estimate of memory."""

from argosy.fluid.contrib import memory_usage_calc, mixed_precision, reader
from argosy.fluid.contrib.memory_usage_calc import memory_usage
from argosy.fluid.missing import missing_names

__getattr__ = missing_names(__name__, globals())
