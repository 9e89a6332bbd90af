"""The servers and workers of a parameter-server job that run on this host. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from argosy.foundation.endpoints import parse
from argosy.runtime.launch.machine import Machine
from argosy.runtime.launch.planners.environment import shared_variables, threads_each
from argosy.runtime.launch.process_spec import Job, ProcessSpec, RestartRule
from argosy.runtime.launch.roster import SERVER, WORKER, Member, Roster
from argosy.runtime.launch.servers.tls import TlsFiles
from argosy.runtime.launch.spec import LaunchSpec
from argosy.runtime.ps.server.goodbyes import ENDED
from argosy.runtime.ps.worker.tape import REFUSED

_SERVER_RESTARTS = 10
# a worker that is started again loads torch and builds its model before it is back
_PATIENCE_S = 60


@dataclass(frozen=True)
class ServerFiles:
    """What this host's servers and workers find on it."""

    folder: str  # what they need to come back; it goes with the job
    tls: TlsFiles | None = None
    # sockets that keep the servers' ports
    descriptor_by_endpoint: Mapping[str, int] = field(default_factory=dict)


def plan(spec: LaunchSpec, roster: Roster, machine: Machine, files: ServerFiles) -> Job:
    """This host's share of the job."""
    num_threads = threads_each(spec.num_threads, machine, len(roster.here))
    shared = _shared(spec, roster, machine, num_threads)
    counts = ((role, len(roster.endpoints(role))) for role in (SERVER, WORKER))
    is_alone = roster.num_hosts == 1
    on_hosts = "" if is_alone else f", on {roster.num_hosts} hosts"
    return Job(
        processes=tuple(
            (_server if member.role == SERVER else _worker)(spec, member, files, shared)
            for member in roster.here
        ),
        title=", ".join(f"{count} {role}{'s' if count > 1 else ''}" for role, count in counts)
        + on_hosts,
        everyone="all processes" if is_alone else "the processes of this host",
        after_failure="the job was ended",
        log_dir=spec.log_dir,
        empties_logs=True,
        shows_table=spec.shows_table,
        grace_s=spec.grace_s,
        requeue_code=spec.requeue_code,
    )


def _shared(spec: LaunchSpec, roster: Roster, machine: Machine, num_threads: int) -> dict[str, str]:
    workers = roster.endpoints(WORKER)
    variables = shared_variables(spec, roster.rendezvous, machine, num_threads) | {
        "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(roster.endpoints(SERVER)),
        "PADDLE_TRAINER_ENDPOINTS": ",".join(workers),
        "PADDLE_TRAINERS_NUM": str(len(workers)),
    }
    # of one process only, whatever the launcher was started with
    for name in ("PADDLE_TRAINER_ID", "ARGOSY_PS_PROGRESS"):
        variables.pop(name, None)
    return variables


def _server(
    spec: LaunchSpec, member: Member, files: ServerFiles, shared: Mapping[str, str]
) -> ProcessSpec:
    folder = f"{files.folder}/{member.rank}"
    variables = _of_member(member, "PSERVER", files, shared) | {
        "PADDLE_PSERVER_ID": str(member.rank),
        "ARGOSY_PS_FOLDER": folder,
    }
    variables.setdefault("ARGOSY_PS_PATIENCE", str(_PATIENCE_S if spec.max_restart else 0))
    if files.tls is not None:
        variables |= {"ARGOSY_TLS_CERT": files.tls.cert, "ARGOSY_TLS_KEY": files.tls.key}
    descriptor = files.descriptor_by_endpoint.get(member.endpoint)
    return ProcessSpec(
        member=member,
        argv=spec.command,
        environment=variables,
        log_name=f"serverlog.{member.rank}",
        inherits=() if descriptor is None else (descriptor,),
        restart=RestartRule(after_signal=_SERVER_RESTARTS, after_error=spec.max_restart),
        ended_file=f"{folder}/{ENDED}",
    )


def _worker(
    spec: LaunchSpec, member: Member, files: ServerFiles, shared: Mapping[str, str]
) -> ProcessSpec:
    progress = f"{files.folder}/worker-{member.rank}"
    variables = _of_member(member, "TRAINER", files, shared) | {
        "PADDLE_TRAINER_ID": str(member.rank),
        "FLAGS_selected_gpus": "0",
    }
    if spec.max_restart:
        variables["ARGOSY_PS_PROGRESS"] = progress
    return ProcessSpec(
        member=member,
        argv=spec.command,
        environment=variables,
        log_name=f"workerlog.{member.rank}",
        restart=RestartRule(spec.max_restart, spec.max_restart),
        refusal_file=f"{progress}/{REFUSED}",
    )


def _of_member(
    member: Member, word: str, files: ServerFiles, shared: Mapping[str, str]
) -> dict[str, str]:
    """The variables that both roles have; ``word`` is Paddle's for the role."""
    endpoint = parse(member.endpoint)
    variables = {
        **shared,
        "TRAINING_ROLE": word,
        "PADDLE_ROLE": word,
        "PADDLE_PORT": str(endpoint.port),
        "POD_IP": endpoint.host,
        "PADDLE_CURRENT_ENDPOINT": str(endpoint),
    }
    if files.tls is not None:
        variables["ARGOSY_TLS_ROOT"] = files.tls.root
    return variables
