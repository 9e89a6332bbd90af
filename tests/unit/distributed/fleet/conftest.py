"""Every test of fleet starts as a process that no launcher has started."""

from __future__ import annotations

import pytest

from argosy.distributed.fleet.base.role_facts import VARIABLES


@pytest.fixture(autouse=True)
def variables(monkeypatch):
    for name in (*VARIABLES, "MASTER_PORT", "PADDLE_DISTRI_BACKEND"):
        monkeypatch.delenv(name, raising=False)

    def set_all(**values):
        for name, value in values.items():
            monkeypatch.setenv(name, str(value))

    return set_all
