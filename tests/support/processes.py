"""What tests ask about the processes they start."""

import multiprocessing


def children():
    """The processes that the test itself has started and not awaited; the pool of the
    several-process tests does not count.
    """
    return [p for p in multiprocessing.active_children() if not p.name.startswith("pool-")]
