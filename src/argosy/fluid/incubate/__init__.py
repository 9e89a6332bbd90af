"""``fluid.incubate``: what Paddle 1.x tried out: data generators and Fleet."""

from __future__ import annotations

import importlib
from typing import Any

from argosy.fluid.incubate import data_generator

__all__ = ["data_generator", "fleet"]


def __getattr__(name: str) -> Any:
    if name == "fleet":  # imported on first use: it joins jobs
        return importlib.import_module("argosy.fluid.incubate.fleet")
    raise AttributeError(f"module 'paddle.fluid.incubate' has no attribute {name!r}")
