"""``fluid.incubate.fleet``: distributed training as Paddle 1.6 to 1.8 spell it, over the same
machinery as ``paddle.distributed.fleet``.
"""
