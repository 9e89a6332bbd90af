<<<<<<< HEAD
"""Asking for kernels and layouts that are found by trying."""
=======
"""``incubate.autotune``: what Paddle may choose by trying, kernels, layouts and reading workers.

PyTorch chooses its kernels and layouts itself, so the settings are kept as flags and change no
result; the number of workers of a DataLoader stays the one that it was given.
"""
>>>>>>> main

from __future__ import annotations

import json
import warnings
<<<<<<< HEAD
from pathlib import Path
=======
>>>>>>> main
from typing import Any

from argosy.foundation.errors import BadArgument
from argosy.framework import set_flags

__all__ = ["set_config"]


def set_config(config: dict[str, Any] | str | None = None) -> None:
<<<<<<< HEAD
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
=======
    """Say what may be tuned: ``kernel``, ``layout`` and ``dataloader`` with ``enable`` each, as a
    dict or the path of a JSON file; None enables all.

    Example:
        >>> import paddle
        >>> paddle.incubate.autotune.set_config({"kernel": {"enable": True}})
        >>> paddle.get_flags("FLAGS_use_autotune")
        {'FLAGS_use_autotune': True}
        >>> paddle.set_flags({"FLAGS_use_autotune": False})
    """
    given = {"kernel": {"enable": True}} if config is None else _read(config)
    kernel = given.get("kernel", {})
    if _checked("kernel", kernel, "enable", bool):
        set_flags({"FLAGS_use_autotune": kernel["enable"]})
    if _checked("kernel", kernel, "tuning_range", list) and len(kernel["tuning_range"]) != 2:
        raise BadArgument("autotune.set_config: tuning_range must be [start, end]")
    _checked("layout", given.get("layout", {}), "enable", bool)
    loader = given.get("dataloader", {})
    _checked("dataloader", loader, "enable", bool)
    _checked("dataloader", loader, "tuning_steps", int)


def _read(config: dict[str, Any] | str) -> dict[str, Any]:
    if isinstance(config, dict):
        return config
    try:
        with open(config) as file:
            return dict(json.load(file))
    except (OSError, ValueError) as error:
        warnings.warn(
            f"Load config error: {error}. Use default configuration for auto-tuning.", stacklevel=3
        )
        return {}


def _checked(part: str, settings: dict[str, Any], key: str, kind: type) -> bool:
    """Whether a setting is there and of its type; one of another type is warned of."""
    if key in settings and not isinstance(settings[key], kind):
        warnings.warn(
            f"The auto-tuning configuration of the {part} is incorrect. The `{key}` should be "
            f"{kind.__name__}. Use default parameter instead.",
            stacklevel=3,
        )
        return False
    return key in settings
>>>>>>> main
