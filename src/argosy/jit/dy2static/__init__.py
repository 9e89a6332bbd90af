"""``paddle.jit.dy2static``, at its path."""
