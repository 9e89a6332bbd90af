"""``incubate.autotune``: what Paddle may choose by trying, kernels, layouts and reading workers.

PyTorch chooses its kernels and layouts itself, so the settings are kept as flags and change no
result; the number of workers of a DataLoader stays the one that it was given.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

from argosy.foundation.errors import BadArgument
from argosy.framework import set_flags

__all__ = ["set_config"]


def set_config(config: dict[str, Any] | str | None = None) -> None:
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
    tuning_range: Any = kernel.get("tuning_range")
    if _checked("kernel", kernel, "tuning_range", list) and len(tuning_range) != 2:
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
