"""NativeConfig: the settings of the oldest predictors, as plain attributes."""

from __future__ import annotations

from argosy.inference.kinds import expected


class NativeConfig:
    """Names a model of 1.x for ``fluid.core.create_paddle_predictor``."""

    def __init__(self) -> None:
        self.model_dir = ""
        self.prog_file = ""
        self.param_file = ""
        self.use_gpu = False
        self.device = 0
        self.fraction_of_gpu_memory = -1.0
        self.specify_input_name = False
        self._num_threads = 1

    def set_cpu_math_library_num_threads(self, num: int) -> None:
        """Kept; how many threads compute is torch's setting."""
        self._num_threads = expected("set_cpu_math_library_num_threads", "the number", num, int)

    def cpu_math_library_num_threads(self) -> int:
        return self._num_threads
