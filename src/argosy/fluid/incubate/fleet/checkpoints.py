"""Checkpoints of the collective Fleet of 1.x: ``<path>/__paddle_fleet_checkpoint__.<n>`` with all
variables in one file and the number of the last epoch.
"""

from __future__ import annotations

import json
import os
from typing import Any

from argosy.distributed.fleet.utils.fs import FS, LocalFS
from argosy.fluid import io
from argosy.foundation.errors import BadArgument, CheckpointError

__all__ = ["TrainStatus", "clean", "last_number", "load", "save"]

PREFIX = "__paddle_fleet_checkpoint__"
VARIABLES = "_paddle_fleet_param__"
STATUS = "fleet_train_status"


class TrainStatus:
    """How far training has come: the number of the last epoch that is complete, -1 before the
    first.

    Example:
        >>> from paddle.fluid.incubate.fleet.collective import TrainStatus
        >>> TrainStatus(3).next()
        4
    """

    def __init__(self, epoch_no: int = -1) -> None:
        self.epoch_no = epoch_no

    @property
    def _epoch_no(self) -> int:
        return self.epoch_no  # as Paddle names it

    def next(self) -> int:
        """The epoch to go on with."""
        return self.epoch_no + 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TrainStatus) and self.epoch_no == other.epoch_no

    def __hash__(self) -> int:
        return hash(self.epoch_no)


def last_number(path: str, fs: FS) -> int:
    """The number of the newest checkpoint in ``path``, -1 if there is none."""
    return max(_numbers(path, fs), default=-1)


def _numbers(path: str, fs: FS) -> list[int]:
    parts = [name.split(".") for name in fs.list_dirs(path)]
    return [int(p[1]) for p in parts if len(p) == 2 and p[0] == PREFIX and p[1].isdigit()]


def clean(path: str, fs: FS, checkpoint_num: int) -> None:
    """Delete all but the newest ``checkpoint_num`` checkpoints, at least one."""
    last = last_number(path, fs)
    for number in _numbers(path, fs):
        if number <= last - max(checkpoint_num, 1):
            fs.delete(f"{path}/{PREFIX}.{number}")


def save(executor: Any, path: str, status: TrainStatus, program: Any, fs: FS, cache: str) -> None:
    """Write the next checkpoint. It takes its name when it is complete."""
    if not isinstance(status, TrainStatus):
        raise BadArgument(
            f"save_check_point: train_status must be a TrainStatus, but is {status!r}"
        )
    fs.mkdirs(path)
    number = last_number(path, fs) + 1
    target = f"{path}/{PREFIX}.{number}"
    draft = f"{target}.tmp"
    fs.delete(draft)
    folder = f"{cache}/{PREFIX}.{number}.saved_cache" if fs.need_upload_download() else draft
    LocalFS().delete(folder)
    os.makedirs(folder)
    io.save_persistables(executor, folder, program, filename=VARIABLES)
    with open(os.path.join(folder, STATUS), "w") as file:
        json.dump({"epoch_no": status.epoch_no}, file)
    if fs.need_upload_download():
        fs.upload(folder, draft)
        LocalFS().delete(folder)
    fs.mv(draft, target)


def load(
    executor: Any, path: str, trainer_id: int, program: Any, fs: FS, cache: str
) -> TrainStatus | None:
    """Fill the variables of ``program`` from the newest checkpoint; None if there is none."""
    number = last_number(path, fs)
    if number < 0:
        return None
    folder = f"{path}/{PREFIX}.{number}"
    if fs.need_upload_download():
        local = f"{cache}/{PREFIX}.{number}.load_cache.{trainer_id}"
        LocalFS().delete(local)
        fs.download(folder, local)
        folder = local
    io.load_persistables(executor, folder, program, filename=VARIABLES)
    status = _status(folder)
    if fs.need_upload_download():
        LocalFS().delete(folder)
    return status


def _status(folder: str) -> TrainStatus:
    path = os.path.join(folder, STATUS)
    if not os.path.isfile(path):
        return TrainStatus()
    try:
        with open(path) as file:
            return TrainStatus(int(json.load(file)["epoch_no"]))
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path} is damaged: {error}") from error
