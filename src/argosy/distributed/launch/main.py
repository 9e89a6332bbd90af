"""The entry point of ``fleetrun``."""

from __future__ import annotations

import sys

__all__ = ["launch"]


def launch() -> None:
    """Run the job that the command line (``sys.argv``) describes and exit with its code."""
    # scripts that only import paddle do not pay for the launcher
    from argosy.runtime.launch.cli import main

    sys.exit(main())
