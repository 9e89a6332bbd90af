"""Every test here records, into fresh default programs and a fresh scope."""

from __future__ import annotations

import pytest

import paddle
from argosy.static.record.recorder import recorder


@pytest.fixture(autouse=True)
def static_mode():
    paddle.enable_static()
    recorder.reset()
    with paddle.static.scope_guard(paddle.static.Scope()), paddle.utils.unique_name.guard():
        yield
    recorder.reset()
    paddle.disable_static()
