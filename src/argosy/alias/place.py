"""The folder that makes ``import paddle`` argosy, and an environment that leads to it. Pure."""

from __future__ import annotations

import os
from collections.abc import Mapping

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "folder")
_PATH = "PYTHONPATH"


def first(environment: Mapping[str, str]) -> dict[str, str]:
    """``environment`` for processes in which ``import paddle`` is argosy, whatever else is
    installed, and in which it is so for the processes that they start.
    """
    given = environment.get(_PATH, "")
    if given.split(os.pathsep)[0] == FOLDER:
        return dict(environment)
    return {**environment, _PATH: f"{FOLDER}{os.pathsep}{given}" if given else FOLDER}
