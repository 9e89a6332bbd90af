"""``fluid.layers.device``."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import NotSupported


def get_places(device_count: Any = None, device_type: Any = None) -> Any:
    """Refused: what took a list of places in a program went with the versions before 1.0."""
    raise NotSupported(
        "fluid.layers.device.get_places: nothing in a program takes a list of places; give them to "
        "CompiledProgram.with_data_parallel"
    )
