"""``paddle.incubate.autograd``: derivatives in programs."""

from argosy.incubate.autograd.functional import Hessian, Jacobian, jvp, vjp
from argosy.incubate.autograd.primapi import forward_grad, grad
from argosy.incubate.autograd.utils import disable_prim, enable_prim, prim_enabled
