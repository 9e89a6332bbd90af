"""The manager of one host of an elastic job, on an etcd of a dictionary."""

import pytest

from argosy.distributed.fleet import elastic
from argosy.distributed.fleet.elastic.manager import (
    ELASTIC_AUTO_PARALLEL_EXIT_CODE,
    ElasticLevel,
    ElasticManager,
    ElasticStatus,
    LauncherInterface,
)

HOSTS = [f"10.10.10.{n}:6001" for n in range(4)]


class Etcd:
    """What the manager uses of a client of etcd3."""

    def __init__(self):
        self.values, self.cancelled = {}, []

    def put(self, key, value, lease=None):
        self.values[key] = value

    def get(self, key):
        return self.values.get(key), None

    def get_prefix(self, prefix):
        return [(value, None) for key, value in self.values.items() if key.startswith(prefix)]

    def delete(self, key):
        self.values.pop(key, None)

    def delete_prefix(self, prefix):
        self.values = {k: v for k, v in self.values.items() if not k.startswith(prefix)}

    def add_watch_callback(self, key, callback):
        return "endpoints"

    def add_watch_prefix_callback(self, prefix, callback):
        self.hosts_changed = callback
        return "hosts"

    def cancel_watch(self, watch):
        self.cancelled.append(watch)

    def lease(self, ttl):
        return self

    def refresh(self):
        pass


class Launcher:
    def __init__(self, code):
        self.code, self.stopped = code, False

    def watch(self):
        return self.code

    def stop(self):
        self.stopped = True


@pytest.fixture
def make(monkeypatch):
    """A function that makes managers, on one etcd; the environment is as before afterwards."""
    for name in ("PADDLE_TRAINER_ID", "PADDLE_TRAINERS", "PADDLE_TRAINER_ENDPOINTS",
                 "DISTRIBUTED_TRAINER_ENDPOINTS"):  # fmt: skip
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("FLAGS_START_PORT", "6001")
    managers = []

    def make(np, ips, host="10.10.10.1"):
        class Arguments:
            elastic_server, job_id, scale, force = "127.0.0.1:2379", "job", None, None
            backend, nproc_per_node, gpus, elastic_pre_hook = "gloo", 1, None, None

        args = Arguments()
        args.np, args.ips, args.host = np, ips, host
        managers.append(ElasticManager(args, Etcd()))
        return managers[-1]

    yield make
    for manager in managers:
        manager.exit()


def ips(*numbers):
    return ",".join(f"10.10.10.{n}" for n in numbers)


@pytest.mark.parametrize(
    ("np", "level"), [("2", ElasticLevel.FAULT_TOLERANCE), ("2:4", ElasticLevel.ELASTIC)]
)
def test_a_range_of_hosts_makes_a_job_elastic(make, np, level):
    assert make(np, ips(0, 1)).elastic_level == level


def test_np_with_three_numbers_is_refused(make):
    with pytest.raises(ValueError, match="MIN:MAX"):
        make("1:2:3", ips(0))


def test_a_tolerant_job_runs_with_as_many_hosts_as_before(make):
    manager = make("2", ips(0, 1))
    assert manager._match(HOSTS[:2])
    assert not manager._match(HOSTS[:1])


def test_an_elastic_job_waits_for_more_than_the_least(make, monkeypatch):
    manager = make("2:4", ips(0, 1, 2))
    assert manager._match(HOSTS[:3])
    assert manager._match(HOSTS)
    assert not manager._match(HOSTS[:2])
    manager.elastic_timeout = -1
    assert manager._match(HOSTS[:2])
    assert not manager._match(HOSTS[:1])


def test_a_new_host_takes_the_place_of_its_rank(make, monkeypatch):
    manager = make("2", ips(0, 1), host="10.10.10.2")
    monkeypatch.setenv("PADDLE_TRAINER_ID", "0")
    manager.hosts = [HOSTS[1], HOSTS[2]]
    manager._update_hosts()
    assert manager.args.ips == ips(2, 1)


def test_hosts_that_come_are_put_behind(make, monkeypatch):
    manager = make("2:4", ips(0, 1), host="10.10.10.3")
    manager.hosts = [HOSTS[3], HOSTS[0], HOSTS[1]]
    manager._update_hosts()
    assert manager.args.ips == ips(0, 1, 3)
    assert manager.np == 3


def test_hosts_that_stay_keep_their_ranks(make):
    manager = make("2:4", ips(0, 1, 2, 3))
    manager.hosts = HOSTS[1:]
    manager._update_hosts()
    assert manager.args.ips == ips(3, 1, 2)
    value = manager.etcd.values[manager.endpoints_path].decode()
    assert value == f"{HOSTS[3]},{HOSTS[1]},{HOSTS[2]}|{ips(3, 1, 2)}"


def test_the_end_of_the_trainers_decides_how_the_run_ended(make):
    for code, status in ((0, ElasticStatus.COMPLETED), (1, ElasticStatus.RESTART)):
        manager = make("1", ips(1))
        manager.launcher = Launcher(code)
        assert manager.watch() == status
        assert manager.etcd.cancelled == ["hosts", "endpoints"]
        assert not manager.etcd.values
    manager = make("1", ips(1))
    manager.launcher = Launcher(ELASTIC_AUTO_PARALLEL_EXIT_CODE)
    assert manager.watch() == ElasticStatus.HOLD
    assert manager.launcher.stopped


def test_a_change_of_hosts_holds_the_run(make):
    manager = make("1", ips(1))
    manager.launcher = Launcher(None)
    manager.etcd.put(f"{manager.node_prefix}/other", HOSTS[2].encode())
    assert manager.watch() == ElasticStatus.HOLD
    assert manager.launcher.stopped


def test_without_a_server_there_is_no_elastic_job(make, monkeypatch):
    manager = make("1", ips(1))
    manager.args.elastic_server = None
    assert not elastic.enable_elastic(manager.args, elastic.DistributeMode.COLLECTIVE)
    manager.args.elastic_server = "127.0.0.1:1"
    assert elastic.enable_elastic(manager.args, elastic.DistributeMode.COLLECTIVE)


def test_a_launcher_reports_the_last_failure():
    class Process:
        def __init__(self, code):
            self.code, self.proc, self.rank = code, self, 0

        def poll(self):
            return self.code

    launcher = LauncherInterface(None)
    for codes, expected in (((0, None), None), ((0, 0), 0), ((3, None), 3), ((1, 102), 102)):
        launcher.procs = [Process(code) for code in codes]
        assert launcher._check_procs() == expected
