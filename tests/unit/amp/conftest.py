"""Every test here leaves the process-wide state of mixed precision as it found it."""

import pytest

from argosy.amp.grad_scaler import amp_global_state


@pytest.fixture(autouse=True)
def amp_state():
    state = amp_global_state()
    old = dict(state.__dict__)
    yield state
    state.__dict__.update(old)
