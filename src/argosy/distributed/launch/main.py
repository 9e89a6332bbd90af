"""The entry point of ``fleetrun``."""

from __future__ import annotations

import sys

from argosy.runtime.launch.cli import main

__all__ = ["launch"]


def launch() -> None:
    """Run the job that the command line describes and exit with its code."""
    sys.exit(main())
