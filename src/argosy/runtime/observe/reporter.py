"""This process's end of what its launcher sees of it: steps, long waits, stacks, traces."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from argosy.foundation import env
from argosy.foundation.account import account
from argosy.foundation.trace import trace
from argosy.runtime.observe import accounts, stacks, torch_steps, tracing
from argosy.runtime.observe.ring import RingWriter


@functools.cache
def attach() -> None:
    """Report to the launcher, if one has started this process and wants to know, and record, if
    the environment says so; once, however often it is called.
    """
    value = env.get(accounts.VARIABLE)
    memory = accounts.own_slot(value) if value else None
    tracing.record_all()
    if memory is None and not trace.recordings:
        return
    account.restart()
    if memory is not None:
        stacks.answer(env.get(stacks.VARIABLE))
        run = env.get(tracing.RUN_VARIABLE)
        account.listener = ring = RingWriter(
            memory,
            os.getpid(),
            env.integer("PADDLE_TRAINER_ID", 0),
            env.integer("PADDLE_TRAINERS_NUM", 1),
            tracing.Tracer(Path(run)).answer if run else None,
        )
        account.calls = ring.calls
    torch_steps.on_update(lambda optimizer: account.end_step())
    os.register_at_fork(after_in_child=_detach)


def _detach() -> None:
    """In a process that is forked from this one: a worker of a data loader has no steps."""
    account.listener = account.calls = None
    tracing.record_no_more()
    stacks.forget()
