"""What the tests of mixed precision share."""

import pytest

from argosy.amp.grad_scaler import amp_global_state


@pytest.fixture
def amp_state():
    """The process's, which is put back after every test."""
    return amp_global_state()
