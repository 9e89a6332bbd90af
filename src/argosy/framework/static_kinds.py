"""What files hold besides Tensors where programs are recorded: tensors of scopes, rows, programs.

These are classes of ``static``, which says here how they are written and read when it is imported.
"""

from __future__ import annotations

from typing import IO, Any, Protocol

import numpy as np
import torch


class StaticKinds(Protocol):
    """How ``paddle.save`` and ``paddle.load`` treat values of programs."""

    def array_of(self, obj: Any) -> np.ndarray | None:
        """What stands for a tensor of a scope in a pickle; None for anything else."""

    def is_program(self, obj: Any) -> bool: ...

    def write(self, obj: Any, file: IO[bytes]) -> bool:
        """Write a value in its own format; False if it has none, and nothing is written."""

    def read(self, file: IO[bytes], source: str) -> Any:
        """What is in a file that is no pickle."""

    def holder(self, raw: torch.Tensor, lod: list[list[int]]) -> Any:
        """What a tensor in a file becomes where programs are recorded."""


class _Installed:
    """What ``static`` said; nothing before it is imported."""

    def __init__(self) -> None:
        self.kinds: StaticKinds | None = None


_installed = _Installed()


def install(kinds: StaticKinds) -> None:
    """Have ``paddle.save`` and ``paddle.load`` ask ``kinds`` from now on."""
    _installed.kinds = kinds


def installed() -> StaticKinds | None:
    return _installed.kinds


def array_of(obj: Any) -> np.ndarray | None:
    """What stands for a tensor of a scope in a pickle; None for anything else."""
    kinds = _installed.kinds
    return None if kinds is None else kinds.array_of(obj)


def is_program(obj: Any) -> bool:
    kinds = _installed.kinds
    return kinds is not None and kinds.is_program(obj)


def write(obj: Any, file: IO[bytes]) -> bool:
    """Write a value of a program in its own format; False if it is none."""
    kinds = _installed.kinds
    return kinds is not None and kinds.write(obj, file)
