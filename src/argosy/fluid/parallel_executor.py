"""``fluid.parallel_executor``: the executor of 1.x for several places."""

from argosy.fluid.missing import missing_names
from argosy.static import BuildStrategy, ExecutionStrategy, ParallelExecutor

__all__ = ["BuildStrategy", "ExecutionStrategy", "ParallelExecutor"]

__getattr__ = missing_names(__name__, globals())
