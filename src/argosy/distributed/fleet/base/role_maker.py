"""Role makers: they find out who a process is, and let the processes of a role talk to each
other.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from argosy.distributed.communication.all_gather import all_gather_object
from argosy.distributed.communication.group import is_initialized
from argosy.distributed.fleet.base._ps_worlds import ServedWorlds, describe_workers
from argosy.distributed.fleet.base.role_facts import (
    VARIABLES,
    Role,
    RoleFacts,
    from_arguments,
    from_variables,
)
from argosy.distributed.job import default_group
from argosy.distributed.parallel import init_parallel_env
from argosy.foundation import env
from argosy.foundation.errors import NotSupported, UsageError
from argosy.runtime.comm.backend import ReduceOp
from argosy.runtime.comm.group import Group

__all__ = ["PaddleCloudRoleMaker", "Role", "RoleMakerBase", "UserDefinedRoleMaker"]

_WORLDS = ("worker", "server", "all")
_MODES = {"sum": ReduceOp.SUM, "max": ReduceOp.MAX, "min": ReduceOp.MIN}


class RoleMakerBase:
    """What every role maker answers. The role is found out at the first question, and stays.

    Paddle 2 spells the questions with an underscore, Paddle 1 without; both work.
    """

    _is_collective = False

    _connect: Callable[[], Any] | None = None
    _worlds: ServedWorlds | None = None

    def __init__(self) -> None:
        self._known: RoleFacts | None = None

    def _find_out(self) -> RoleFacts:
        raise NotSupported(f"{type(self).__name__} does not say which role a process has")

    @property
    def facts(self) -> RoleFacts:
        """What is known of the job and of this process's part in it."""
        if self._known is None:
            self._known = self._find_out()
        return self._known

    @property
    def _answers(self) -> bool:
        """Whether the class says which role a process has; the base does not."""
        return type(self)._find_out is not RoleMakerBase._find_out

    def _generate_role(self) -> None:
        """Find out the role now, so that what is wrong is said now."""
        self.facts  # noqa: B018

    @property
    def is_collective(self) -> bool:
        """Whether the job has workers only."""
        return self._is_collective

    def _is_worker(self) -> bool:
        return self.facts.role == Role.WORKER

    def _is_server(self) -> bool:
        return self.facts.role == Role.SERVER

    def _is_heter_worker(self) -> bool:
        return self.facts.role == Role.HETER_WORKER

    def _is_coordinator(self) -> bool:
        return self.facts.role == Role.COORDINATOR

    def _is_first_worker(self) -> bool:
        return self._is_worker() and self.facts.index == 0

    def _is_non_distributed(self) -> bool:
        """Whether nobody described a job, so that this process is alone."""
        return self.facts.is_alone

    def _worker_index(self) -> int:
        return self.facts.index

    def _server_index(self) -> int:
        return self.facts.index

    def _role_id(self) -> int:
        return self.facts.index

    def _worker_num(self) -> int:
        return self.facts.num_workers

    def _server_num(self) -> int:
        return len(self.facts.server_endpoints)

    def _heter_worker_num(self) -> int:
        return 0

    def _node_num(self) -> int:
        return self.facts.num_nodes

    _get_node_num = _node_num

    def _get_local_rank(self) -> str | None:
        return self.facts.local_rank

    def _get_local_device_ids(self) -> str | None:
        return self.facts.local_device_ids

    def _get_world_device_ids(self) -> str | None:
        return self.facts.world_device_ids

    def _get_trainer_endpoints(self) -> list[str]:
        return list(self.facts.worker_endpoints) if self._answers else []

    def _get_pserver_endpoints(self) -> list[str]:
        return list(self.facts.server_endpoints) if self._answers else []

    def _get_trainer_endpoint(self) -> str:
        return self.facts.endpoint

    @property
    def _role_is_generated(self) -> bool:
        return self._known is not None

    @property
    def _role(self) -> int:
        return self.facts.role

    @property
    def _current_id(self) -> int:
        return self.facts.index

    @property
    def _cur_endpoint(self) -> str:
        return self.facts.endpoint

    @property
    def _worker_endpoints(self) -> list[str]:
        return self._get_trainer_endpoints()

    @property
    def _server_endpoints(self) -> list[str]:
        return self._get_pserver_endpoints()

    def to_string(self) -> str:
        """One line that says who this process is."""
        role, number = (self.facts.role, self.facts.index) if self._answers else (None, -1)
        return (
            f"role: {role}, current_id: {number}, worker_endpoints: "
            f"{self._get_trainer_endpoints()}, server_endpoints: {self._get_pserver_endpoints()}"
        )

    # -- talking within a role
    # --------------------------------------------------------------------------------------

    def _barrier(self, comm_world: str) -> None:
        """Wait until every process of ``comm_world`` ('worker', 'server' or 'all') is here."""
        if self._is_apart("barrier", comm_world):
            return
        group = self.world(comm_world, "barrier")
        if group is not None:
            group.run(group.transport.barrier)

    def _all_reduce(self, input: Any, mode: str = "sum", comm_world: str = "worker") -> Any:
        """The element-wise sum, maximum or minimum over the processes, of the shape of
        ``input``.
        """
        if mode not in _MODES:
            raise UsageError(f"all_reduce: mode must be 'sum', 'max' or 'min', but is {mode!r}")
        if self._is_apart("all_reduce", comm_world):
            return input if self._answers else None
        group = self.world(comm_world, "all_reduce")
        mine = np.array(input)
        if group is None:
            return mine
        wide = np.float64 if mine.dtype.kind == "f" else np.int64
        total = torch.from_numpy(mine.astype(wide).reshape(-1))
        group.run(group.transport.all_reduce, total, _MODES[mode])
        return total.numpy().reshape(mine.shape)

    def _all_gather(self, input: Any, comm_world: str = "worker") -> Any:
        """The values of all processes, in rank order."""
        if self._is_apart("all_gather", comm_world):
            return input if self._answers else None
        group = self.world(comm_world, "all_gather")
        if group is None:
            return [input]
        found: list[Any] = []
        all_gather_object(found, input, group)
        return found

    def _is_apart(self, call: str, comm_world: str) -> bool:
        """Whether this process has no part in ``comm_world``, so that it keeps what it has: a role
        maker that knows no roles, a server among the workers.
        """
        if not self._answers:
            print(f"warning: RoleMakerBase does not have {call.replace('_', ' ')} worker.")
            return True
        if comm_world == "worker" and self.facts.server_endpoints and self._is_server():
            warnings.warn(
                f"{call}: comm_world is 'worker', but this process is a server: it does not "
                "communicate with other nodes",
                stacklevel=3,
            )
            return True
        return False

    def world(self, comm_world: str, call: str) -> Group | None:
        """The group to talk over; None if this process is the only one."""
        if comm_world not in _WORLDS:
            raise UsageError(
                f"{call}: comm_world must be 'worker', 'server' or 'all', but is {comm_world!r}"
            )
        if self.facts.server_endpoints and comm_world != "worker":
            return self._served_worlds().group(comm_world, call)
        if comm_world == "server":
            raise UsageError(f"{call}: comm_world is 'server', but this job has no servers")
        if self.facts.num_workers < 2:
            return None
        self.join()
        return default_group(call)

    def join(self) -> None:
        """Join the job's process group, if this has not happened; every worker must come here."""
        if not is_initialized():
            if self.facts.server_endpoints and self._connect is not None:
                describe_workers(self.facts, self._connect)
            init_parallel_env()

    def _served_worlds(self) -> ServedWorlds:
        if self._worlds is None:
            self._worlds = ServedWorlds(self.facts)
        return self._worlds

    def find_each_other(self, connect: Callable[[], Any]) -> None:
        """Let workers of a parameter-server job meet through the servers, of which ``connect``
        makes a client.
        """
        self._connect = connect

    # -- the spellings of Paddle 1
    # ------------------------------------------------------------------------------------

    def is_worker(self) -> bool:
        return self._is_worker()

    def is_server(self) -> bool:
        return self._is_server()

    def is_first_worker(self) -> bool:
        return self._is_first_worker()

    def worker_index(self) -> int:
        return self._worker_index()

    def server_index(self) -> int:
        return self._server_index()

    def role_id(self) -> int:
        return self._role_id()

    def worker_num(self) -> int:
        return self._worker_num()

    def server_num(self) -> int:
        return self._server_num()

    def get_trainer_endpoints(self) -> list[str]:
        return self._get_trainer_endpoints()

    def get_pserver_endpoints(self) -> list[str]:
        return self._get_pserver_endpoints()

    def generate_role(self) -> None:
        self._generate_role()

    def all_gather(self, input: Any, comm_world: str = "worker") -> Any:
        return self._all_gather(input, comm_world)

    def all_reduce(self, input: Any, mode: str = "sum", comm_world: str = "worker") -> Any:
        return self._all_reduce(input, mode, comm_world)

    def barrier(self, comm_world: str = "worker") -> None:
        self._barrier(comm_world)

    def all_reduce_worker(self, input: Any, output: np.ndarray, mode: str = "sum") -> None:
        """Write the sum (maximum, minimum) of ``input`` over the workers into ``output``."""
        output[...] = self._all_reduce(input, mode, "worker")

    def barrier_worker(self) -> None:
        self._barrier("worker")

    def barrier_all(self) -> None:
        self._barrier("all")


class PaddleCloudRoleMaker(RoleMakerBase):
    """Takes the role from the environment that launchers set.

    Variables that are missing or contradict each other are a ValueError that names them; without
    any, the process is the only worker. Options other than ``is_collective`` chose how Paddle's
    processes find each other; here they meet through the launcher's store.
    """

    def __init__(self, is_collective: bool = False, **kwargs: Any) -> None:
        super().__init__()
        self._is_collective = is_collective
        self._kwargs = kwargs

    def _find_out(self) -> RoleFacts:
        env.describe()
        return from_variables(env.select(VARIABLES), self._is_collective)


class UserDefinedRoleMaker(PaddleCloudRoleMaker):
    """Takes the role from arguments: ``current_id``, ``role``, ``worker_num``,
    ``worker_endpoints``, ``server_endpoints``.

    Example:
        >>> import paddle.distributed.fleet as fleet
        >>> role = fleet.UserDefinedRoleMaker(current_id=0, role=fleet.Role.WORKER, worker_num=2,
        ...     server_endpoints=["127.0.0.1:36011"])
        >>> role._worker_num(), role._server_num()
        (2, 1)
    """

    def __init__(self, is_collective: bool = False, init_gloo: bool = False, **kwargs: Any) -> None:
        super().__init__(is_collective, init_gloo=init_gloo, **kwargs)

    def _find_out(self) -> RoleFacts:
        return from_arguments(self._kwargs, self._is_collective)

    def join(self) -> None:
        """A job that the script described joins as one that a launcher described: through the
        environment.
        """
        facts = self.facts
        if self._is_collective and not is_initialized() and not env.get("PADDLE_TRAINERS_NUM"):
            env.update(
                {
                    "PADDLE_TRAINER_ID": str(facts.index),
                    "PADDLE_TRAINERS_NUM": str(facts.num_workers),
                    "PADDLE_TRAINER_ENDPOINTS": ",".join(facts.worker_endpoints),
                    "PADDLE_CURRENT_ENDPOINT": facts.endpoint,
                }
            )
        super().join()
