"""``fluid.contrib``: mixed precision, sharing readers among ranks, and an estimate of memory."""
