"""``argosy.ray``: jobs of Fleet on a Ray cluster. Needs ``pip install "argosy[ray]"``."""

from argosy.ray.folder import run_folder
from argosy.ray.trainer import FleetTrainer

__all__ = ["FleetTrainer", "run_folder"]
