"""Mixed precision in programs."""

from argosy.static.amp import bf16, decorator, fp16_lists, fp16_utils
from argosy.static.amp.decorator import decorate
from argosy.static.amp.fp16_lists import AutoMixedPrecisionLists, CustomOpLists
from argosy.static.amp.fp16_utils import cast_model_to_fp16, cast_parameters_to_fp16, fp16_guard
