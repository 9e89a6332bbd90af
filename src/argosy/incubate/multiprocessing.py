"""``paddle.incubate.multiprocessing``: Python's, whose queues take Tensors."""

from multiprocessing import *  # noqa: F403
