import threading
import time

import pytest

from argosy.foundation.errors import CollectiveTimeout, CommError
from argosy.runtime.comm.work import Lane, Work


@pytest.fixture
def lane():
    with Lane("test") as lane:
        yield lane


def thread_names() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


def test_sync_calls_run_in_the_caller(lane):
    assert lane.run(threading.current_thread) is threading.current_thread()
    assert lane.run(max, 3, 4) == 4
    assert "argosy-lane-test" not in thread_names()


def test_a_submitted_call_runs_in_the_lanes_thread(lane):
    work = lane.submit(lambda a: (threading.current_thread().name, a), 7)
    assert work.wait(5) == ("argosy-lane-test", 7)
    assert work.wait() == ("argosy-lane-test", 7)
    assert work.is_completed()
    assert lane.num_pending == 0


def test_order_is_kept_between_sync_and_async(lane):
    order = []
    gate = threading.Event()
    lane.submit(lambda: (gate.wait(5), order.append(0)))
    works = [lane.submit(order.append, i) for i in range(1, 4)]
    threading.Timer(0.02, gate.set).start()
    lane.run(order.append, 4)
    assert order == [0, 1, 2, 3, 4]
    assert all(work.is_completed() for work in works)


def test_a_sync_call_does_not_overtake_a_thread_that_is_slow_to_start():
    gate = threading.Event()

    class SlowLane(Lane):
        def _serve(self) -> None:
            gate.wait(5)
            super()._serve()

    order = []
    with SlowLane("slow") as lane:
        lane.submit(order.append, 0)
        threading.Timer(0.02, gate.set).start()
        lane.run(order.append, 1)
    assert order == [0, 1]


def test_calls_never_overlap(lane):
    running, overlaps = [], []

    def call():
        running.append(None)
        time.sleep(0.001)
        overlaps.append(len(running))
        running.pop()

    def many():
        for _ in range(10):
            lane.run(call)
            lane.submit(call)

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lane.run(call)
    assert overlaps == [1] * 81


def test_errors_go_to_whoever_waits(lane):
    work = lane.submit(lambda: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            work.wait(5)
    assert isinstance(work.error, ZeroDivisionError)
    with pytest.raises(KeyError):
        lane.run({}.__getitem__, "missing")
    assert lane.run(int, "5") == 5


def test_a_wait_can_time_out_and_be_repeated(lane):
    gate = threading.Event()
    work = lane.submit(gate.wait, 5, what="all_reduce #3")
    with pytest.raises(CollectiveTimeout, match=r"all_reduce #3: not done within 0.01 s"):
        work.wait(0.01)
    assert not work.is_completed()
    gate.set()
    assert work.wait(5) is True


def test_close_gives_up_what_has_not_started_and_joins():
    lane = Lane("closing")
    gate, started = threading.Event(), threading.Event()
    running = lane.submit(lambda: (started.set(), gate.wait(5)))
    queued = lane.submit(int, what="barrier #2")
    assert started.wait(5)
    threading.Timer(0.02, gate.set).start()
    lane.close()
    assert running.is_completed()
    with pytest.raises(CommError, match="barrier #2: lane 'closing' was closed before it ran"):
        queued.wait(0)
    assert "argosy-lane-closing" not in thread_names()
    lane.close()
    with pytest.raises(CommError, match="is closed"):
        lane.submit(int)
    with pytest.raises(CommError, match="is closed"):
        lane.run(int)


def test_close_does_not_wait_for_ever(monkeypatch, caplog):
    monkeypatch.setattr("argosy.runtime.comm.work._CLOSE_S", 0.05)
    lane = Lane("stuck")
    gate, started = threading.Event(), threading.Event()
    lane.submit(lambda: (started.set(), gate.wait(5)))
    assert started.wait(5)
    lane.close()
    assert "lane 'stuck': its last call has not ended within 0.05 s" in caplog.text
    gate.set()
    lane.close()
    assert "argosy-lane-stuck" not in thread_names()


def test_completed_work():
    work = Work.completed(3)
    assert work.is_completed()
    assert work.wait(0) == 3


def test_an_idle_lane_keeps_nothing_alive(lane):
    import gc
    import weakref

    class Big:
        pass

    big = Big()
    ref = weakref.ref(big)
    lane.submit(id, big).wait(5)
    lane.submit(int).wait(5)  # the thread has let go of the call before
    del big
    gc.collect()
    assert ref() is None
