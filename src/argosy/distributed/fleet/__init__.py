"""Fleet: one interface to distributed training. The functions are the methods of one ``Fleet``,
which is also the attribute ``fleet``.
"""

from __future__ import annotations

import sys

from argosy.distributed.fleet import (
    base,
    data_generator,
    dataset,
    meta_optimizers,
    meta_parallel,
    metrics,
    utils,
)
from argosy.distributed.fleet.base import role_maker
from argosy.distributed.fleet.base.distributed_strategy import DistributedStrategy
from argosy.distributed.fleet.base.role_maker import (
    PaddleCloudRoleMaker,
    Role,
    UserDefinedRoleMaker,
)
from argosy.distributed.fleet.base.topology import CommunicateTopology, HybridCommunicateGroup
from argosy.distributed.fleet.base.util_factory import UtilBase
from argosy.distributed.fleet.data_generator import (
    MultiSlotDataGenerator,
    MultiSlotStringDataGenerator,
)
from argosy.distributed.fleet.dataset import (
    BoxPSDataset,
    DatasetBase,
    DatasetFactory,
    FileInstantDataset,
    InMemoryDataset,
    QueueDataset,
)
from argosy.distributed.fleet.fleet import Fleet
from argosy.distributed.fleet.servers.calls import server_calls
from argosy.distributed.fleet.the_fleet import FleetModule
from argosy.distributed.fleet.the_fleet import the_fleet as _fleet
from argosy.distributed.fleet.utils.log_util import (
    get_log_level_code,
    get_log_level_name,
    set_log_level,
)

init = _fleet.init
is_first_worker = _fleet.is_first_worker
worker_index = rank = _fleet.worker_index
worker_num = nranks = world_size = _fleet.worker_num
node_num = _fleet.node_num
local_rank = rank_in_node = _fleet.local_rank
local_device_ids = _fleet.local_device_ids
world_device_ids = _fleet.world_device_ids
is_worker = _fleet.is_worker
is_coordinator = _fleet.is_coordinator
worker_endpoints = _fleet.worker_endpoints
server_num = _fleet.server_num
server_index = _fleet.server_index
server_endpoints = _fleet.server_endpoints
is_server = _fleet.is_server
barrier_worker = _fleet.barrier_worker
all_reduce = _fleet.all_reduce
init_worker = _fleet.init_worker
init_server = _fleet.init_server
run_server = _fleet.run_server
stop_worker = _fleet.stop_worker
distributed_optimizer = _fleet.distributed_optimizer
distributed_model = _fleet.distributed_model
distributed_scaler = _fleet.distributed_scaler
amp_init = _fleet.amp_init
get_loss_scaling = _fleet.get_loss_scaling
minimize = _fleet.minimize
step = _fleet.step
clear_grad = _fleet.clear_grad
set_lr = _fleet.set_lr
get_lr = _fleet.get_lr
state_dict = _fleet.state_dict
set_state_dict = _fleet.set_state_dict
save_inference_model = _fleet.save_inference_model
save_persistables = _fleet.save_persistables
save = _fleet.save
auto_checkpoint = _fleet.auto_checkpoint
get_hybrid_communicate_group = _fleet.get_hybrid_communicate_group
plan = _fleet.plan
print_plan = _fleet.print_plan
log = _fleet.log
# Paddle documents these by their private names.
_final_strategy = _fleet._final_strategy
_get_applied_meta_list = _fleet._get_applied_meta_list
_get_applied_graph_list = _fleet._get_applied_graph_list

globals().update({name: getattr(_fleet, name) for name in server_calls(lambda: None)})

globals().pop("fleet", None)  # the module of this name, which the import above left here
sys.modules[__name__].__class__ = FleetModule
