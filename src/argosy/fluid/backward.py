"""``fluid.backward``: gradients of programs."""

from argosy.fluid.missing import missing_names
from argosy.static import append_backward, gradients

__all__ = ["append_backward", "calc_gradient", "gradients"]

calc_gradient = gradients

__getattr__ = missing_names(__name__, globals())
