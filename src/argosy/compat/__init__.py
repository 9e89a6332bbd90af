"""``paddle.compat``, at its path."""
