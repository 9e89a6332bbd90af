"""Automatic mixed precision."""

from argosy.amp import amp_lists, grad_scaler
from argosy.amp._support import is_bfloat16_supported, is_float16_supported
from argosy.amp.amp_lists import black_list, white_list
from argosy.amp.auto_cast import (
    amp_decorate,
    amp_guard,
    auto_cast,
    autocast,
    decorate,
    get_autocast_dtype,
    is_autocast_enabled,
)
from argosy.amp.grad_scaler import AmpScaler, GradScaler, OptimizerState

__all__ = [
    "auto_cast",
    "GradScaler",
    "decorate",
    "is_float16_supported",
    "is_bfloat16_supported",
    "is_autocast_enabled",
    "get_autocast_dtype",
    "get_autocast_cpu_dtype",
    "get_autocast_gpu_dtype",
]

get_autocast_cpu_dtype = get_autocast_gpu_dtype = get_autocast_dtype
