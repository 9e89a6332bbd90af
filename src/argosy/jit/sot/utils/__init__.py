"""``paddle.jit.sot.utils``, at its path."""
