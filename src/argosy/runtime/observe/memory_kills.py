"""Whether the kernel has killed processes for want of memory: its counters, read twice."""

from __future__ import annotations

import re
from pathlib import Path

# of the control group of this process, in both versions of them, then of the whole machine
_COUNTERS = (
    "/sys/fs/cgroup/memory.events",
    "/sys/fs/cgroup/memory/memory.oom_control",
    "/proc/vmstat",
)
_KILLS = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)


def count() -> int | None:
    """Kills so far, by the first counter that can be read; None where there is none."""
    for name in _COUNTERS:
        try:
            found = _KILLS.search(Path(name).read_text())
        except OSError:
            continue
        if found:
            return int(found.group(1))
    return None


def explain(before: int | None, after: int | None) -> str:
    """What the counters say of a SIGKILL between the two readings."""
    if before is None or after is None:
        return "the kernel does that when memory runs out; here it shows no counter of it"
    if after > before:
        return "for want of memory: the kernel has counted a kill"
    return "not for want of memory: the kernel has counted no kill"
