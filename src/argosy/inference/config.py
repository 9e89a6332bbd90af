"""Config: which model a predictor runs, where, and what else scripts say of it.

What only tunes Paddle's engine is kept, and the getters answer; what would change results is
honoured or refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from argosy.device import cuda
from argosy.foundation.errors import DtypeError, NotSupported, UsageError
from argosy.foundation.places import CPUPlace, CUDAPlace, Place
from argosy.inference import kinds
from argosy.inference.engines import EngineOptions, log
from argosy.inference.kinds import expected
from argosy.inference.native import NativeConfig
from argosy.inference.onednn import OnednnOptions
from argosy.inference.options import Options
from argosy.inference.passes import PaddlePassBuilder


class Config(OnednnOptions, EngineOptions):
    """How a predictor is made: ``Config(model_file, params_file)``, ``Config(folder, prefix)``,
    ``Config(folder)`` for a folder of 1.x, or a copy of another one.

    Example:
        >>> import paddle.inference
        >>> config = paddle.inference.Config()
        >>> config.set_prog_file("net.pdmodel")
        >>> config.set_params_file("net.pdiparams")
        >>> config.prog_file(), config.use_gpu()
        ('net.pdmodel', False)
    """

    __slots__ = ("_options", "_passes")

    Precision = kinds.Precision
    Float32, Int8, Half, Bfloat16 = kinds.Precision

    def __init__(self, model: str | Config | None = None, params: str | None = None) -> None:
        self._options = Options()
        self._passes = PaddlePassBuilder()
        if isinstance(model, Config) and params is None:
            self._options = model._options.copy()
            self._passes = model._passes.copy()
        elif isinstance(model, str):
            self.set_model(model, *(() if params is None else (params,)))
        elif model is not None or params is not None:
            raise DtypeError(
                "Config: expected the paths of a model and of its parameters, a folder or a "
                f"Config, but received {type(model).__name__} and {type(params).__name__}"
            )

    # -- the model
    # ----------------------------------------------------------------------------------------------

    def set_model(self, model: str, params: str | None = None) -> None:
        """Choose the files of a model, the prefix of its files in a folder, or a folder of 1.x."""
        expected("Config.set_model", "the model", model, str)
        if params is None:
            self._options.model_dir = model
            return
        expected("Config.set_model", "the parameters", params, str)
        if os.path.isdir(model):
            prefix = os.path.join(model, params)
            model, params = f"{prefix}.pdmodel", f"{prefix}.pdiparams"
        self._options.prog_file, self._options.params_file = model, params

    def set_prog_file(self, path: str) -> None:
        self._options.prog_file = expected("Config.set_prog_file", "the path", path, str)

    def set_params_file(self, path: str) -> None:
        self._options.params_file = expected("Config.set_params_file", "the path", path, str)

    def set_model_buffer(
        self, prog_buffer: bytes, prog_size: int, params_buffer: bytes, params_size: int
    ) -> None:
        """Take the model out of memory: the contents of its two files, and how much of each."""
        for name, value in (("prog_buffer", prog_buffer), ("params_buffer", params_buffer)):
            expected("Config.set_model_buffer", name, value, bytes)
        self._options.model_buffer = prog_buffer[:prog_size]
        self._options.params_buffer = params_buffer[:params_size]

    def model_dir(self) -> str:
        return self._options.model_dir

    def prog_file(self) -> str:
        return self._options.prog_file

    def params_file(self) -> str:
        return self._options.params_file

    def model_from_memory(self) -> bool:
        return self._options.model_buffer is not None

    # -- the device
    # ----------------------------------------------------------------------------------------------

    def enable_use_gpu(
        self,
        memory_pool_init_size_mb: int,
        device_id: int = 0,
        precision_mode: kinds.Precision = kinds.Precision.Float32,
    ) -> None:
        """Run on a GPU; without one this is an error in the log, and the CPU is used, as in Paddle.

        The size of the pool is torch's affair. A precision other than float32 is refused.
        """
        if not cuda.device_count():
            log.error("Config.enable_use_gpu: there is no GPU here; the CPU computes")
            self._options.use_gpu = False
            return
        if precision_mode is not kinds.Precision.Float32:
            raise NotSupported(
                f"Config.enable_use_gpu: precision_mode {precision_mode} is not supported; save "
                "the model in that precision, or leave it out"
            )
        self._options.use_gpu = True
        self._options.gpu_device_id = device_id
        self._options.memory_pool_init_size_mb = memory_pool_init_size_mb

    def disable_gpu(self) -> None:
        self._options.use_gpu = False

    def use_gpu(self) -> bool:
        return self._options.use_gpu

    def gpu_device_id(self) -> int:
        return self._options.gpu_device_id

    def memory_pool_init_size_mb(self) -> int:
        return self._options.memory_pool_init_size_mb

    def fraction_of_gpu_memory_for_pool(self) -> float:
        return 0.0

    def enable_low_precision_io(self, x: bool = True) -> None:
        if x:
            raise UsageError(
                "Config.enable_low_precision_io: it needs a precision other than float32 on a GPU, "
                "which is not on"
            )

    def set_cpu_math_library_num_threads(self, num: int) -> None:
        """Kept; how many threads compute is torch's setting for the whole process."""
        self._options.cpu_threads = expected(
            "Config.set_cpu_math_library_num_threads", "the number", num, int
        )

    def cpu_math_library_num_threads(self) -> int:
        return self._options.cpu_threads

    # -- how the program is prepared and run
    # ----------------------------------------------------------------------------------------------

    def switch_ir_optim(self, x: int = True) -> None:
        self._options.ir_optim = bool(x)

    def ir_optim(self) -> bool:
        return self._options.ir_optim

    def switch_ir_debug(self, x: int = True, passes: Iterable[str] = ()) -> None:
        self._options.ir_debug = bool(x)

    def enable_memory_optim(self, x: bool = True) -> None:
        self._options.memory_optim = bool(x)

    def switch_use_feed_fetch_ops(self, x: int = True) -> None:
        """Nothing to switch: programs have no such operators, and both ways to run work."""

    def use_feed_fetch_ops_enabled(self) -> bool:
        return False

    def switch_specify_input_names(self, x: bool = True) -> None:
        self._options.specify_input_names = bool(x)

    def specify_input_name(self) -> bool:
        return self._options.specify_input_names

    def enable_profile(self) -> None:
        """Kept; ``paddle.profiler`` has no part in a run."""
        self._options.profile = True

    def disable_glog_info(self) -> None:
        self._options.glog_info = False

    def glog_info_disabled(self) -> bool:
        return not self._options.glog_info

    def set_optim_cache_dir(self, path: str) -> None:
        self._options.optim_cache_dir = expected(
            "Config.set_optim_cache_dir", "the path", path, str
        )

    def enable_save_optim_model(self, save_optimized_model: bool = False) -> None:
        if save_optimized_model:
            raise NotSupported(
                "Config.enable_save_optim_model: there is no optimized form of a model to save; "
                "it is lowered when it is loaded"
            )

    def use_optimized_model(self, x: bool = True) -> None:
        if x:
            raise NotSupported(
                "Config.use_optimized_model: there is no optimized form of a model; name the files "
                "of the model itself"
            )

    def set_optimization_level(self, opt_level: int = 2) -> None:
        self._options.optimization_level = opt_level

    def enable_new_executor(self, x: bool = True) -> None:
        self._options.new_executor = bool(x)

    def enable_new_ir(self, x: bool = True) -> None:
        self._options.new_ir = bool(x)

    def new_ir_enabled(self) -> bool:
        return self._options.new_ir

    def pass_builder(self) -> PaddlePassBuilder:
        """The list of passes of this Config; see ``passes``."""
        return self._passes

    def delete_pass(self, name: str) -> None:
        self._passes.delete_pass(name)

    def enable_custom_passes(
        self, passes: Iterable[str] = (), custom_pass_only: bool = False
    ) -> None:
        names = list(passes)
        if names:
            raise NotSupported(
                f"Config.enable_custom_passes: {names} are passes over Paddle's IR, which is not "
                "here; leave them out"
            )

    def exp_enable_mixed_precision_ops(self, ops: set[str]) -> None:
        """Of mixed precision on GPUs, which ``enable_use_gpu`` refuses."""

    def exp_disable_mixed_precision_ops(self, ops: set[str]) -> None:
        """Of mixed precision on GPUs, which ``enable_use_gpu`` refuses."""

    def to_native_config(self) -> NativeConfig:
        """The same for the oldest predictors, as far as they have it."""
        native = NativeConfig()
        options = self._options
        native.model_dir, native.prog_file = options.model_dir, options.prog_file
        native.param_file, native.use_gpu = options.params_file, options.use_gpu
        native.device, native.specify_input_name = (
            options.gpu_device_id,
            options.specify_input_names,
        )
        native.set_cpu_math_library_num_threads(options.cpu_threads)
        return native

    def summary(self) -> str:
        """What was said, as a table."""
        return self._options.summary()


def used(config: Any, call: str) -> tuple[Options, Place]:
    """What ``config`` says, and the place that it means; it cannot be used again."""
    if not isinstance(config, Config):
        raise DtypeError(f"{call}: expected a Config, but received {type(config).__name__}")
    options = config._options
    if options.is_used:
        raise UsageError(
            f"{call}: Each config can only be used for one predictor; make another with "
            "Config(config), or clone() the predictor"
        )
    place = CUDAPlace(options.gpu_device_id) if options.use_gpu else CPUPlace()
    options.is_used = True
    return options, place
