"""Layers, their functions, initialisers and gradient clipping."""

from argosy.nn import clip, functional, initializer, layer, utils
from argosy.nn.clip import *
from argosy.nn.decode import *
from argosy.nn.layer import *
from argosy.tensor.engine import Parameter
