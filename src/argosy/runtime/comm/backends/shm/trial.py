"""Which of two ways is the faster on this machine: found by going both. Pure bookkeeping."""

from __future__ import annotations

import statistics

_NUM_TURNS = 9  # of each way; the time of one depends on what the other rank does meanwhile


class Trial:
    """Two ways to do the same, False and True, that take turns; then the one that took less time in
    the median stays.
    """

    __slots__ = ("_ns_by_way", "is_over", "way")

    def __init__(self) -> None:
        self.way = False  # to go next
        self.is_over = False
        self._ns_by_way: dict[bool, list[int]] = {False: [], True: []}

    def note(self, took_ns: int) -> None:
        """Say how long ``way`` has taken."""
        self._ns_by_way[self.way].append(took_ns)
        self.way = not self.way
        usual, other = self._ns_by_way[False], self._ns_by_way[True]
        if len(other) == _NUM_TURNS:
            self.is_over = True
            self.way = statistics.median(other) < statistics.median(usual)
