"""Process-wide settings, parameters' attributes, saving and loading."""

from argosy.foundation.dtypes import DType as dtype
from argosy.foundation.places import CPUPlace, CUDAPinnedPlace, CUDAPlace, Place, XPUPlace
from argosy.framework._param_attr import ParamAttr, WeightNormParamAttr
from argosy.tensor._defaults import get_default_dtype, set_default_dtype
from argosy.tensor._tensor import Parameter
