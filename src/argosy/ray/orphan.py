"""A process whose raylet has died is no part of the cluster any more, though it may run on for a
while: Ray starts its work elsewhere. Two processes must not train the same step, so it ends itself.
"""

from __future__ import annotations

import os
import sys
import threading
import time

_LOOK_S = 0.5


def end_with_parent() -> None:
    """End this process soon after the process that started it, from a thread of its own."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_S)
        print("argosy: the raylet of this process has ended, and so does it", file=sys.stderr)
        sys.stderr.flush()
        os._exit(1)

    threading.Thread(target=watch, name="argosy-ray-orphan", daemon=True).start()
