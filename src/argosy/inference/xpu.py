"""XpuConfig: settings of a device that is not served here, kept as they are set."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from argosy.foundation.errors import DtypeError


@dataclass
class XpuConfig:
    """Settings of an XPU; ``Config.set_xpu_config`` refuses them."""

    device_id: int = 0
    l3_ptr: Any = None
    l3_size: int = 0
    l3_autotune_size: int = 0
    context_gm_size: int = -1
    context: Any = None
    stream: Any = None
    conv_autotune_level: int = 0
    conv_autotune_file: str = ""
    conv_autotune_file_writeback: bool = False
    fc_autotune_level: int = 0
    fc_autotune_file: str = ""
    fc_autotune_file_writeback: bool = False
    gemm_compute_precision: int = 1
    transformer_softmax_optimize_level: int = 0
    transformer_encoder_adaptive_seqlen: bool = True
    quant_post_static_gelu_out_threshold: float = 10.0
    quant_post_dynamic_activation_method: int = 0
    quant_post_dynamic_weight_precision: int = 1
    quant_post_dynamic_op_types: list[str] = field(default_factory=list)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _NAMES:
            raise AttributeError(f"XpuConfig has no attribute {name!r}")
        held = getattr(type(self), name, None)
        if isinstance(held, (int, str)) and not isinstance(value, type(held)):
            raise DtypeError(
                f"XpuConfig.{name} must be a {type(held).__name__}, not {type(value).__name__}"
            )
        super().__setattr__(name, value)


_NAMES = frozenset(f.name for f in fields(XpuConfig))
