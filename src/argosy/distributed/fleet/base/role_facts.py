"""Who a process is in its job, as a pure function of what the launcher or the script said.

Nothing here reads the environment or communicates; ``role_maker.py`` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from argosy.foundation.errors import BadArgument, ConfigError, DtypeError, NotSupported

__all__ = ["VARIABLES", "Role", "RoleFacts", "from_arguments", "from_variables"]

VARIABLES = (
    "PADDLE_TRAINER_ID",
    "PADDLE_TRAINERS_NUM",
    "PADDLE_TRAINER_ENDPOINTS",
    "PADDLE_CURRENT_ENDPOINT",
    "PADDLE_TRAINING_ROLE",
    "PADDLE_RANK_IN_NODE",
    "PADDLE_LOCAL_DEVICE_IDS",
    "PADDLE_WORLD_DEVICE_IDS",
    "PADDLE_MASTER",
    "MASTER_ADDR",
    "ARGOSY_MEETING",
    "PADDLE_PSERVERS_IP_PORT_LIST",
    "TRAINING_ROLE",
    "POD_IP",
    "PADDLE_PORT",
)
_ALONE = "127.0.0.1:6170"
_HINT = "Start the script with `python -m paddle.distributed.launch train.py`, which sets it."


class Role:
    """What a process does in its job."""

    WORKER = 1
    SERVER = 2
    HETER_WORKER = 3
    ALL = 4
    COORDINATOR = 5


@dataclass(frozen=True, kw_only=True)
class RoleFacts:
    """A process's place. ``index`` counts within its role; ``is_alone``: nobody described a job, so
    it is its only worker.
    """

    role: int = Role.WORKER
    index: int = 0
    num_workers: int = 1
    worker_endpoints: tuple[str, ...] = ()
    server_endpoints: tuple[str, ...] = ()
    endpoint: str = ""
    is_alone: bool = False
    local_rank: str | None = None
    local_device_ids: str | None = None
    world_device_ids: str | None = None

    @property
    def num_nodes(self) -> int:
        return max(len({endpoint.rpartition(":")[0] for endpoint in self.worker_endpoints}), 1)


def from_variables(variables: Mapping[str, str], is_collective: bool) -> RoleFacts:
    """Read the variables that launchers set (those of ``VARIABLES`` that are there); what is
    missing or contradictory is an error that names it. In a collective job the endpoints say how
    many workers there are, whatever PADDLE_TRAINERS_NUM says.
    """
    return _collective(variables) if is_collective else _parameter_server(variables)


def _collective(variables: Mapping[str, str]) -> RoleFacts:
    role = variables.get("PADDLE_TRAINING_ROLE", "TRAINER")
    if role != "TRAINER":
        raise BadArgument(
            f"PADDLE_TRAINING_ROLE must be TRAINER in a collective job, but is {role!r}"
        )
    endpoints = _list(variables, "PADDLE_TRAINER_ENDPOINTS")
    meets = bool({"PADDLE_MASTER", "MASTER_ADDR", "ARGOSY_MEETING"} & variables.keys())
    count = len(endpoints) or (_integer(variables, "PADDLE_TRAINERS_NUM", 1) if meets else 1)
    if count == 1 and not endpoints:
        return RoleFacts(
            worker_endpoints=(_ALONE,), endpoint=_ALONE, is_alone=True, **_devices(variables)
        )
    index = _integer(variables, "PADDLE_TRAINER_ID", 0)
    _check_index("PADDLE_TRAINER_ID", index, "PADDLE_TRAINERS_NUM", count)
    listed = endpoints[index] if endpoints else ""
    endpoint = variables.get("PADDLE_CURRENT_ENDPOINT", listed)
    if listed and endpoint != listed:
        raise ConfigError(
            f"PADDLE_CURRENT_ENDPOINT is {endpoint}, but PADDLE_TRAINER_ENDPOINTS gives {listed} "
            f"to PADDLE_TRAINER_ID {index}"
        )
    return RoleFacts(
        index=index,
        num_workers=count,
        worker_endpoints=endpoints,
        endpoint=endpoint,
        **_devices(variables),
    )


def _parameter_server(variables: Mapping[str, str]) -> RoleFacts:
    servers = _list(variables, "PADDLE_PSERVERS_IP_PORT_LIST")
    if not servers:
        return RoleFacts(is_alone=True, **_devices(variables))
    why = "PADDLE_PSERVERS_IP_PORT_LIST says that this is a parameter-server job"
    count = _integer(variables, "PADDLE_TRAINERS_NUM", None, why)
    role = variables.get("TRAINING_ROLE")
    if role is None:
        raise _missing("TRAINING_ROLE", why)
    place: dict[str, Any] = {
        "num_workers": count,
        "server_endpoints": servers,
        "worker_endpoints": _list(variables, "PADDLE_TRAINER_ENDPOINTS"),
        **_devices(variables),
    }
    if role == "TRAINER":
        index = _integer(variables, "PADDLE_TRAINER_ID", None, why)
        _check_index("PADDLE_TRAINER_ID", index, "PADDLE_TRAINERS_NUM", count)
        return RoleFacts(
            role=Role.WORKER,
            index=index,
            endpoint=_worker_endpoint(variables, place, index),
            **place,
        )
    if role == "PSERVER":
        return RoleFacts(role=Role.SERVER, **_server_place(variables, servers), **place)
    if role in ("HETER_TRAINER", "COORDINATOR"):
        raise NotSupported(
            f"TRAINING_ROLE={role}: heterogeneous and federated parameter-server jobs are not "
            "supported"
        )
    raise ConfigError(f"TRAINING_ROLE must be TRAINER or PSERVER, but is {role!r}")


def _worker_endpoint(variables: Mapping[str, str], place: Mapping[str, Any], index: int) -> str:
    """Scripts of Paddle 1.x set neither POD_IP nor PADDLE_PORT for workers."""
    if "POD_IP" in variables and "PADDLE_PORT" in variables:
        return f"{variables['POD_IP']}:{variables['PADDLE_PORT']}"
    endpoints = place["worker_endpoints"]
    return endpoints[index] if index < len(endpoints) else ""


def _server_place(variables: Mapping[str, str], servers: Sequence[str]) -> dict[str, Any]:
    for name in ("PADDLE_PORT", "POD_IP"):
        if name not in variables:
            raise _missing(name, "TRAINING_ROLE=PSERVER needs the server's own address")
    endpoint = f"{variables['POD_IP']}:{variables['PADDLE_PORT']}"
    if endpoint not in servers:
        raise ConfigError(
            f"POD_IP and PADDLE_PORT say {endpoint}, which PADDLE_PSERVERS_IP_PORT_LIST does not "
            f"have: {', '.join(servers)}"
        )
    return {"index": servers.index(endpoint), "endpoint": endpoint}


def from_arguments(arguments: Mapping[str, Any], is_collective: bool) -> RoleFacts:
    """Read what a script passed to UserDefinedRoleMaker."""
    index = arguments.get("current_id")
    workers = tuple(arguments.get("worker_endpoints") or ())
    if index is None:
        raise BadArgument("UserDefinedRoleMaker: current_id, the number of this process, is needed")
    if not isinstance(index, int):
        raise DtypeError(f"UserDefinedRoleMaker: current_id must be an int, but is {index!r}")
    if is_collective:
        if not workers:
            raise BadArgument(
                "UserDefinedRoleMaker: worker_endpoints is needed in a collective job"
            )
        _check_index("current_id", index, "the number of worker_endpoints", len(workers))
        return RoleFacts(
            index=index, num_workers=len(workers), worker_endpoints=workers, endpoint=workers[index]
        )
    servers, role = tuple(arguments.get("server_endpoints") or ()), arguments.get("role")
    count = arguments.get("worker_num") or len(workers)
    if not count:
        raise BadArgument("UserDefinedRoleMaker: worker_num or worker_endpoints is needed")
    if role not in (Role.WORKER, Role.SERVER):
        raise BadArgument(
            f"UserDefinedRoleMaker: role must be Role.WORKER or Role.SERVER, but is {role!r}"
        )
    own = servers if role == Role.SERVER else workers
    _check_index(
        "current_id",
        index,
        "the number of processes of its role",
        len(own) if role == Role.SERVER else count,
    )
    return RoleFacts(
        role=role,
        index=index,
        num_workers=count,
        worker_endpoints=workers,
        server_endpoints=servers,
        endpoint=own[index] if index < len(own) else "",
    )


def _list(variables: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(
        part.strip()
        for part in variables.get(name, "").replace(";", ",").split(",")
        if part.strip()
    )


def _integer(variables: Mapping[str, str], name: str, default: int | None, why: str = "") -> int:
    text = variables.get(name)
    if text is None:
        if default is None:
            raise _missing(name, why or "PADDLE_TRAINERS_NUM says that there are several workers")
        return default
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"{name} must be an integer, but is {text!r}") from None


def _check_index(name: str, index: int, of: str, count: int) -> None:
    if not 0 <= index < count:
        raise ConfigError(
            f"{name} is {index}, but must be at least 0 and below {of}, which is {count}"
        )


def _missing(name: str, why: str) -> ConfigError:
    return ConfigError(f"Can not find {name} in the environment, though {why}. {_HINT}")


def _devices(variables: Mapping[str, str]) -> dict[str, Any]:
    return {
        "local_rank": variables.get("PADDLE_RANK_IN_NODE"),
        "local_device_ids": variables.get("PADDLE_LOCAL_DEVICE_IDS"),
        "world_device_ids": variables.get("PADDLE_WORLD_DEVICE_IDS"),
    }
