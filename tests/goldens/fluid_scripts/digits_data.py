"""Small made-up digits for the scripts: each is a noisy picture of 8x8 pixels."""

import numpy as np

SIZE = 64


def reader(num_samples, seed):
    def read():
        shapes = np.random.RandomState(0).uniform(-1, 1, (10, SIZE))
        rng = np.random.RandomState(seed)
        for _ in range(num_samples):
            label = int(rng.randint(10))
            yield (shapes[label] + rng.normal(0, 0.5, SIZE)).astype("float32"), label

    return read


def weight(rows, columns, seed):
    return (np.random.RandomState(seed).uniform(-1, 1, (rows, columns)) * 0.2).astype("float32")
