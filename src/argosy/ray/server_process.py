"""``python -m argosy.ray.server_process FILE``: play the part of a server by the function that the
workers train with.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path


def main(path: str) -> None:
    # our own trainer has written the file, for this user only
    train, config = pickle.loads(Path(path).read_bytes())
    train(config)


if __name__ == "__main__":
    main(sys.argv[1])
