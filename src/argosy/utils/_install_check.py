"""Checks of what is installed."""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import torch

from argosy import version
from argosy.foundation.errors import DtypeError, InternalError, UsageError

__all__ = ["run_check", "require_version"]


def run_check() -> None:
    """Train a small layer for one step on the default device, check the result, and print that it
    worked.
    """
    paddle = importlib.import_module("argosy")  # the whole face, which stands above this package
    print("Running verify argosy program ... ")
    layer = paddle.nn.Linear(4, 3)
    optimizer = paddle.optimizer.SGD(learning_rate=0.5, parameters=layer.parameters())
    before = layer.weight.numpy()
    x = np.arange(8, dtype="float32").reshape(2, 4)
    layer(paddle.to_tensor(x)).sum().backward()
    optimizer.step()
    expected = before - 0.5 * np.repeat(x.sum(axis=0)[:, None], 3, axis=1)
    if not np.allclose(layer.weight.numpy(), expected, atol=1e-5):
        raise InternalError("run_check: one step of SGD on a Linear layer gave wrong weights")
    count = torch.cuda.device_count()
    where = (
        f"{count} GPU{'s' if count > 1 else ''}" if layer.weight.place.is_gpu_place() else "1 CPU"
    )
    print(f"argosy works well on {where}.")
    print("argosy is installed successfully! Let's start deep learning with it now.")


def require_version(min_version: str, max_version: str | None = None) -> None:
    """Raise unless the version of Paddle's API that argosy speaks, ``paddle.version``, lies between
    the two (inclusive). Version 0.0.0 is taken for any, with a warning.
    """
    lowest = _parse("min_version", min_version)
    highest = None if max_version is None else _parse("max_version", max_version)
    spoken = ".".join((version.major, version.minor, version.patch, version.rc))
    have = _parse("version", spoken)
    if not any(have):
        warnings.warn(f"require_version: {spoken} is not compared with others", stacklevel=2)
        return
    if have < lowest or (highest is not None and have > highest):
        span = (
            f"version {min_version} or higher"
            if max_version is None
            else f"a version in [{min_version}, {max_version}]"
        )
        raise UsageError(f"VersionError: {span} is required, but argosy speaks Paddle {spoken}.")


def _parse(name: str, version: str) -> list[int]:
    if not isinstance(version, str):
        raise DtypeError(
            f"require_version: {name} must be a str, but received {type(version).__name__}"
        )
    parts = version.split(".")
    if len(parts) > 4 or not all(part.isdigit() for part in parts):
        raise UsageError(
            f"require_version: {name} must look like '1.5.2.0', but received {version!r}"
        )
    return [int(part) for part in parts] + [0] * (4 - len(parts))
