"""A job in a trial of Ray Tune."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from argosy.foundation.errors import ConfigError


@dataclass(frozen=True)
class Trial:
    """The trial that this process runs, by its ``id``; ``path`` is its folder in Tune's storage,
    ``callbacks`` bring it what workers report.
    """

    id: str
    path: str
    filesystem: Any = None
    callbacks: tuple[Any, ...] = ()

    @property
    def storage(self) -> dict[str, Any]:
        """Arguments of ``RunConfig``: the run is in the folder of its trial."""
        return {
            "name": f"run-{self.id}",
            "storage_path": self.path,
            "storage_filesystem": self.filesystem,
        }

    def check(self, name: str) -> None:
        """ConfigError unless a run of this ``name`` is of this trial alone."""
        if self.id not in name:
            raise ConfigError(
                f"FleetTrainer: the run of a trial of Tune is called {name!r}, and so would be "
                "that of another trial: one would go on from the other's checkpoints.\n"
                "  Leave out run_config, or have tune.get_context().get_trial_id() in "
                f"RunConfig(name=...): here it is {self.id!r}."
            )


def this_trial() -> Trial | None:
    """The trial of Tune whose function this is called in, None elsewhere."""
    if "ray.tune" not in sys.modules:
        return None
    from ray import tune
    from ray.tune.integration.ray_train import TuneReportCallback

    try:
        callback = TuneReportCallback()
    except RuntimeError:  # it says that this is no trial
        return None
    context = tune.get_context()
    storage = context.get_storage()
    system = storage.storage_filesystem
    if system.type_name == "local":  # which a path alone says, and all of argosy can read
        system = None
    return Trial(context.get_trial_id(), storage.trial_fs_path, system, (callback,))
