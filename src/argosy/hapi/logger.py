"""``paddle.hapi.logger``: the logger that scripts of the high-level API share."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from argosy.foundation import env

__all__: list[str] = []

_FORMAT = "%(asctime)s - %(name)s - %(levelname)s - %(message)s"


def setup_logger(
    output: str | None = None, name: str = "hapi", log_level: int = logging.INFO
) -> logging.Logger:
    """The logger ``name``: rank 0 writes to standard output, and with ``output`` every rank to a
    file.

    ``output`` is a file if it ends in ``.txt`` or ``.log``, else a folder for ``log.txt``; ranks
    other than 0 add theirs to the name.
    """
    logger = logging.getLogger(name)
    logger.propagate = False
    logger.setLevel(log_level)
    if env.rank() == 0 and not logger.handlers:
        _add(logger, logging.StreamHandler(sys.stdout), log_level)
    if output is not None:
        path = Path(output) if output.endswith((".txt", ".log")) else Path(output, "log.txt")
        if env.rank() > 0:
            path = path.with_name(f"{path.name}.rank{env.rank()}")
        path.parent.mkdir(parents=True, exist_ok=True)
        _add(logger, logging.FileHandler(path), log_level)
    return logger


def _add(logger: logging.Logger, handler: logging.Handler, log_level: int) -> None:
    handler.setLevel(log_level)
    handler.setFormatter(logging.Formatter(_FORMAT))
    logger.addHandler(handler)
