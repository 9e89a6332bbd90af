"""``fluid.contrib.mixed_precision``: float16 in static programs."""

from argosy.fluid.contrib.mixed_precision import decorator
from argosy.fluid.contrib.mixed_precision.decorator import decorate
from argosy.fluid.missing import missing_names
from argosy.static.amp import AutoMixedPrecisionLists, fp16_lists

__getattr__ = missing_names(__name__, globals())
