"""``fluid.incubate``: what Paddle 1.x tried out: data generators and Fleet."""
