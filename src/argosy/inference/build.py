"""What this build is, and which kernels it has, as predictors tell it."""

from __future__ import annotations

from argosy import version


def get_version() -> str:
    """The version of Paddle whose API this is, in Paddle's three lines."""
    return f"version: {version.full_version}\ncommit: {version.commit}\nbranch: HEAD\n"


def get_trt_compile_version() -> tuple[int, int, int]:
    """The version of TensorRT; there is none."""
    return (0, 0, 0)


def get_trt_runtime_version() -> tuple[int, int, int]:
    """The version of TensorRT; there is none."""
    return (0, 0, 0)
