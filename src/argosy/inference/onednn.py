"""The part of a Config that speaks of oneDNN, once MKL-DNN: each method has both names.

torch calls oneDNN by itself, so all but the precisions is kept and changes nothing.
"""

from __future__ import annotations

from argosy.inference.options import Options


class OnednnOptions:
    """Methods of a Config, over its ``_options``."""

    __slots__ = ()
    _options: Options

    def enable_onednn(self) -> None:
        self._options.onednn = True

    def disable_onednn(self) -> None:
        self._options.onednn = False

    def onednn_enabled(self) -> bool:
        return self._options.onednn

    def set_onednn_cache_capacity(self, capacity: int = 0) -> None:
        self._options.onednn_cache_capacity = capacity

    def set_onednn_op(self, ops: set[str]) -> None:
        self._options.onednn_ops = set(ops)

    def disable_onednn_fc_passes(self) -> None:
        """No pass is run."""

    def enable_onednn_bfloat16(self) -> None:
        """Compute matrix products, convolutions and the like in bfloat16; inputs, outputs and
        weights stay what they are.
        """
        self._options.onednn_bfloat16 = True

    def set_bfloat16_op(self, ops: set[str]) -> None:
        """Choose what is computed in bfloat16, by the types of operators."""
        self._options.bfloat16_ops = set(ops)

    def enable_onednn_int8(self, onednn_int8_enabled_op_types: set[str] | None = None) -> None:
        """Kept: Paddle, too, computes a model without quantisation scales in float32."""
        self._options.onednn_int8 = True

    def onednn_int8_enabled(self) -> bool:
        return self._options.onednn_int8

    def enable_mkldnn_int8(self, mkldnn_int8_enabled_op_types: set[str] | None = None) -> None:
        self.enable_onednn_int8(mkldnn_int8_enabled_op_types)

    enable_mkldnn = enable_onednn
    disable_mkldnn = disable_onednn
    mkldnn_enabled = onednn_enabled
    set_mkldnn_cache_capacity = set_onednn_cache_capacity
    set_mkldnn_op = set_onednn_op
    disable_mkldnn_fc_passes = disable_onednn_fc_passes
    enable_mkldnn_bfloat16 = enable_onednn_bfloat16
    mkldnn_int8_enabled = onednn_int8_enabled
