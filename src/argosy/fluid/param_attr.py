"""``fluid.ParamAttr`` and ``fluid.WeightNormParamAttr``."""

from argosy.fluid.missing import missing_names
from argosy.framework import ParamAttr
from argosy.framework.param_attr import WeightNormParamAttr

__all__ = ["ParamAttr", "WeightNormParamAttr"]
__getattr__ = missing_names(__name__, globals())
