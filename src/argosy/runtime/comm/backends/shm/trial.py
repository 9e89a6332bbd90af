"""Which of two ways is the faster on this machine: found by going both. Pure bookkeeping."""

from __future__ import annotations

from collections.abc import Callable


class Trial:
    """Two ways to do the same, False and True, that take ``num_turns`` turns together; then the one
    stays that took less time by ``judge``, which makes one number of many.

    Whoever goes a way together with others takes as many turns as they do, whatever comes out:
    ``way`` is the same for all until ``is_over``.
    """

    __slots__ = ("_judge", "_ns_by_way", "_num_left", "way")

    def __init__(self, num_turns: int, judge: Callable[[list[int]], float]) -> None:
        self.way = False  # to go next
        self._num_left = num_turns
        self._judge = judge
        self._ns_by_way: dict[bool, list[int]] = {False: [], True: []}

    @property
    def is_over(self) -> bool:
        return self._num_left == 0

    def note(self, took_ns: int, counts: bool = True) -> None:
        """Say how long ``way`` has taken, and whether that tells something about it."""
        if counts:
            self._ns_by_way[self.way].append(took_ns)
        self._num_left -= 1
        self.way = self.faster() if self.is_over else not self.way

    def faster(self) -> bool:
        """The way that was faster so far; the usual one, False, while nobody knows."""
        usual, other = self._ns_by_way[False], self._ns_by_way[True]
        return bool(usual and other) and self._judge(other) < self._judge(usual)
