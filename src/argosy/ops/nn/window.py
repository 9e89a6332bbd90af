"""Geometry of sliding windows, on plain integers: paddings, output sizes, how much of a window lies
inside its input.

A *padding* is ``"SAME"``, one amount per spatial axis, or two (before, after) per axis. *Pairs* are
its resolved form.
"""

from __future__ import annotations

from collections.abc import Sequence

Pairs = list[tuple[int, int]]


def to_pairs(
    padding: str | Sequence[int], sizes: Sequence[int], kernel: Sequence[int], stride: Sequence[int]
) -> Pairs:
    """Resolve ``padding`` to (before, after) per axis; "SAME" adds what ``ceil(size / stride)``
    windows need.
    """
    n = len(kernel)
    if isinstance(padding, str):
        return [_same(*axis) for axis in zip(sizes, kernel, stride, strict=True)]
    if len(padding) == 2 * n:
        return [(padding[2 * i], padding[2 * i + 1]) for i in range(n)]
    return [(p, p) for p in padding]


def _same(size: int, kernel: int, stride: int) -> tuple[int, int]:
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def is_symmetric(pairs: Pairs) -> bool:
    return all(before == after for before, after in pairs)


def for_engine(pairs: Pairs) -> list[int]:
    """The order ``torch.nn.functional.pad`` wants: last axis first."""
    return [amount for pair in reversed(pairs) for amount in pair]


def pooled_sizes(
    sizes: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    pairs: Pairs,
    ceil_mode: bool,
) -> list[int]:
    """Number of windows per axis.

    With ``ceil_mode`` the last window may lie wholly in the padding: Paddle keeps it, torch drops
    it. A window larger than its input by less than a stride is still one window, because Paddle's
    division rounds towards zero.
    """
    round_up = 1 if ceil_mode else 0
    return [
        int((size - k + before + after + round_up * (s - 1)) / s) + 1
        for size, k, s, (before, after) in zip(sizes, kernel, stride, pairs, strict=True)
    ]


def inside_counts(
    size: int, kernel: int, stride: int, before: int, windows: int, count_padding: bool
) -> list[int]:
    """How many elements each window of one axis averages over; padding counts only up to ``before``
    past the end.
    """
    end = size + before if count_padding else size
    first = -before if count_padding else 0
    starts = [i * stride - before for i in range(windows)]
    return [max(min(start + kernel, end) - max(start, first), 0) for start in starts]
