"""``import paddle`` is argosy beside a real Paddle: ``python -m argosy.alias script.py``."""

from argosy.alias.place import FOLDER, first
from argosy.alias.process import install, run
