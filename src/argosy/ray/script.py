"""A script as a function, for the processes of Ray Train."""

from __future__ import annotations

import os
import runpy
import sys
from dataclasses import dataclass

from argosy.foundation.errors import ChildFailed, ConfigError


@dataclass(frozen=True)
class Script:
    """Calling it runs ``path`` as a main program in the folder in which the job was begun, if this
    node has it.
    """

    path: str
    args: tuple[str, ...]
    folder: str

    def __call__(self) -> None:
        if not os.path.isfile(self.path):
            raise ConfigError(
                f"FleetTrainer: the script {self.path} is not on this node ({os.uname().nodename})."
                "\n  Put it at the same path on all nodes, or train by a function, which Ray "
                "brings to every node."
            )
        if os.path.isdir(self.folder):
            os.chdir(self.folder)
        sys.argv = [self.path, *self.args]
        sys.path.insert(0, os.path.dirname(self.path))
        try:
            runpy.run_path(self.path, run_name="__main__")
        except SystemExit as end:
            if end.code not in (None, 0):
                raise ChildFailed(f"the script {self.path} ended with {end.code!r}") from end
