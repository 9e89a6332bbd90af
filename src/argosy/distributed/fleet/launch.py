"""``python -m paddle.distributed.fleet.launch``: as ``paddle.distributed.launch``, with the log
folder of Paddle 2.0.
"""

from __future__ import annotations

import sys

__all__ = ["launch"]


def launch() -> None:
    """Run the job that the command line (``sys.argv``) describes and exit with its code."""
    from argosy.runtime.launch.cli import main

    sys.exit(main(is_fleet=True))


if __name__ == "__main__":
    from argosy.runtime.launch.cli import run

    run(is_fleet=True)
