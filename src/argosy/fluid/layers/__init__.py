"""The functions of 1.x: ``fluid.layers``."""

from argosy.fluid.layers import (
    control_flow,
    io,
    learning_rate_scheduler,
    loss,
    metric_op,
    nn,
    ops,
    rnn,
    sequence_lod,
    tensor,
)
from argosy.fluid.layers._dense import *
from argosy.fluid.layers._elementwise import *
from argosy.fluid.layers._norm import *
from argosy.fluid.layers._reduction import *
from argosy.fluid.layers._resize import *
from argosy.fluid.layers.control_flow import *
from argosy.fluid.layers.io import *
from argosy.fluid.layers.learning_rate_scheduler import *
from argosy.fluid.layers.loss import *
from argosy.fluid.layers.metric_op import *
from argosy.fluid.layers.nn import *
from argosy.fluid.layers.ops import *
from argosy.fluid.layers.rnn import *
from argosy.fluid.layers.sequence_lod import *
from argosy.fluid.layers.tensor import *
from argosy.fluid.missing import missing_names

__getattr__ = missing_names(__name__, globals())
