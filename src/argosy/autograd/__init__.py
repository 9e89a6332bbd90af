"""Gradients: recording them, computing them, and operations with a backward of their own."""

from argosy.autograd._grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from argosy.autograd._saved_tensors import saved_tensors_hooks
from argosy.autograd.autograd import hessian, jacobian
from argosy.autograd.backward_mode import backward, grad
from argosy.autograd.py_layer import PyLayer, PyLayerContext

Function = PyLayer

__all__ = [
    "jacobian",
    "hessian",
    "backward",
    "PyLayer",
    "Function",
    "PyLayerContext",
    "saved_tensors_hooks",
]
