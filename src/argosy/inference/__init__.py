"""Predictors: saved models, run without the script that built them."""

from argosy.inference.build import get_trt_compile_version, get_trt_runtime_version, get_version
from argosy.inference.config import Config
from argosy.inference.handle import Tensor
from argosy.inference.kinds import PaddleDType as DataType
from argosy.inference.kinds import PaddlePlace as PlaceType
from argosy.inference.kinds import Precision as PrecisionType
from argosy.inference.kinds import get_num_bytes_of_data_type
from argosy.inference.predictor import Predictor, PredictorPool, create_predictor
from argosy.inference.wrapper import convert_to_mixed_precision
from argosy.inference.xpu import XpuConfig

__all__ = [
    "Config",
    "DataType",
    "PlaceType",
    "PrecisionType",
    "Tensor",
    "Predictor",
    "create_predictor",
    "get_version",
    "convert_to_mixed_precision",
    "get_trt_compile_version",
    "get_trt_runtime_version",
    "get_num_bytes_of_data_type",
    "PredictorPool",
    "XpuConfig",
]
