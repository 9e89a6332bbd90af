"""``fluid.install_check``."""

from argosy.utils import run_check

__all__ = ["run_check"]
