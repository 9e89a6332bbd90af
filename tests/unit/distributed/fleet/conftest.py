"""Every test of fleet starts as a process that no launcher has started."""

from __future__ import annotations

import pytest

import paddle
from argosy.distributed.fleet.base.role_facts import VARIABLES
from support.ps_job import Job


@pytest.fixture(autouse=True)
def variables(monkeypatch):
    for name in (*VARIABLES, "MASTER_PORT", "PADDLE_DISTRI_BACKEND"):
        monkeypatch.delenv(name, raising=False)

    def set_all(**values):
        for name, value in values.items():
            monkeypatch.setenv(name, str(value))

    return set_all


@pytest.fixture
def job():
    """Starts parameter-server jobs for programs of its own; ends them."""
    started = []

    def start(*args):
        started.append(Job(*args))
        return started[-1]

    paddle.enable_static()
    main, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
    with (
        paddle.static.program_guard(main, startup),
        paddle.static.scope_guard(scope),
        paddle.utils.unique_name.guard(),
    ):
        yield start
        for one in started:
            one.stop()
    paddle.disable_static()
