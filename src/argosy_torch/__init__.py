"""What torch calls while it is imported (its entry point group ``torch.backends``): it makes the
backend ``argosy`` of torch.distributed known, and imports nothing of argosy before a group is made.
"""

from __future__ import annotations

from typing import Any

__all__ = ["register"]

NAME = "argosy"


def register() -> None:
    """Make ``torch.distributed.init_process_group("argosy")`` possible."""
    import torch.distributed as dist

    if dist.is_available() and not hasattr(dist.Backend, NAME.upper()):
        dist.Backend.register_backend(NAME, _create, extended_api=True, devices=["cpu"])


def _create(options: Any, backend_options: Any) -> Any:
    from argosy.runtime.observe import reporter
    from argosy.runtime.torch_backend.joining import create

    reporter.attach()
    return create(options, backend_options)
