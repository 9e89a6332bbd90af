"""``python -m paddle.distributed.launch_ps``: the parameter-server launcher of Paddle 1.x."""

from __future__ import annotations

import sys

from argosy.runtime.launch import cli

__all__ = ["launch"]

_DEFAULTS = {"--server_num": "2", "--worker_num": "2", "--log_dir": "logs"}
_INSTEAD = {"--server_num": ("--endpoints", "--servers"), "--worker_num": ("--workers",)}


def launch() -> None:
    """Run the job of the command line: two servers and two workers on this host unless it says
    otherwise.
    """
    argv = sys.argv[1:]
    given = {word.partition("=")[0] for word in argv}
    for flag, value in _DEFAULTS.items():
        if not given.intersection((flag, *_INSTEAD.get(flag, ()))):
            argv = [flag, value, *argv]
    cli.run(argv)


if __name__ == "__main__":
    launch()
