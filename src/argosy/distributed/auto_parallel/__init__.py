"""``paddle.distributed.auto_parallel``: of it, the values that describe how a tensor is spread."""
