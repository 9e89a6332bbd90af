"""Initialisers of parameters."""

from argosy.nn.initializer._base import Constant, Initializer, XavierUniform, set_global_initializer
