"""Arithmetic: element by element, reductions, matrices, Fourier transforms."""

from argosy.ops.math import (
    decomposition,
    elementwise,
    fft,
    histogram,
    linalg,
    logic,
    reduction,
    scan,
    special,
)
