"""Arithmetic: element by element, reductions, matrices, Fourier transforms."""
