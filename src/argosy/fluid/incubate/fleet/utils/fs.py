"""``fluid.incubate.fleet.utils.fs``: local files behind the interface that checkpoints use."""

from argosy.distributed.fleet.utils.fs import (
    FS,
    ExecuteError,
    FSFileExistsError,
    FSFileNotExistsError,
    FSShellCmdAborted,
    FSTimeOut,
    LocalFS,
)

__all__ = [
    "FS",
    "ExecuteError",
    "FSFileExistsError",
    "FSFileNotExistsError",
    "FSShellCmdAborted",
    "FSTimeOut",
    "LocalFS",
]
