"""Asking for kernels and layouts that are found by trying."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

from argosy.foundation.errors import BadArgument
from argosy.framework import set_flags

__all__ = ["set_config"]


def set_config(config: dict[str, Any] | str | None = None) -> None:
    """Turn tuning on or off: ``{"kernel": {"enable": True}}``, a JSON file with the same, or None
    for everything.

    ``kernel`` lets cuDNN try its convolutions. Layouts are PyTorch's, and data loaders keep the
    number of workers that they were given: what is asked of them is checked, and has no effect.
    """
    if config is None:
        config = {"kernel": {"enable": True}}
    elif isinstance(config, str):
        config = _read(config)
    kernel = config.get("kernel", {})
    if _checked(kernel, "kernel", "enable", bool):
        set_flags(dict.fromkeys(_FLAGS, kernel["enable"]))
    if _checked(kernel, "kernel", "tuning_range", list) and len(kernel["tuning_range"]) != 2:
        raise BadArgument("set_config: tuning_range has a first and a last step")
    _checked(config.get("layout", {}), "layout", "enable", bool)
    _checked(config.get("dataloader", {}), "dataloader", "enable", bool)
    _checked(config.get("dataloader", {}), "dataloader", "tuning_steps", int)


_FLAGS = ("FLAGS_use_autotune", "FLAGS_cudnn_exhaustive_search")


def _read(path: str) -> dict[str, Any]:
    try:
        found = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        print(f"Load config error: {error}")
        warnings.warn("Use default configuration for auto-tuning.", stacklevel=3)
        return {}
    return found if isinstance(found, dict) else {}


def _checked(part: dict[str, Any], name: str, key: str, kind: type) -> bool:
    """Whether ``key`` is there with the right type; one of another type is warned of."""
    if key not in part:
        return False
    if isinstance(part[key], kind):
        return True
    warnings.warn(
        f"The auto-tuning configuration of the {name} is incorrect. The `{key}` should be "
        f"{kind.__name__}. Use default parameter instead.",
        stacklevel=3,
    )
    return False
