"""The only reader of the process environment."""

from __future__ import annotations

import os


def flags() -> dict[str, str]:
    """The ``FLAGS_*`` variables that are set, as strings."""
    return {name: value for name, value in os.environ.items() if name.startswith("FLAGS_")}


def home() -> str:
    """The folder that ``paddle.dataset`` and friends cache files in."""
    return os.path.expanduser(os.environ.get("PADDLE_HOME", "~/.cache/paddle"))
