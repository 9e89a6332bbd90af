"""Every test here records."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def recording(static_mode):
    """Into programs and a scope of its own."""
