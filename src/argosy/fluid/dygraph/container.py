"""The containers of 1.x: those of ``paddle.nn`` on ``fluid.dygraph.Layer``."""

from argosy import nn
from argosy.fluid.dygraph.layers import Layer


class Sequential(Layer, nn.Sequential):
    """Layers, or (name, layer) pairs, that run one after the other."""


class LayerList(Layer, nn.LayerList):
    """A list of layers that are registered."""


class ParameterList(Layer, nn.ParameterList):
    """A list of parameters that are registered."""
