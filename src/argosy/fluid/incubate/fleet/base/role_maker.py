"""``fluid.incubate.fleet.base.role_maker``: role makers with the arguments of 1.x."""

from __future__ import annotations

from typing import Any

from argosy.distributed.fleet.base import role_maker as _current
from argosy.distributed.fleet.base.role_facts import VARIABLES, RoleFacts, from_variables
from argosy.distributed.fleet.base.role_maker import PaddleCloudRoleMaker, Role, RoleMakerBase
from argosy.foundation import env
from argosy.foundation.errors import BadArgument, DtypeError, NotSupported

__all__ = [
    "GeneralRoleMaker",
    "MPIRoleMaker",
    "MPISymetricRoleMaker",
    "PaddleCloudRoleMaker",
    "Role",
    "RoleMakerBase",
    "UserDefinedCollectiveRoleMaker",
    "UserDefinedRoleMaker",
]


class UserDefinedRoleMaker(_current.UserDefinedRoleMaker):
    """The role of a process in a job with servers, from arguments.

    Example:
        >>> from paddle.fluid.incubate.fleet.base.role_maker import Role, UserDefinedRoleMaker
        >>> role = UserDefinedRoleMaker(current_id=1, role=Role.WORKER, worker_num=2,
        ...     server_endpoints=["127.0.0.1:36011"])
        >>> role.worker_index(), role.is_first_worker(), role.get_pserver_endpoints()
        (1, False, ['127.0.0.1:36011'])
    """

    def __init__(
        self,
        current_id: int = 0,
        role: int = Role.WORKER,
        worker_num: int = 0,
        server_endpoints: list[str] | None = None,
    ) -> None:
        call = "UserDefinedRoleMaker"
        _check_endpoints(call, "server_endpoints", server_endpoints)
        if role not in (Role.WORKER, Role.SERVER):
            raise DtypeError(f"{call}: role must be Role.WORKER or Role.SERVER, but is {role!r}")
        servers = len(server_endpoints or ()) if role == Role.SERVER else None
        _check_number(call, "current_id", current_id, least=0, below=servers)
        _check_number(call, "worker_num", worker_num, least=1)
        super().__init__(
            current_id=current_id,
            role=role,
            worker_num=worker_num,
            server_endpoints=server_endpoints,
        )


class UserDefinedCollectiveRoleMaker(_current.UserDefinedRoleMaker):
    """The role of a process in a job without servers, from arguments."""

    def __init__(self, current_id: int = 0, worker_endpoints: list[str] | None = None) -> None:
        call = "UserDefinedCollectiveRoleMaker"
        _check_endpoints(call, "worker_endpoints", worker_endpoints)
        workers = len(worker_endpoints or ())
        _check_number(call, "current_id", current_id, least=0, below=workers)
        super().__init__(
            is_collective=True, current_id=current_id, worker_endpoints=worker_endpoints
        )


class GeneralRoleMaker(PaddleCloudRoleMaker):
    """The role of a process in a job with servers, from the environment; the workers are those of
    PADDLE_TRAINER_ENDPOINTS.

    The arguments say how Paddle's processes meet (``hdfs_name``, ``path``, ``http_ip_port``,
    ``iface``, timeouts); here they meet through the launcher or the servers.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def _find_out(self) -> RoleFacts:
        variables = env.select(VARIABLES)
        listed = [part for part in variables.get("PADDLE_TRAINER_ENDPOINTS", "").split(",") if part]
        if listed:
            variables.setdefault("PADDLE_TRAINERS_NUM", str(len(listed)))
        return from_variables(variables, self._is_collective)


class MPIRoleMaker(RoleMakerBase):
    """Roles from MPI. Not supported."""

    def __init__(self) -> None:
        raise NotSupported(
            f"{type(self).__name__}: roles are not taken from MPI; start the script with `python "
            "-m paddle.distributed.launch_ps` and use PaddleCloudRoleMaker"
        )


class MPISymetricRoleMaker(MPIRoleMaker):
    """Two processes, a server and a worker, per MPI node. Not supported."""


def _check_endpoints(call: str, argument: str, endpoints: Any) -> None:
    if not isinstance(endpoints, list) or not all(isinstance(item, str) for item in endpoints):
        raise DtypeError(f"{call}: {argument} must be a list of strings, but is {endpoints!r}")
    if not endpoints or len(set(endpoints)) != len(endpoints):
        raise BadArgument(
            f"{call}: {argument} must have at least one element and none twice, but is "
            f"{endpoints!r}"
        )


def _check_number(
    call: str, argument: str, value: Any, least: int, below: int | None = None
) -> None:
    if not isinstance(value, int):
        raise DtypeError(f"{call}: {argument} must be an integer, but is {value!r}")
    if value < least:
        raise BadArgument(f"{call}: {argument} must be at least {least}, but is {value}")
    if below is not None and value >= below:
        raise BadArgument(
            f"{call}: {argument} must be below the number of endpoints, {below}, but is {value}"
        )
