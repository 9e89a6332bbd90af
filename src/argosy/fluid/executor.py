"""``fluid.executor``: running programs, and the scope of their values."""

from argosy.fluid.missing import missing_names
from argosy.static import Executor, Scope, global_scope, scope_guard
from argosy.static.run.fetch_handler import FetchHandler

__all__ = ["Executor", "FetchHandler", "Scope", "global_scope", "scope_guard"]

__getattr__ = missing_names(__name__, globals())
