"""From where Ray has put the workers and servers to the variables of each, which are those that a
launcher sets. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from argosy.foundation.endpoints import is_loopback, parse
from argosy.runtime.launch.hosts import Rendezvous
from argosy.runtime.launch.machine import Machine
from argosy.runtime.launch.planners import collective, servers
from argosy.runtime.launch.roster import RANK, SERVER, WORKER, Member, Roster
from argosy.runtime.launch.spec import LaunchSpec

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Found:
    """What a worker of Ray Train says of itself: its rank, the number of its node and its rank
    there, the endpoint that it keeps, how many cards and threads Ray gave it.
    """

    rank: int
    host: int
    local_rank: int
    endpoint: str
    num_cards: int = 0
    num_threads: str = ""

    @property
    def cards(self) -> str:
        # Ray lets a worker see its own cards only, so they count from 0 for each
        return ",".join(map(str, range(self.num_cards)))

    @property
    def machine(self) -> Machine:
        """Nothing but threads is to be inherited: Ray has made the rest of the environment."""
        given = dict.fromkeys(_THREADS, self.num_threads) if self.num_threads else {}
        return Machine(given, 1, "")


def of_ranks(
    spec: LaunchSpec, found: Sequence[Found], rendezvous: Rendezvous
) -> list[dict[str, str]]:
    """The variables of each rank of a collective job, in the order of ``found``."""
    members = tuple(Member(RANK, f.rank, f.endpoint, f.host, f.local_rank, f.cards) for f in found)
    return [
        _variables_of(f, collective.plan(spec, Roster(members, rendezvous, f.host), f.machine))
        for f in found
    ]


def of_workers(
    spec: LaunchSpec, found: Sequence[Found], endpoints: Sequence[str], rendezvous: Rendezvous,
    progress: str,
) -> list[dict[str, str]]:  # fmt: skip
    """The variables of each worker of a job with servers at ``endpoints``; in ``progress``, if
    there is such a folder, they keep what they need to go on.
    """
    files = servers.ServerFiles(progress)
    return [
        _variables_of(
            f,
            servers.plan(
                spec,
                served(endpoints, [f.endpoint for f in found], rendezvous, len(endpoints) + n),
                f.machine,
                files,
            ),
        )
        for n, f in enumerate(found)
    ]


def served(
    servers: Sequence[str], workers: Sequence[str], rendezvous: Rendezvous, this_host: int
) -> Roster:
    """Servers and workers, each as if on a host of its own: servers first."""
    members = [Member(SERVER, n, endpoint, n) for n, endpoint in enumerate(servers)]
    members += [Member(WORKER, n, e, len(servers) + n) for n, e in enumerate(workers)]
    return Roster(tuple(members), rendezvous, this_host)


def crosses_hosts(endpoints: Sequence[str]) -> bool:
    """Whether one of them can be reached from other hosts."""
    return not all(is_loopback(parse(endpoint).host) for endpoint in endpoints)


def _variables_of(found: Found, job: collective.Job) -> dict[str, str]:
    [process] = [p for p in job.processes if p.member.rank == found.rank]
    variables: Mapping[str, str] = process.environment
    return dict(variables)
