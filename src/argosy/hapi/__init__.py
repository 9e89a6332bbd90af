"""``paddle.hapi``: of it, what other modules take."""
