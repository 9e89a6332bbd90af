"""The folder of a run in Ray's storage, which all its processes see. Pure but for the reading of a
variable.
"""

from __future__ import annotations

import os.path

from argosy.foundation import env
from argosy.foundation.errors import ConfigError

VARIABLE = "ARGOSY_RUN_FOLDER"
_FILE = "file://"


def shared_folder(storage_path: str, name: str) -> str:
    """Where the run ``name`` keeps its files, as a path; empty if the storage is not a file
    system, such as a bucket.
    """
    path = storage_path.removeprefix(_FILE)
    if "://" in path:
        return ""
    return os.path.join(os.path.abspath(os.path.expanduser(path)), name)


def run_folder(*parts: str) -> str:
    """The folder of this run in Ray's storage (``RunConfig.storage_path``), or a path in it: where
    ``fleet.auto_checkpoint`` finds its checkpoints again, whichever node goes on.

    For workers and servers of a ``FleetTrainer``. ConfigError elsewhere, and where the storage is
    not a file system.
    """
    folder = env.get(VARIABLE)
    if not folder:
        raise ConfigError(
            "argosy.ray.run_folder: this process is not one of a FleetTrainer whose storage is a "
            f"folder ({VARIABLE} is not set).\n"
            "  Give RunConfig(storage_path=...) the path of a folder that all nodes see; for "
            "storage without paths use ray.train.report(metrics, checkpoint=...)."
        )
    return os.path.join(folder, *parts)
