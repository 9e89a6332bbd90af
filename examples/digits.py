"""A small image classification task that needs no download: handwriting-like digits drawn from a
5x7 font.

Each sample is a 16x16 picture: a digit, enlarged, shifted, sheared, of varying stroke strength,
under noise.
"""

from __future__ import annotations

import numpy as np

GLYPHS = [
    "01110 10001 10011 10101 11001 10001 01110",
    "00100 01100 00100 00100 00100 00100 01110",
    "01110 10001 00001 00110 01000 10000 11111",
    "11110 00001 00001 01110 00001 00001 11110",
    "00010 00110 01010 10010 11111 00010 00010",
    "11111 10000 11110 00001 00001 10001 01110",
    "00110 01000 10000 11110 10001 10001 01110",
    "11111 00001 00010 00100 01000 01000 01000",
    "01110 10001 10001 01110 10001 10001 01110",
    "01110 10001 10001 01111 00001 00010 01100",
]
FONT = np.array(
    [[[int(bit) for bit in row] for row in glyph.split()] for glyph in GLYPHS], np.float32
)
SIZE = 16


def draw(label: int, rng: np.random.RandomState) -> np.ndarray:
    """One picture of ``label``, as float32[1, 16, 16]."""
    height, width = rng.uniform(9, 14), rng.uniform(6, 11)
    shear = rng.uniform(-0.3, 0.3)
    top, left = rng.uniform(0, SIZE - height), rng.uniform(1, SIZE - width - 1)
    rows, columns = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)
    v = (rows - top) / height * 7
    u = (columns - left + shear * (rows - SIZE / 2)) / width * 5
    inside = (v >= 0) & (v < 7) & (u >= 0) & (u < 5)
    picture = np.where(inside, FONT[label][v.astype(int).clip(0, 6), u.astype(int).clip(0, 4)], 0.0)
    picture = picture * rng.uniform(0.6, 1.2) + rng.normal(0, 0.2, picture.shape)
    return picture[None].astype(np.float32)


def make(num_samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pictures float32[n, 1, 16, 16] and labels int64[n]."""
    rng = np.random.RandomState(seed)
    labels = rng.randint(0, 10, num_samples)
    return np.stack([draw(label, rng) for label in labels]), labels.astype(np.int64)


def ascii_art(picture: np.ndarray) -> list[str]:
    """A picture as lines of characters, two per pixel."""
    shades = " .:-=+*#"
    levels = ((picture[0].clip(-0.2, 1.2) + 0.2) / 1.4 * (len(shades) - 1)).astype(int)
    return ["".join(shades[level] for level in row) for row in levels]
