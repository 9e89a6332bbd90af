"""Mixed precision with bfloat16, under the names that programs of oneDNN use."""

from argosy.static.amp.bf16.amp_lists import AutoMixedPrecisionListsBF16
from argosy.static.amp.bf16.amp_utils import (
    bf16_guard,
    cast_model_to_bf16,
    cast_parameters_to_bf16,
    convert_float_to_uint16,
    rewrite_program_bf16,
)
from argosy.static.amp.bf16.decorator import decorate_bf16
