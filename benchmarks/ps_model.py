"""The CTR model that bench_ps.py and ps_paddle.py train: its sizes and its data. Needs NumPy only, for the interpreter that has real Paddle."""

from __future__ import annotations

import numpy as np

SLOTS, NUM_IDS, DIM, DENSE = 26, 1_000_000, 16, 13
LAYERS = [128, 64, 1]
BATCH = 4096
NUM_BATCHES = 8  # made before the clock runs, and then used in turn
RATE = 1e-3


def batches(worker: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Ids (Zipf, so few are frequent), dense features and labels."""
    rng = np.random.default_rng(worker)
    found = []
    for _ in range(NUM_BATCHES):
        ids = rng.zipf(1.2, (BATCH, SLOTS)) % NUM_IDS
        dense = rng.normal(size=(BATCH, DENSE)).astype(np.float32)
        found.append((ids.astype(np.int64), dense, rng.integers(0, 2, (BATCH, 1)).astype(np.float32)))
    return found
