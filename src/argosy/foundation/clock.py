"""The clock of steps and traces, ``time.perf_counter_ns``: whose it is, and how that of another
host lies to it.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_TIMES = 64


class Offset(NamedTuple):
    """What another clock is ahead of ours, in nanoseconds, give or take ``error_ns``."""

    ahead_ns: int
    error_ns: int


@functools.cache
def identity() -> str:
    """What names the monotonic clock of this process: the start of the machine, and the namespace
    of times. Processes that have the same one read the same clock.
    """
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    try:
        return f"{boot} {os.readlink('/proc/self/ns/time')}"
    except OSError:  # a kernel without them
        return boot


def compare(ask: Callable[[], tuple[int, str]]) -> Offset:
    """How the clock of another process lies to ours: ``ask`` has it read that, and returns what it
    read and whose it is. The reading falls between the question and the answer, so of many
    the quickest says most.
    """
    found = []
    for _ in range(_TIMES):
        before_ns = time.perf_counter_ns()
        there_ns, whose = ask()
        after_ns = time.perf_counter_ns()
        if whose == identity():
            return Offset(0, 0)
        found.append((after_ns - before_ns, there_ns - (before_ns + after_ns) // 2))
    took_ns, ahead_ns = min(found)
    return Offset(ahead_ns, took_ns // 2 + 1)
