"""``paddle.distributed.fleet.elastic.collective``: the trainers of one host in an elastic job."""

from __future__ import annotations

import shutil
import tempfile
from typing import Any

from argosy.distributed.fleet.elastic.manager import LauncherInterface
from argosy.distributed.fleet.launch import get_cluster_info, get_global_envs
from argosy.distributed.fleet.launch_utils import logger, pull_worker_log, start_local_trainers

__all__ = ["CollectiveLauncher"]


class CollectiveLauncher(LauncherInterface):
    """Starts a rank for each device of this host."""

    def __init__(self, args: Any) -> None:
        super().__init__(args)
        self.tmp_dir: str | None = None

    def launch(self) -> None:
        """Start the ranks."""
        self.tmp_dir = tempfile.mkdtemp()
        cluster, pod = get_cluster_info(self.args)
        self.procs = start_local_trainers(
            cluster,
            pod,
            training_script=self.args.training_script,
            training_script_args=self.args.training_script_args,
            log_dir=self.args.log_dir,
            envs=get_global_envs(self.args, self.tmp_dir),
        )
        for number, one in enumerate(self.procs):
            logger.info("launch proc_id:%d idx:%d", one.proc.pid, number)

    def stop(self) -> None:
        """End the ranks that still run."""
        self._terminate_procs()
        if self.tmp_dir is not None:
            shutil.rmtree(self.tmp_dir, ignore_errors=True)

    def watch(self) -> int | None:
        """The exit code of the host's ranks, None while they run; prints the log of the first."""
        for one in self.procs:
            if one.log_fn is not None and one.local_rank == 0:
                pull_worker_log(one)
        return self._check_procs()
