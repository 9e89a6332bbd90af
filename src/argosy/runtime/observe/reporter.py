"""This process's end of what its launcher sees of it: steps, long waits, stacks."""

from __future__ import annotations

import os

from argosy.foundation import env
from argosy.foundation.account import account
from argosy.runtime.observe import accounts, stacks, torch_steps
from argosy.runtime.observe.ring import RingWriter


def attach() -> None:
    """Report to the launcher, if one has started this process and wants to know. Called once."""
    value = env.get(accounts.VARIABLE)
    memory = accounts.own_slot(value) if value else None
    if memory is None:
        return
    stacks.answer(env.get(stacks.VARIABLE))
    account.restart()
    account.listener = RingWriter(
        memory,
        os.getpid(),
        env.integer("PADDLE_TRAINER_ID", 0),
        env.integer("PADDLE_TRAINERS_NUM", 1),
    )
    torch_steps.on_update(lambda optimizer: account.end_step())
    os.register_at_fork(after_in_child=_detach)


def _detach() -> None:
    """In a process that is forked from this one: a worker of a data loader has no steps."""
    account.listener = None
    stacks.forget()
