"""Properties of the planners of the launcher: every process of a job is told the same story."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from argosy.runtime.launch.hosts import Host, Rendezvous
from argosy.runtime.launch.machine import Machine
from argosy.runtime.launch.planners import collective, server_hosts, servers
from argosy.runtime.launch.planners import round as rounds
from argosy.runtime.launch.roster import RANK, SERVER, WORKER, Member, Roster, place_ranks
from argosy.runtime.launch.servers.host import ServerHost
from argosy.runtime.launch.servers.spec import PsSpec
from argosy.runtime.launch.spec import LaunchSpec

MEETING = Rendezvous("10.0.0.1:9", "token")
# (processes, --rank or -1) of each host that has met
ARRIVED = st.lists(st.tuples(st.integers(1, 4), st.integers(-1, 9)), min_size=1, max_size=6).filter(
    lambda found: len({r for _, r in found if r >= 0}) == sum(r >= 0 for _, r in found)
)
MACHINES = st.builds(
    Machine,
    st.dictionaries(
        st.sampled_from(["HOME", "OMP_NUM_THREADS", "PADDLE_TRAINER_ID", "http_proxy"]),
        st.sampled_from(["1", "7", "x"]),
    ),
    st.integers(1, 64),
    st.just("/work"),
)
# the host of each server and each worker
HOSTS_OF_ROLES = st.tuples(*[st.lists(st.integers(0, 2), min_size=1, max_size=5)] * 2)


def hosts_of(arrived):
    return [
        Host(f"10.0.0.{n}", rank, tuple(f"10.0.0.{n}:{port}" for port in range(1, 1 + count)))
        for n, (count, rank) in enumerate(arrived)
    ]


def variables(processes, name):
    return [process.environment[name] for process in processes]


@given(ARRIVED, MACHINES, st.booleans())
def test_the_launchers_of_a_round_number_the_ranks_alike(arrived, machine, sorts_hosts):
    """Each launcher plans for itself; together they have every rank once."""
    hosts = hosts_of(arrived)
    spec = LaunchSpec(script="train.py", sorts_hosts=sorts_hosts)
    jobs = [rounds.plan(spec, hosts, i, MEETING, machine) for i in range(len(hosts))]
    everyone = sorted((p for job in jobs for p in job.processes), key=lambda p: p.member.rank)
    assert [process.member.rank for process in everyone] == list(range(sum(n for n, _ in arrived)))
    [endpoints] = set(variables(everyone, "PADDLE_TRAINER_ENDPOINTS"))
    assert endpoints.split(",") == [process.member.endpoint for process in everyone]
    assert variables(everyone, "PADDLE_CURRENT_ENDPOINT") == endpoints.split(",")
    assert variables(everyone, "PADDLE_TRAINER_ID") == [str(i) for i in range(len(everyone))]
    for job, host in zip(jobs, hosts, strict=True):
        assert [process.member.local_rank for process in job.processes] == list(
            range(len(host.endpoints))
        )
        assert [process.member.endpoint for process in job.processes] == list(host.endpoints)
        ranks = [process.member.rank for process in job.processes]
        assert ranks == list(range(ranks[0], ranks[0] + len(ranks)))


@given(ARRIVED)
def test_hosts_stand_in_the_order_that_they_ask_for(arrived):
    hosts = hosts_of(arrived)
    order = rounds.in_rank_order(hosts, sorts_hosts=False)
    assert sorted(order) == list(range(len(hosts)))
    asked = [hosts[i].asked_rank for i in order if hosts[i].asked_rank >= 0]
    assert asked == sorted(asked)
    for position, i in enumerate(order):  # a number that exists is given to who asks for it
        if all(0 <= host.asked_rank < len(hosts) or host.asked_rank < 0 for host in hosts):
            assert hosts[i].asked_rank in (-1, position)


@given(st.integers(1, 8), st.integers(0, 3), MACHINES)
def test_ranks_are_not_started_again_alone(count, max_restart, machine):
    [host] = hosts_of([(count, -1)])
    spec = LaunchSpec(script="train.py", max_restart=max_restart)
    job = collective.plan(spec, place_ranks([host], MEETING), machine)
    assert {process.member.role for process in job.processes} == {RANK}
    assert all(p.restart.allowed(code) == 0 for p in job.processes for code in (-9, 1))
    assert len({process.log_name for process in job.processes}) == count


@given(st.integers(1, 8), st.one_of(st.none(), st.integers(1, 9)), MACHINES)
def test_every_process_has_the_threads_that_the_table_says(count, asked, machine):
    [host] = hosts_of([(count, -1)])
    spec = LaunchSpec(script="train.py", num_threads=asked)
    job = collective.plan(spec, place_ranks([host], MEETING), machine)
    inherited = machine.environment.get("OMP_NUM_THREADS", "")
    [threads] = set(variables(job.processes, "OMP_NUM_THREADS"))
    assert threads == (
        str(asked) if asked else inherited or str(max(1, machine.num_cores // count))
    )
    assert threads == "x" or f" {threads} thread" in job.title


def members_of(hosts_of_roles):
    members = []
    for role, hosts in zip((SERVER, WORKER), hosts_of_roles, strict=True):
        for rank, host in enumerate(hosts):
            port = 1000 * (role == WORKER) + rank + 1
            local_rank = hosts[:rank].count(host)
            endpoint = f"10.0.0.{host}:{port}"
            members.append(Member(role, rank, endpoint, host, local_rank))
    return tuple(members)


# servers and workers of each host, and its --rank or -1
SHARES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(-1, 9)).filter(
        lambda share: share[0] + share[1] > 0
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda share: share[2] if share[2] >= 0 else object(),
).filter(lambda shares: all(sum(share[i] for share in shares) for i in range(2)))


@given(SHARES)
def test_hosts_that_have_met_agree_on_servers_and_workers(shares):
    """Whoever looks, every process has one number and the host that brought it."""
    hosts = [
        ServerHost(
            address=f"10.0.0.{n}",
            asked_rank=rank,
            num_hosts=len(shares),
            servers=tuple(f"10.0.0.{n}:{1 + i}" for i in range(num_servers)),
            workers=tuple(f"10.0.0.{n}:{9 + i}" for i in range(num_workers)),
        )
        for n, (num_servers, num_workers, rank) in enumerate(shares)
    ]
    assert server_hosts.are_all_there(hosts, PsSpec(), len(hosts))
    assert not server_hosts.are_all_there(hosts[1:], PsSpec(), len(hosts))
    rosters = [server_hosts.place(hosts, n, PsSpec(), MEETING) for n in range(len(hosts))]
    [members] = {roster.members for roster in rosters}
    for role, counts in ((SERVER, "servers"), (WORKER, "workers")):
        found = [member for member in members if member.role == role]
        assert [member.rank for member in found] == list(range(len(found)))
        assert sorted(m.endpoint for m in found) == sorted(
            endpoint for host in hosts for endpoint in getattr(host, counts)
        )
    for member in members:
        host = hosts[member.host]
        brought = host.servers if member.role == SERVER else host.workers
        assert member.endpoint == brought[member.local_rank]
    for number, roster in enumerate(rosters):
        assert {member.host for member in roster.here} == {number}


@given(HOSTS_OF_ROLES, st.integers(0, 3), MACHINES)
def test_every_server_and_worker_is_started_once(hosts_of_roles, max_restart, machine):
    members = members_of(hosts_of_roles)
    spec = LaunchSpec(script="train.py", max_restart=max_restart)
    kept = {m.endpoint: 100 + m.rank for m in members if m.role == SERVER}
    files = servers.ServerFiles("/tmp/job", None, kept)
    jobs = [
        servers.plan(spec, Roster(members, MEETING, host), machine, files)
        for host in {member.host for member in members}
    ]
    everyone = [process for job in jobs for process in job.processes]
    for role, hosts in zip((SERVER, WORKER), hosts_of_roles, strict=True):
        found = sorted((p for p in everyone if p.member.role == role), key=lambda p: p.member.rank)
        assert [process.member.rank for process in found] == list(range(len(hosts)))
        name = "PADDLE_PSERVERS_IP_PORT_LIST" if role == SERVER else "PADDLE_TRAINER_ENDPOINTS"
        [endpoints] = set(variables(everyone, name))
        assert endpoints.split(",") == variables(found, "PADDLE_CURRENT_ENDPOINT")
        errors = {process.restart.allowed(1) for process in found}
        assert errors == {max_restart}
    for process in everyone:
        is_server = process.member.role == SERVER
        assert process.inherits == ((kept[process.member.endpoint],) if is_server else ())
        assert process.restart.allowed(-9) == (10 if is_server else max_restart)
        assert ("PADDLE_TRAINER_ID" in process.environment) is not is_server
    for job in jobs:
        assert len({process.log_name for process in job.processes}) == len(job.processes)
