"""``paddle.fluid``: the API of Paddle 1.x, as far as dygraph scripts need it, over the layers below."""

from argosy.fluid import (
    clip,
    contrib,
    core,
    data_feeder,
    dygraph,
    dygraph_grad_clip,
    framework,
    initializer,
    io,
    layer_helper,
    layers,
    metrics,
    optimizer,
    param_attr,
    regularizer,
    unique_name,
    wrapped_decorator,
)
from argosy.fluid._missing import missing_names
from argosy.fluid.core import CPUPlace, CUDAPinnedPlace, CUDAPlace, VarBase
from argosy.fluid.dygraph.base import disable_dygraph, disable_imperative, enable_dygraph, enable_imperative
from argosy.fluid.dygraph.checkpoint import load_dygraph, save_dygraph
from argosy.fluid.dygraph.layers import Layer
from argosy.fluid.dygraph.nn import *
from argosy.fluid.framework import *
from argosy.fluid.param_attr import ParamAttr
from argosy.nn.functional import one_hot

__getattr__ = missing_names(__name__, globals())
