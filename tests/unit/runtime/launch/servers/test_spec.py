"""The roles of a parameter-server job: counts of each host, TLS between hosts, pods of clusters."""

from __future__ import annotations

import pytest

from argosy.foundation.errors import ConfigError, NotSupported
from argosy.runtime.launch.servers import tls as ps_tls
from argosy.runtime.launch.servers.host import CLEAR, GIVEN, MADE
from argosy.runtime.launch.servers.spec import PsSpec
from argosy.runtime.launch.spec import parse


def read(words="t.py", **environ):
    return parse(words.split(), environ, 0)


HOSTS = "--nnodes 3 --master 10.0.0.1:7 "


def test_a_host_of_several_has_counts_of_its_own():
    for words, counts in (
        ("--server_num 2 --worker_num 1 t.py", (2, 1)),
        ("--server_num 2 t.py", (2, 0)),
        ("--worker_num 3 --server_num 0 t.py", (0, 3)),
        ("--trainer_num 3 t.py", (0, 3)),
    ):
        spec = read(HOSTS + words)
        assert (spec.ps.num_servers, spec.ps.num_workers) == counts
        assert spec.meets_at_master


def test_counts_that_make_no_job_are_refused():
    with pytest.raises(ConfigError, match="neither a server nor a worker"):
        read(HOSTS + "--server_num 0 --worker_num 0 t.py")
    with pytest.raises(ConfigError, match="neither a server nor a worker"):
        read(HOSTS + "--run_mode ps t.py")
    with pytest.raises(ConfigError, match="--server_num must be at least 1"):
        read("--server_num 0 --worker_num 1 t.py")
    with pytest.raises(NotSupported, match="--nnodes must be one number, but is 2:3"):
        read("--nnodes 2:3 --master h:1 --server_num 1 t.py")


def test_kubeflow_tells_each_pod_the_count_of_its_role():
    common = {"PADDLE_NNODES": "3", "PADDLE_MASTER": "job-master-0:36543", "PADDLE_JOB_ID": "job"}
    server = read(PADDLE_SERVER_NUM="1", **common)
    worker = read(PADDLE_TRAINER_NUM="1", **common)
    assert [(s.ps.num_servers, s.ps.num_workers) for s in (server, worker)] == [(1, 0), (0, 1)]
    assert server.meets_at_master
    assert server.max_nodes == worker.max_nodes == 3


OPERATOR = {
    "PADDLE_PSERVERS_IP_PORT_LIST": "10.1.0.1:36001,10.1.0.2:36001",
    "PADDLE_TRAINER_ENDPOINTS": "10.1.0.3:36001,10.1.0.4:36001",
    "PADDLE_TRAINERS": "10.1.0.3,10.1.0.4",
    "PADDLE_TRAINERS_NUM": "2",
    "PADDLE_PORT": "36001",
    "TRAINER_PORTS_NUM": "20",
    "POD_IP": "10.1.0.2",
    "TRAINING_ROLE": "PSERVER",
    "PADDLE_TRAINING_ROLE": "PSERVER",
    "PADDLE_TRAINER_ID": "1",
}


def test_paddle_operator_lists_all_and_tells_each_pod_who_it_is():
    spec = read(**OPERATOR)
    assert spec.ps.only == ("server", 1)
    assert (spec.ps.num_servers, spec.ps.num_workers) == (2, 2)
    assert spec.master == "10.1.0.3:36001"
    worker = read(**{**OPERATOR, "TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": "0"})
    assert worker.ps.only == ("worker", 0)
    given = read("--master 10.1.0.9:7 t.py", **OPERATOR)
    assert given.master == "10.1.0.9:7"


@pytest.mark.parametrize(
    "changed",
    [
        {"TRAINING_ROLE": "HETER_TRAINER"},
        {"PADDLE_TRAINER_ENDPOINTS": ""},
        {"PADDLE_TRAINER_ID": ""},
        {"PADDLE_TRAINER_ID": "2"},
        {"PADDLE_TRAINER_ID": "-1"},
    ],
    ids=str,
)
def test_a_pod_that_does_not_know_its_place_is_shown_the_variables(changed):
    with pytest.raises(ConfigError, match=r"PADDLE_PSERVERS_IP_PORT_LIST=10\.1\.0\.1:36001,"):
        read(**{**OPERATOR, **changed})


def test_a_launcher_inside_a_job_is_not_a_pod():
    """A script of a job may start a job of its own."""
    assert read(ARGOSY_STORE_SERVED="1", **OPERATOR).ps is None
    flags = read("--server_num 1 --worker_num 4 t.py", **OPERATOR).ps
    assert (flags.only, flags.num_workers, flags.servers) == (None, 4, ())


@pytest.mark.parametrize(
    ("uses_tls", "where", "mode"),
    [
        (None, "10.0.0.1", MADE),
        (None, "job-master-0", MADE),
        (None, "fd00::1", MADE),
        (None, "127.0.0.1", CLEAR),
        (None, "localhost", CLEAR),
        (None, "::1", CLEAR),
        (False, "10.0.0.1", CLEAR),
        (True, "127.0.0.1", MADE),
    ],
)
def test_hosts_talk_by_tls_unless_they_are_one_or_nobody_wants_it(uses_tls, where, mode):
    assert ps_tls.mode(PsSpec(uses_tls=uses_tls), where) == mode
    assert ps_tls.mode(PsSpec(uses_tls=True, tls_root="root.pem"), where) == GIVEN


def test_tls_is_asked_for_or_refused_by_one_flag():
    assert read(HOSTS + "--server_num 1 t.py").ps.uses_tls is None
    assert read(HOSTS + "--server_num 1 --tls t.py").ps.uses_tls is True
    assert read(HOSTS + "--server_num 1 --tls false t.py").ps.uses_tls is False
    assert read(HOSTS + "--worker_num 1 --tls_root r t.py").ps.uses_tls is True
    with pytest.raises(ConfigError, match="--tls false contradicts --tls_root"):
        read(HOSTS + "--worker_num 1 --tls false --tls_root r t.py")


def test_without_openssl_the_way_out_is_told(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigError, match="or let everything travel in the clear with --tls false"):
        ps_tls.make(["10.0.0.1"])
