<<<<<<< HEAD
"""``paddle.hapi``: of it, what other modules take."""
=======
"""``paddle.hapi``: of the high-level API only what metrics and scripts around it use."""
>>>>>>> main
