"""Compiled loops that were made from other source than what is there now."""

from __future__ import annotations

from pathlib import Path


def forget_stale_kernels(package: Path) -> int:
    """Delete what numba has kept of the loops in ``package`` if a module with loops is younger;
    returns how many files.

    numba looks at the module that a loop stands in, not at those whose loops are compiled into it.
    """
    sources = [path for path in package.rglob("*.py") if "import numba" in path.read_text()]
    newest = max((path.stat().st_mtime_ns for path in sources), default=0)
    kept = package.rglob("__pycache__/*.nb[ic]")
    stale = [path for path in kept if path.stat().st_mtime_ns < newest]
    for path in stale:
        path.unlink(missing_ok=True)
    return len(stale)
