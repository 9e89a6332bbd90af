"""The roles of a parameter-server job, as flags and a cluster's variables ask for them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from argosy.foundation.errors import ConfigError, NotSupported
from argosy.runtime.launch import flags
from argosy.runtime.launch.roster import SERVER, WORKER

_TLS_FILES = ("tls_cert", "tls_key", "tls_root")
_ROLES = {"PSERVER": SERVER, "TRAINER": WORKER}  # by Paddle's words


@dataclass(frozen=True, kw_only=True)
class PsSpec:
    """Servers and workers: endpoints where they are listed, else only how many of each this host
    runs.
    """

    servers: tuple[str, ...] = ()
    workers: tuple[str, ...] = ()  # a worker's port may be missing
    num_servers: int = 0
    num_workers: int = 0
    # the listed process that alone runs here, by role and number; else those at own addresses do
    only: tuple[str, int] | None = None
    uses_tls: bool | None = None  # None: between hosts
    tls_cert: str = ""  # files; empty where certificates are to be made
    tls_key: str = ""
    tls_root: str = ""


def read(values: Mapping[str, Any], num_hosts: tuple[int, int]) -> PsSpec | None:
    """The roles that flags of parameter servers ask for; None for a collective job. With
    ``num_hosts`` (at least, at most) above one each host has counts of its own.
    """
    asked = [name for name in flags.SERVER_FLAGS if values[name]]
    paths = {name: values[name] or "" for name in _TLS_FILES}
    if not asked and values["run_mode"] != "ps":
        if values["tls"] or any(paths.values()):
            raise NotSupported("launch: --tls protects parameter servers; this is a collective job")
        return None
    servers = flags.listed(values["servers"] or values["endpoints"] or "")
    workers = flags.listed(values["workers"] or values["trainers"] or "")
    is_met = num_hosts[1] > 1 and not servers and not workers
    if is_met and num_hosts[0] != num_hosts[1]:
        raise NotSupported(
            "launch: the tables of parameter servers do not move, so their hosts cannot come and "
            f"go: --nnodes must be one number, but is {num_hosts[0]}:{num_hosts[1]}"
        )
    least = 0 if is_met else 1
    num_servers = _count("--server_num", values["server_num"], servers, "--servers", least)
    num_workers = _count(
        "--worker_num", values["worker_num"] or values["trainer_num"], workers, "--workers", least
    )
    if not num_servers + num_workers:
        raise ConfigError(
            "launch: this host would run neither a server nor a worker; give it --server_num or "
            "--worker_num"
        )
    return PsSpec(
        servers=servers,
        workers=workers,
        num_servers=num_servers,
        num_workers=num_workers,
        only=values.get("only"),
        uses_tls=_tls(values["tls"], paths),
        **paths,
    )


def _tls(asked: bool | None, paths: Mapping[str, str]) -> bool | None:
    given = [f"--{name}" for name, path in paths.items() if path]
    if not given:
        return asked
    if not paths["tls_root"] or bool(paths["tls_cert"]) != bool(paths["tls_key"]):
        raise ConfigError(
            "launch: workers need --tls_root, servers --tls_cert and --tls_key beside it; "
            f"given: {', '.join(given)}"
        )
    if asked is False:
        raise ConfigError(f"launch: --tls false contradicts {', '.join(given)}")
    return True


def _count(flag: str, text: str | None, listed: Sequence[str], list_flag: str, least: int) -> int:
    """How many of a role there are: as many as are listed, else the number that was given."""
    if text and not text.isdigit():
        raise ConfigError(f"launch: {flag} must be an integer, but is {text!r}")
    if text and listed and int(text) != len(listed):
        raise ConfigError(f"launch: {flag} is {text}, but {list_flag} lists {len(listed)}")
    if not text and not listed and least:
        raise ConfigError(f"launch: a parameter-server job needs {flag} or {list_flag}")
    count = len(listed) or int(text or 0)
    if count < least:
        raise ConfigError(f"launch: {flag} must be at least {least}, but is {count}")
    return count


def of_cluster(environ: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, Any]:
    """What paddle-operator tells each pod of a server job, as values of flags; nothing where flags
    name the roles, or where this is not such a pod.

    A pod is one process of the job. The operator names no meeting point: it is where the first
    worker would listen, as for workers that nobody launched.
    """
    servers = environ.get("PADDLE_PSERVERS_IP_PORT_LIST", "")
    word = environ.get("TRAINING_ROLE", "")
    is_child = environ.get("ARGOSY_STORE_SERVED") == "1"  # of a launcher of ours
    if is_child or not servers or not word or any(values[name] for name in flags.SERVER_FLAGS):
        return {}
    workers, number = (
        environ.get(n, "") for n in ("PADDLE_TRAINER_ENDPOINTS", "PADDLE_TRAINER_ID")
    )
    found = f"TRAINING_ROLE={word}, PADDLE_TRAINER_ID={number}, PADDLE_PSERVERS_IP_PORT_LIST="
    found += f"{servers}, PADDLE_TRAINER_ENDPOINTS={workers}"
    if word not in _ROLES or not workers:
        raise ConfigError(
            "launch: the environment describes a parameter-server job, but TRAINING_ROLE must be "
            f"PSERVER or TRAINER and every worker must be listed: {found}"
        )
    role = _ROLES[word]
    count = len(flags.listed(servers if role == SERVER else workers))
    if not (number.isascii() and number.isdigit()) or int(number) >= count:
        raise ConfigError(
            f"launch: PADDLE_TRAINER_ID must be the number of this {role}, from 0 to {count - 1}: "
            f"{found}"
        )
    return {
        "servers": servers,
        "workers": workers,
        "master": values["master"] or flags.listed(workers)[0],
        "only": (role, int(number)),
    }
