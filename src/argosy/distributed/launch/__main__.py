"""``python -m paddle.distributed.launch``."""

from argosy.runtime.launch.cli import run

if __name__ == "__main__":
    run()
