"""The loop around a manager: wait for the hosts, run, watch, and again."""

from __future__ import annotations

import importlib
import signal
import sys
from typing import Any

from argosy.distributed.fleet.elastic.collective import CollectiveLauncher
from argosy.distributed.fleet.elastic.manager import (
    ELASTIC_EXIT_CODE,
    ElasticManager,
    ElasticStatus,
)
from argosy.foundation import env
from argosy.foundation.errors import ConfigError

_ERROR_CODE = 3


def enable_elastic(args: Any, distribute_mode: int) -> bool:
    """Whether a server, a job and a number of hosts are named, by ``args`` or the environment."""
    return bool(
        (args.elastic_server or env.get("PADDLE_ELASTIC_SERVER"))
        and (args.job_id or env.get("PADDLE_ELASTIC_JOB_ID"))
        and (args.np or env.get("PADDLE_ELASTIC_NP"))
    )


def launch_elastic(args: Any, distribute_mode: int) -> None:
    """Take part in the job until it has ended, then exit with its code."""
    manager = ElasticManager(args, _client(args.elastic_server or env.get("PADDLE_ELASTIC_SERVER")))
    for number in (signal.SIGTERM, signal.SIGABRT, signal.SIGINT):
        signal.signal(number, manager.signal_handler)
    status = ElasticStatus.HOLD
    while status == ElasticStatus.HOLD:
        manager.wait()
        manager.pre_hook()
        manager.run(CollectiveLauncher)
        status = manager.watch()
    codes = {ElasticStatus.ERROR: _ERROR_CODE, ElasticStatus.RESTART: ELASTIC_EXIT_CODE}
    sys.exit(codes.get(status, 128 + manager.sigint if manager.sigint else 0))


def _client(server: str) -> Any:
    try:
        etcd3 = importlib.import_module("etcd3")
    except ImportError as error:
        raise ConfigError(
            "elastic: hosts in etcd need the package etcd3, which is not installed.\n"
            "  `python -m paddle.distributed.launch --master HOST:PORT --nnodes MIN:MAX` needs no "
            "etcd."
        ) from error
    host, _, port = server.partition(":")
    return etcd3.client(host=host, port=port)
