"""Jobs whose hosts are kept in etcd: the manager of one host, as Paddle 2.x has it.

``paddle.distributed.launch --master`` needs no etcd: its hosts meet in the launcher's own
rendezvous (``runtime/launch/elastic.py``).
"""

from argosy.distributed.fleet.elastic._job import enable_elastic, launch_elastic
from argosy.distributed.fleet.elastic.collective import CollectiveLauncher
from argosy.distributed.fleet.elastic.manager import (
    ELASTIC_EXIT_CODE,
    ElasticLevel,
    ElasticManager,
    ElasticStatus,
)
from argosy.distributed.fleet.launch_utils import DistributeMode

__all__ = [
    "ELASTIC_EXIT_CODE",
    "CollectiveLauncher",
    "DistributeMode",
    "ElasticLevel",
    "ElasticManager",
    "ElasticStatus",
    "enable_elastic",
    "launch_elastic",
]
