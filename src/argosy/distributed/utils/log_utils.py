"""``paddle.distributed.utils.log_utils``: a logger that writes to standard error."""

from __future__ import annotations

import logging

__all__ = ["get_logger"]

_FORMAT = "[%(asctime)-15s] [%(levelname)8s] %(filename)s:%(lineno)s - %(message)s"


def get_logger(log_level: int | str, name: str = "root") -> logging.Logger:
    """The logger ``name``, at ``log_level``; it has one handler, however often it is asked for."""
    logger = logging.getLogger(name)
    logger.propagate = False
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(_FORMAT))
        logger.addHandler(handler)
    logger.setLevel(log_level)
    return logger
