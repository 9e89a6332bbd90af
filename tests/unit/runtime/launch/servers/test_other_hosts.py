"""What a launcher learns of the other hosts of its job, and what it believes."""

from __future__ import annotations

import signal

import pytest

from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import bind_listener
from argosy.runtime.comm.store import StoreClient, StoreServer
from argosy.runtime.launch.hosts import Rendezvous
from argosy.runtime.launch.process_spec import ProcessSpec
from argosy.runtime.launch.roster import SERVER, WORKER, Member, Roster
from argosy.runtime.launch.servers import other_hosts
from argosy.runtime.launch.servers.other_hosts import OtherHosts, beat_key
from argosy.runtime.launch.supervisor import EndedElsewhere, Outcome

TOKEN = "0123456789abcdef"
MEMBERS = (Member(SERVER, 0, "a:1", host=0), Member(WORKER, 0, "b:2", host=1))


class Clock:
    """The time that the module sees."""

    def __init__(self):
        self.now_s = 100.0

    def monotonic(self):
        return self.now_s

    def sleep(self, seconds):
        self.now_s += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(other_hosts, "time", clock)
    return clock


@pytest.fixture
def store():
    with (
        StoreServer(bind_listener(), TOKEN) as server,
        StoreClient("127.0.0.1", server.port, TOKEN, Deadline.after(20)) as client,
    ):
        client.multi_set([beat_key(0), beat_key(1)], ["0", "0"])
        yield client


@pytest.fixture
def pair(store, clock):
    """The views of the two hosts of a job."""
    rendezvous = Rendezvous("a:9", TOKEN)
    return [OtherHosts(store, None, ["a", "b"], Roster(MEMBERS, rendezvous, n)) for n in range(2)]


def test_a_host_that_falls_silent_is_named_to_all(pair, clock):
    first, second = pair
    for _ in range(20):
        first.check()
        second.check()
        clock.now_s += 1
    for _ in range(14):
        first.check()
        clock.now_s += 1
    clock.now_s += 2
    words = r"the host b \(worker 0\) is lost: nothing was heard from its launcher for 15 s"
    with pytest.raises(EndedElsewhere, match=words):
        first.check()
    with pytest.raises(EndedElsewhere, match=words) as caught:
        second.check()
    assert caught.value.exit_code == 1


def test_who_was_stopped_itself_blames_nobody(pair, clock):
    first, second = pair
    first.check()
    second.check()
    clock.now_s += 100  # this launcher was suspended; the other was, too, or its beats were unheard
    first.check()
    clock.now_s += 1
    first.check()


def test_a_host_that_is_done_may_be_silent(pair, clock):
    first, second = pair
    second.tell(Outcome())
    for _ in range(40):
        first.check()
        clock.now_s += 1


def test_workers_are_done_when_they_are_everywhere(pair):
    first, second = pair
    assert not first.are_workers_done()
    assert second.are_workers_done()
    assert first.are_workers_done()
    assert not first.are_done()
    assert second.are_done()


def test_the_first_failure_is_told_with_its_exit_code(pair, clock):
    first, second = pair
    failed = ProcessSpec(member=MEMBERS[1], argv=(), environment={})
    second.tell(Outcome(failed, 7))
    first.tell(Outcome(exit_code=-15))
    with pytest.raises(EndedElsewhere, match="worker 0 on b exited with code 7") as caught:
        first.check()
    assert caught.value.exit_code == 7


def test_a_signal_to_a_launcher_ends_the_others_as_it(pair):
    first, second = pair
    second.tell(Outcome(exit_code=-15))
    with pytest.raises(EndedElsewhere, match="the launcher on b was killed by SIGTERM") as caught:
        first.check()
    assert caught.value.exit_code == 143


def test_a_request_reaches_all_if_somebody_can_save(pair, clock):
    first, second = pair
    assert not first.ask(signal.SIGTERM)
    second.can_save(signal.SIGTERM)
    assert not first.ask(signal.SIGUSR1)
    assert first.ask(signal.SIGTERM)
    assert (first.check(), second.check()) == (signal.SIGTERM, signal.SIGTERM)
    assert not first.is_requeued()
    second.requeue()
    assert first.is_requeued()


@pytest.mark.attack("a member of a server job asks for something else")
@pytest.mark.parametrize("value", ["9", "", "fifteen", "15 ", "-1"])
def test_a_request_of_another_form_is_refused(pair, store, value):
    store.set("argosy/servers/asked", value)
    with pytest.raises(EndedElsewhere, match="something that is not a request"):
        pair[0].check()


@pytest.mark.attack("a member of a server job announces an end that is none")
@pytest.mark.parametrize("value", ["{", "[]", '[0, 1, "a\\u001b[2J", ""]', '[-1, 9999, "a", ""]'])
def test_an_announcement_of_another_form_is_refused(pair, store, value):
    store.set("argosy/servers/failed", value)
    with pytest.raises(EndedElsewhere, match="'argosy/servers/failed'; it is refused") as caught:
        pair[0].check()
    assert caught.value.exit_code == 1


def test_the_end_of_the_store_is_the_end_of_the_job(pair, store):
    store.close()
    with pytest.raises(EndedElsewhere, match="lost the other hosts"):
        pair[0].check()
    pair[0].tell(Outcome(exit_code=-15))  # nobody hears it
