"""``python -m paddle.distributed.launch``."""

from argosy.distributed.launch.main import launch

if __name__ == "__main__":
    launch()
