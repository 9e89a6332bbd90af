"""The part of a Config that speaks of engines and devices beside torch's.

Paddle for CPUs accepts what merely describes such an engine, says in its log that it lacks some,
and raises for the rest. So does this.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from argosy.foundation.errors import NotSupported, UsageError
from argosy.inference.kinds import Precision, expected
from argosy.inference.options import Options
from argosy.inference.xpu import XpuConfig

log = logging.getLogger("argosy.inference")


class EngineOptions:
    """Methods of a Config, over its ``_options``."""

    __slots__ = ()
    _options: Options

    # -- TensorRT
    # ----------------------------------------------------------------------------------------------

    def enable_tensorrt_engine(
        self,
        workspace_size: int = 1 << 30,
        max_batch_size: int = 1,
        min_subgraph_size: int = 3,
        precision_mode: Precision = Precision.Float32,
        use_static: bool = False,
        use_calib_mode: bool = True,
        use_cuda_graph: bool = False,
    ) -> None:
        """Refuse: there is no TensorRT under torch."""
        raise _lacking(
            "enable_tensorrt_engine", "TensorRT", "leave it out; enable_use_gpu() alone uses torch"
        )

    def tensorrt_engine_enabled(self) -> bool:
        return False

    def tensorrt_precision_mode(self) -> Precision:
        return self._options.trt["precision_mode"]  # type: ignore[no-any-return]

    def enable_tensorrt_memory_optim(
        self, engine_memory_sharing: bool = True, sharing_identifier: int = 0
    ) -> None:
        raise UsageError(
            "Config.enable_tensorrt_memory_optim: call enable_tensorrt_engine() first; it is not on"
        )

    def set_trt_dynamic_shape_info(
        self,
        min_input_shape: Mapping[str, Sequence[int]] | None = None,
        max_input_shape: Mapping[str, Sequence[int]] | None = None,
        optim_input_shape: Mapping[str, Sequence[int]] | None = None,
        disable_trt_plugin_fp16: bool = False,
    ) -> None:
        self._options.trt["dynamic_shape"] = bool(min_input_shape)

    def tensorrt_dynamic_shape_enabled(self) -> bool:
        return self._said("dynamic_shape")

    def enable_tuned_tensorrt_dynamic_shape(
        self, shape_range_info_path: str = "", allow_build_at_runtime: bool = True
    ) -> None:
        self._options.trt["tuned_dynamic_shape"] = True
        self._options.trt["allow_build_at_runtime"] = allow_build_at_runtime

    def tuned_tensorrt_dynamic_shape(self) -> bool:
        return self._said("tuned_dynamic_shape")

    def trt_allow_build_at_runtime(self) -> bool:
        return self._said("allow_build_at_runtime")

    def collect_shape_range_info(self, path: str) -> None:
        """Refuse: the file would be for TensorRT alone."""
        raise _lacking("collect_shape_range_info", "TensorRT, which reads such a file", "")

    def shape_range_info_collected(self) -> bool:
        return False

    def shape_range_info_path(self) -> str:
        return ""

    def enable_tensorrt_varseqlen(self) -> None:
        self._options.trt["varseqlen"] = True

    def tensorrt_varseqlen_enabled(self) -> bool:
        return self._said("varseqlen")

    def enable_tensorrt_dla(self, dla_core: int = 0) -> None:
        self._options.trt["dla"] = True

    def tensorrt_dla_enabled(self) -> bool:
        return self._said("dla")

    def enable_tensorrt_inspector(self, inspector_serialize: bool = False) -> None:
        self._options.trt["inspector"] = True

    def tensorrt_inspector_enabled(self) -> bool:
        return self._said("inspector")

    def enable_tensorrt_explicit_quantization(self) -> None:
        self._options.trt["explicit_quantization"] = True

    def tensorrt_explicit_quantization_enabled(self) -> bool:
        return self._said("explicit_quantization")

    def set_tensorrt_optimization_level(self, level: int) -> None:
        if not 0 <= expected("set_tensorrt_optimization_level", "level", level, int) <= 5:
            raise UsageError(
                f"Config.set_tensorrt_optimization_level: level must be 0 to 5, not {level}"
            )
        self._options.trt["optimization_level"] = level

    def tensorrt_optimization_level(self) -> int:
        return self._options.trt["optimization_level"]  # type: ignore[no-any-return]

    def mark_trt_engine_outputs(self, output_tensor_names: Iterable[str] = ()) -> None:
        """Of TensorRT; nothing here."""

    def exp_disable_tensorrt_ops(self, ops: Iterable[str]) -> None:
        """Of TensorRT; nothing here."""

    def exp_disable_tensorrt_subgraph(self, outputs: Iterable[str]) -> None:
        """Of TensorRT; nothing here."""

    def exp_disable_tensorrt_dynamic_shape_ops(self, disables: bool) -> None:
        """Of TensorRT; nothing here."""

    def exp_specify_tensorrt_subgraph_precision(
        self, fp16: Iterable[str], int8: Iterable[str], bf16: Iterable[str]
    ) -> None:
        """Of TensorRT; nothing here."""

    def _said(self, name: str) -> bool:
        return bool(self._options.trt[name])

    # -- other engines
    # ----------------------------------------------------------------------------------------------

    def enable_onnxruntime(self) -> None:
        log.error("Config.enable_onnxruntime: there is no ONNX Runtime here; torch computes")

    def disable_onnxruntime(self) -> None:
        """Nothing to switch off."""

    def onnxruntime_enabled(self) -> bool:
        return False

    def enable_ort_optimization(self) -> None:
        log.error("Config.enable_ort_optimization: there is no ONNX Runtime here; torch computes")

    def enable_lite_engine(
        self,
        precision_mode: Precision = Precision.Float32,
        zero_copy: bool = False,
        passes_filter: Iterable[str] = (),
        ops_filter: Iterable[str] = (),
    ) -> None:
        log.warning("Config.enable_lite_engine: there is no Paddle Lite here; torch computes")

    def lite_engine_enabled(self) -> bool:
        return False

    def enable_opencl(self) -> None:
        log.warning("Config.enable_opencl: there is no Paddle Lite here; torch computes")

    def use_opencl(self) -> bool:
        return False

    def nnadapter(self) -> None:
        raise _lacking("nnadapter", "Paddle Lite", "leave it out")

    def enable_quantizer(self) -> None:
        raise _lacking("enable_quantizer", "quantisation", "leave it out")

    def quantizer_config(self) -> None:
        raise _lacking("quantizer_config", "quantisation", "leave it out")

    def dist_config(self) -> None:
        raise _lacking("dist_config", "models split over processes", "save the whole model")

    def set_dist_config(self, config: Any) -> None:
        raise _lacking("set_dist_config", "models split over processes", "save the whole model")

    def exp_sparse_conv_using_buffer(
        self, kernels: Sequence[Sequence[int]], strides: Sequence[Sequence[int]]
    ) -> None:
        """Of sparse convolutions, which no program here has."""

    def enable_openvino_engine(self, inference_precision: Precision = Precision.Float32) -> None:
        if inference_precision is not Precision.Float32:
            raise _lacking("enable_openvino_engine", "OpenVINO", "leave it out")
        log.error("Config.enable_openvino_engine: there is no OpenVINO here; torch computes")

    def openvino_engine_enabled(self) -> bool:
        return False

    def enable_cinn(self) -> None:
        raise _lacking("enable_cinn", "CINN", "leave it out; programs are lowered without it")

    def enable_dlnne(self, *args: Any, **kwargs: Any) -> None:
        log.error("Config.enable_dlnne: there is no DLNNE here; torch computes")

    def exp_enable_use_cutlass(self) -> None:
        log.error("Config.exp_enable_use_cutlass: there is no CUTLASS here; torch computes")

    # -- other devices
    # ----------------------------------------------------------------------------------------------

    def enable_xpu(self, *args: Any, **kwargs: Any) -> None:
        raise _lacking("enable_xpu", "XPUs", "use enable_use_gpu() or the CPU")

    def use_xpu(self) -> bool:
        return False

    def set_xpu_device_id(self, device_id: int = 0) -> None:
        raise _lacking("set_xpu_device_id", "XPUs", "use enable_use_gpu() or the CPU")

    def xpu_device_id(self) -> int:
        return 0

    def set_xpu_config(self, config: XpuConfig) -> None:
        raise _lacking("set_xpu_config", "XPUs", "use enable_use_gpu() or the CPU")

    def xpu_config(self) -> XpuConfig:
        return XpuConfig()

    def enable_ipu(self, *args: Any, **kwargs: Any) -> None:
        raise _lacking("enable_ipu", "IPUs", "use enable_use_gpu() or the CPU")

    def load_ipu_config(self, config_path: str) -> None:
        raise _lacking("load_ipu_config", "IPUs", "use enable_use_gpu() or the CPU")

    def set_ipu_config(self, *args: Any, **kwargs: Any) -> None:
        """Of IPUs, which ``enable_ipu`` refuses."""

    def set_ipu_custom_info(self, *args: Any, **kwargs: Any) -> None:
        """Of IPUs, which ``enable_ipu`` refuses."""

    def enable_custom_device(
        self, device_type: str, device_id: int = 0, precision: Precision = Precision.Float32
    ) -> None:
        log.error(f"Config.enable_custom_device: there is no device {device_type!r}; torch's serve")


def _lacking(method: str, what: str, remedy: str) -> NotSupported:
    return NotSupported(
        f"Config.{method}: there is no support for {what} here{'; ' * bool(remedy)}{remedy}"
    )
