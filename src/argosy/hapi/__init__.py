"""``paddle.hapi``: of the high-level API only what metrics and scripts around it use."""
