"""Where the headers and libraries to build extensions against are: torch's, the engine under
argosy.
"""

from __future__ import annotations

import os

import torch

__all__ = ["get_include", "get_lib"]


def get_include() -> str:
    """The folder of C++ headers."""
    return os.path.join(os.path.dirname(torch.__file__), "include")


def get_lib() -> str:
    """The folder of shared libraries."""
    return os.path.join(os.path.dirname(torch.__file__), "lib")
