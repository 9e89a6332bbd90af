"""``fluid.ParamAttr``."""

from argosy.fluid._missing import missing_names
from argosy.framework import ParamAttr

__all__ = ["ParamAttr"]
__getattr__ = missing_names(__name__, globals())
