"""``python -m paddle.distributed.launch_ps``: the parameter-server launcher of Paddle 1.x."""

from __future__ import annotations

import sys

__all__ = ["launch"]


def launch() -> None:
    """Say that parameter-server jobs cannot be started, and exit with the code of a wrong call."""
    print(
        "NotSupported: launch_ps starts a parameter-server job; only collective jobs can be started, "
        "with `python -m paddle.distributed.launch`",
        file=sys.stderr,
    )
    sys.exit(2)


if __name__ == "__main__":
    launch()
