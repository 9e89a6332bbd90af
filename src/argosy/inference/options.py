"""What a Config says, as plain data."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from argosy.inference.kinds import Precision


@dataclass
class Options:
    """The state of a Config; defaults are Paddle's."""

    model_dir: str = ""
    prog_file: str = ""
    params_file: str = ""
    model_buffer: bytes | None = None
    params_buffer: bytes = b""

    use_gpu: bool = False
    gpu_device_id: int = 0
    memory_pool_init_size_mb: int = 100

    cpu_threads: int = 1
    onednn: bool = True
    onednn_cache_capacity: int = 10
    onednn_ops: set[str] = field(default_factory=set)
    onednn_bfloat16: bool = False
    bfloat16_ops: set[str] = field(default_factory=set)
    onednn_int8: bool = False

    ir_optim: bool = True
    ir_debug: bool = False
    memory_optim: bool = False
    profile: bool = False
    glog_info: bool = True
    specify_input_names: bool = False
    optim_cache_dir: str = ""
    optimization_level: int = 2
    new_executor: bool = False
    new_ir: bool = False

    trt: dict[str, Any] = field(default_factory=lambda: dict(TENSORRT))
    is_used: bool = False  # a config serves one predictor

    def copy(self) -> Options:
        """The same, for another predictor."""
        return replace(deepcopy(self), is_used=False)

    def summary(self) -> str:
        """The table that ``Config.summary`` returns."""
        files = [("model_dir", self.model_dir)] if self.model_dir else []
        if self.prog_file:
            files = [("model_file", self.prog_file), ("params_file", self.params_file)]
        sections: list[list[tuple[str, Any]]] = [
            [("Option", "Value")],
            files,
            [
                ("cpu_math_thread", self.cpu_threads),
                ("enable_mkldnn", self.onednn),
                ("mkldnn_cache_capacity", self.onednn_cache_capacity),
                ("use_openvino", False),
                ("openvino_inference_precision", "fp32"),
            ],
            [("use_gpu", self.use_gpu)]
            + [
                (name, value)
                for name, value in (
                    ("gpu_device_id", self.gpu_device_id),
                    ("memory_pool_init_size", f"{self.memory_pool_init_size_mb}MB"),
                )
                if self.use_gpu
            ],
            [("use_xpu", False)],
            [
                ("use_cinn_compiler", False),
                ("save_optimized_model", False),
                ("ir_optim", self.ir_optim),
                ("ir_debug", self.ir_debug),
                ("use_optimized_model", False),
                ("memory_optim", self.memory_optim),
                ("enable_profile", self.profile),
                ("enable_log", self.glog_info),
                ("collect_shape_range_info", False),
            ],
        ]
        return _table(sections)


# What may be said of TensorRT though there is none; ``enable_tensorrt_engine`` refuses.
TENSORRT: dict[str, Any] = {
    "precision_mode": Precision.Float32,
    "dynamic_shape": False,
    "tuned_dynamic_shape": False,
    "allow_build_at_runtime": False,
    "varseqlen": False,
    "dla": False,
    "inspector": False,
    "explicit_quantization": False,
    "optimization_level": 3,
}


def _table(sections: list[list[tuple[str, Any]]]) -> str:
    rows = [[(name, _text(value)) for name, value in section] for section in sections]
    cells = [row for section in rows for row in section]
    first, second = (max(len(row[i]) for row in cells) for i in (0, 1))
    line = f"+-{'-' * first}-+-{'-' * second}-+\n"
    text = "".join(
        "".join(f"| {name:{first}} | {value:{second}} |\n" for name, value in section) + line
        for section in rows
    )
    return f"\n{line}{text}"


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
