"""Helpers of ``paddle.distributed.fleet``."""
