"""``paddle.jit``: of it, what scripts use to read signatures."""
