"""``fluid.compiler``: programs on several places."""

from argosy.fluid.missing import missing_names
from argosy.static import BuildStrategy, CompiledProgram, ExecutionStrategy

__all__ = ["BuildStrategy", "CompiledProgram", "ExecutionStrategy"]

__getattr__ = missing_names(__name__, globals())
