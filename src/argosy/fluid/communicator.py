"""``fluid.communicator``: what carries gradients between a trainer's program and the servers."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import BadArgument
from argosy.static import Program
from argosy.static.ir.attachment import ServerJob

__all__ = ["Communicator"]


class Communicator:
    """Starts and ends a trainer's talk with the servers of a transpiled ``program``; a Fleet does
    so in ``init_worker`` and ``stop_worker``.

    ``mode``, ``kwargs`` and ``envs`` tell Paddle's communicator what the transpiler knows here.

    Example:
        >>> import paddle.fluid as fluid
        >>> from paddle.fluid.communicator import Communicator
        >>> talk = Communicator(fluid.Program())  # no servers, so nothing to send
        >>> talk.start()
        >>> talk.is_running()
        True
        >>> talk.stop()
        >>> paddle.disable_static()
    """

    def __init__(
        self, program: Any, mode: Any = None, kwargs: Any = None, envs: Any = None
    ) -> None:
        if not isinstance(program, Program):
            raise BadArgument(f"Communicator: program must be a Program, but is {program!r}")
        self._program = program
        self._is_running = False

    def start(self) -> None:
        """Connect to the servers; before the startup program has run, the first step does."""
        job: Any = self._program.attachments.get(ServerJob)
        if job is not None:
            job.trainer.init_worker()
        self._is_running = True

    def stop(self) -> None:
        """Send what is under way and leave the servers."""
        job: Any = self._program.attachments.get(ServerJob)
        if job is not None and self._is_running:
            job.leave()
        self._is_running = False

    def is_running(self) -> bool:
        return self._is_running
