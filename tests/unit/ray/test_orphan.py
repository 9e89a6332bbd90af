"""A process ends with the one that started it."""

import os
import signal
import subprocess
import sys

_CHILD = (
    "import sys, time; from argosy.ray.orphan import end_with_parent; end_with_parent();"
    "print('ready', flush=True); time.sleep(600)"
)
_PARENT = (
    "import subprocess, sys; c = subprocess.Popen([sys.executable, '-c', sys.argv[1]]);"
    "print(c.pid, flush=True); c.wait()"
)


def test_an_orphan_ends():
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT, _CHILD], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    child = int(parent.stdout.readline())
    try:
        assert parent.stdout.readline() == b"ready\n"
        os.kill(parent.pid, signal.SIGKILL)
        # the child holds both pipes until it ends
        _, said = parent.communicate(timeout=60)
        assert b"the raylet of this process has ended" in said
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
