"""The variables that workers of Ray Train get are those of a launcher."""

import pytest

from argosy.ray.members import Found, crosses_hosts, of_ranks, of_workers, served
from argosy.runtime.launch.hosts import Rendezvous
from argosy.runtime.launch.planners import servers as planner
from argosy.runtime.launch.roster import SERVER, WORKER
from argosy.runtime.launch.spec import LaunchSpec

WHERE = Rendezvous("10.0.0.1:5000", "a" * 32)
SPEC = LaunchSpec(script="train.py", log_dir=None, job_id="run", shows_table=False)


def found(**more):
    """Three workers on two nodes."""
    places = ((0, 0, "10.0.0.2:7000"), (0, 1, "10.0.0.2:7001"), (1, 0, "10.0.0.3:7000"))
    return [Found(n, host, local, end, **more) for n, (host, local, end) in enumerate(places)]


def test_ranks_know_their_place_on_their_node_and_in_the_job():
    first, second, third = of_ranks(SPEC, found(num_threads="2"), WHERE)
    assert [v["PADDLE_TRAINER_ID"] for v in (first, second, third)] == ["0", "1", "2"]
    assert [v["PADDLE_LOCAL_RANK"] for v in (first, second, third)] == ["0", "1", "0"]
    assert [v["PADDLE_LOCAL_SIZE"] for v in (first, second, third)] == ["2", "2", "1"]
    assert second["PADDLE_CURRENT_ENDPOINT"] == "10.0.0.2:7001"
    for variables in (first, second, third):
        assert variables["PADDLE_TRAINERS_NUM"] == "3"
        assert variables["PADDLE_NNODES"] == "2"
        assert variables["PADDLE_MASTER"] == WHERE.endpoint
        assert variables["ARGOSY_TOKEN"] == WHERE.token
        assert variables["ARGOSY_STORE_SERVED"] == "1"
        assert variables["OMP_NUM_THREADS"] == variables["MKL_NUM_THREADS"] == "2"
        assert "FLAGS_selected_gpus" not in variables
        assert "TRAINING_ROLE" not in variables


def test_cards_count_from_0_for_each_worker():
    for variables in of_ranks(SPEC, found(num_cards=2), WHERE):
        assert variables["FLAGS_selected_gpus"] == "0,1"


def test_workers_of_servers_know_them_and_have_a_folder_each():
    spec = LaunchSpec(script="train.py", log_dir=None, max_restart=1)
    servers = ["10.0.0.9:1", "10.0.0.9:2"]
    variables = of_workers(spec, found(), servers, WHERE, "/shared/progress")
    assert [v["PADDLE_TRAINER_ID"] for v in variables] == ["0", "1", "2"]
    assert [v["ARGOSY_PS_PROGRESS"] for v in variables] == [
        f"/shared/progress/worker-{n}" for n in range(3)
    ]
    for each in variables:
        assert each["TRAINING_ROLE"] == "TRAINER"
        assert each["PADDLE_PSERVERS_IP_PORT_LIST"] == ",".join(servers)
        assert each["PADDLE_TRAINERS_NUM"] == "3"


def test_workers_without_shared_storage_keep_no_progress():
    for each in of_workers(SPEC, found(), ["10.0.0.9:1"], WHERE, ""):
        assert "ARGOSY_PS_PROGRESS" not in each


@pytest.mark.parametrize("number", [0, 1])
def test_a_server_is_planned_alone(number):
    roster = served(["10.0.0.8:1", "10.0.0.9:1"], ["10.0.0.2:7000"], WHERE, number)
    assert [(m.role, m.rank) for m in roster.here] == [(SERVER, number)]
    assert roster.endpoints(WORKER) == ["10.0.0.2:7000"]
    [machine] = [found(num_threads="1")[0].machine]
    [process] = planner.plan(SPEC, roster, machine, planner.ServerFiles("/here")).processes
    assert process.environment["PADDLE_PSERVER_ID"] == str(number)
    assert process.environment["PADDLE_CURRENT_ENDPOINT"] == f"10.0.0.{8 + number}:1"


def test_traffic_is_between_hosts_unless_all_servers_are_at_loopback():
    assert not crosses_hosts(["127.0.0.1:1", "127.0.0.1:2"])
    assert crosses_hosts(["127.0.0.1:1", "10.0.0.2:2"])
