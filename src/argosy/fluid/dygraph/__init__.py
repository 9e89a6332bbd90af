"""Dygraph as Paddle 1.x has it: ``fluid.dygraph``."""

from argosy.fluid.dygraph import (
    base,
    checkpoint,
    container,
    layers,
    learning_rate_scheduler,
    nn,
    parallel,
)
from argosy.fluid.dygraph.base import *
from argosy.fluid.dygraph.checkpoint import *
from argosy.fluid.dygraph.container import *
from argosy.fluid.dygraph.layers import *
from argosy.fluid.dygraph.learning_rate_scheduler import *
from argosy.fluid.dygraph.nn import *
from argosy.fluid.dygraph.parallel import *
from argosy.fluid.dygraph.parallel import Env
from argosy.fluid.missing import missing_names

__getattr__ = missing_names(__name__, globals())
