"""Process-wide settings, parameters' attributes, saving and loading."""

from argosy.foundation.dtypes import DType as dtype
from argosy.foundation.places import CPUPlace, CUDAPinnedPlace, CUDAPlace, Place, XPUPlace
from argosy.framework import random
from argosy.framework._finfo import finfo, iinfo
from argosy.framework._flags import get_flags, set_flags
from argosy.framework.io import load, save
from argosy.framework.mode import (
    disable_static,
    enable_static,
    in_dygraph_mode,
    in_dynamic_mode,
    in_dynamic_or_pir_mode,
    in_pir_mode,
    use_pir_api,
)
from argosy.framework.param_attr import ParamAttr, WeightNormParamAttr
from argosy.framework.pickles import add_safe_globals, safe_globals
from argosy.framework.random import (
    Generator,
    get_cuda_rng_state,
    get_rng_state,
    seed,
    set_cuda_rng_state,
    set_rng_state,
)
from argosy.framework.signals import disable_signal_handler
from argosy.tensor.engine import Parameter, get_default_dtype, set_default_dtype
