"""Programs as text."""

from __future__ import annotations

import sys
from typing import Any, TextIO

__all__ = ["program_to_code"]


def program_to_code(prog: Any, fout: TextIO | None = None, skip_op_callstack: bool = False) -> None:
    """Write a program, readable, to ``fout``, by default the standard output."""
    print(prog, file=fout or sys.stdout)
