"""A process whose raylet has died is no part of the cluster any more, though it may run on for a
while: Ray starts its work elsewhere. Two processes must not train the same step, so it ends itself.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
import time

_LOOK_S = 0.2
_AGAIN_MS = 10_000  # the kernel wakes it before


def end_with_parent() -> None:
    """End this process with the process that started it, from a thread of its own."""
    parent = os.getppid()

    def watch() -> None:
        _wait(parent)
        try:
            print("argosy: the raylet of this process has ended, and so does it", file=sys.stderr)
            sys.stderr.flush()
        finally:  # also where nobody reads any more
            os._exit(1)

    threading.Thread(target=watch, name="argosy-ray-orphan", daemon=True).start()


def _wait(parent: int) -> None:
    """Until the process ``parent`` of this one has ended."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # it has ended, or the kernel cannot tell
            descriptor = os.pidfd_open(parent)
            try:
                poll = select.poll()
                poll.register(descriptor, select.POLLIN)
                while os.getppid() == parent:
                    poll.poll(_AGAIN_MS)
            finally:
                os.close(descriptor)
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
