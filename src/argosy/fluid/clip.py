"""``fluid.clip``: limits on gradients, to be passed to an optimizer as ``grad_clip``."""

from argosy.fluid._missing import missing_names
from argosy.nn.clip import GradientClipBase, GradientClipByGlobalNorm, GradientClipByNorm, GradientClipByValue

__all__ = ["GradientClipBase", "GradientClipByGlobalNorm", "GradientClipByNorm", "GradientClipByValue"]
__getattr__ = missing_names(__name__, globals())
