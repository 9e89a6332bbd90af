"""``fluid.lod_tensor``: sequences of different lengths in one tensor."""

from argosy.fluid.missing import missing_names
from argosy.static.ir.lod import create_lod_tensor, create_random_int_lodtensor

__all__ = ["create_lod_tensor", "create_random_int_lodtensor"]

__getattr__ = missing_names(__name__, globals())
