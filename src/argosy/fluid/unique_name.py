"""``fluid.unique_name``."""

from argosy.utils.unique_name import generate, guard, switch

__all__ = ["generate", "guard", "switch"]
