"""Functions and layers as programs: ``to_static``, ``save``, ``load``."""

from argosy.jit.api import (
    enable_to_static,
    ignore_module,
    load,
    not_to_static,
    save,
    set_code_level,
    set_verbosity,
    to_static,
)
from argosy.jit.translated_layer import TranslatedLayer

__all__ = [
    "TranslatedLayer",
    "enable_to_static",
    "ignore_module",
    "load",
    "not_to_static",
    "save",
    "set_code_level",
    "set_verbosity",
    "to_static",
]
