"""Generated clicks: categorical slots with popular and rare ids, a few numbers, and a hidden taste
that decides who clicks. Used by the examples.
"""

from __future__ import annotations

import numpy as np

NUM_SLOTS, NUM_IDS, NUM_NUMBERS = 8, 5000, 4


class Clicks:
    """An endless source; ``seed`` of workers differ, the taste is one."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        taste = np.random.default_rng(7)
        self._taste = taste.normal(size=(NUM_SLOTS, NUM_IDS)).astype("float32")
        self._weight = taste.normal(size=NUM_NUMBERS).astype("float32")

    def batch(self, size: int, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The ``number``-th batch: ids [size, slots], distinct between slots; numbers [size, 4];
        clicks [size, 1] of 0 and 1.
        """
        rng = np.random.default_rng([self._seed, number])
        drawn = np.minimum(rng.zipf(1.3, (size, NUM_SLOTS)) - 1, NUM_IDS - 1)
        numbers = rng.normal(size=(size, NUM_NUMBERS)).astype("float32")
        liking = self._taste[np.arange(NUM_SLOTS), drawn].sum(1) / 2 + numbers @ self._weight / 2
        clicked = rng.random(size) < 1 / (1 + np.exp(-2 * liking))
        return drawn + np.arange(NUM_SLOTS) * NUM_IDS, numbers, clicked.astype("float32")[:, None]


def auc(scores: np.ndarray, clicked: np.ndarray) -> float:
    """The chance that a click has a higher score than no click."""
    order = np.argsort(scores.ravel(), kind="stable")
    ranks = np.empty(len(order))
    ranks[order] = np.arange(1, len(order) + 1)
    is_click = clicked.ravel() > 0.5
    positive, negative = is_click.sum(), (~is_click).sum()
    return float((ranks[is_click].sum() - positive * (positive + 1) / 2) / (positive * negative))
