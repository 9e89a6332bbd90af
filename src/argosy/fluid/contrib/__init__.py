"""``fluid.contrib``, as far as dygraph scripts need it."""

from argosy.fluid._missing import missing_names
from argosy.fluid.contrib import reader

__getattr__ = missing_names(__name__, globals())
