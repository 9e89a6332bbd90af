import threading
import time

import pytest

from argosy.foundation.errors import CollectiveTimeout, CommError
from argosy.runtime.comm.work import CommQueue, Work


@pytest.fixture
def queue():
    with CommQueue("test") as queue:
        yield queue


def thread_names() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


def test_sync_calls_run_in_the_caller(queue):
    assert queue.run(threading.current_thread) is threading.current_thread()
    assert queue.run(max, 3, 4) == 4
    assert "argosy-comm-test" not in thread_names()


def test_a_submitted_call_runs_in_the_queues_thread(queue):
    work = queue.submit(lambda a: (threading.current_thread().name, a), 7)
    assert work.wait(5) == ("argosy-comm-test", 7)
    assert work.wait() == ("argosy-comm-test", 7)
    assert work.is_completed()
    assert queue.num_pending == 0


def test_a_call_that_is_started_begins_in_the_caller_and_goes_on_in_the_thread(queue):
    seen = []
    work = queue.start(lambda: seen.append(threading.current_thread()), max, 3, 4)
    assert work.is_completed()
    assert seen == [threading.current_thread()]
    work = queue.start(lambda: threading.current_thread, max, 3, 4)
    assert work.wait(5).name == "argosy-comm-test"


def test_a_call_that_is_started_does_not_overtake_others(queue):
    gate, order = threading.Event(), []
    queue.submit(lambda: (gate.wait(5), order.append(0)))
    work = queue.start(lambda: order.append(-1), order.append, 1)
    assert not work.is_completed()
    gate.set()
    work.wait(5)
    assert order == [0, 1]


def _begun_elsewhere(queue, order, left):
    """Another thread that begins a call and stays in it until the event is set."""
    begun, go_on = threading.Event(), threading.Event()

    def begin():
        order.append("begin")
        begun.set()
        go_on.wait(5)
        return left

    thread = threading.Thread(target=queue.start, args=(begin, max, 3, 4))
    thread.start()
    assert begun.wait(5)
    return thread, go_on


@pytest.mark.parametrize("is_left", [True, False])
def test_nothing_comes_between_the_parts_of_a_call(queue, is_left):
    order = []
    left = (lambda: order.append("end")) if is_left else None
    thread, go_on = _begun_elsewhere(queue, order, left)
    others = [queue.submit(order.append, i) for i in range(2)]
    go_on.set()
    for work in others:
        work.wait(5)
    thread.join(5)
    assert order == ["begin", *(["end"] if is_left else []), 0, 1]
    assert queue.run(max, 3, 4) == 4
    assert queue.num_pending == 0


def test_a_call_may_be_started_by_who_is_called_back(queue):
    works = []
    first = queue.submit(max, 1, 2)
    first.on_done(lambda _: works.append(queue.start(lambda: None, max, 3, 4)))
    queue.run(max, 1, 2)
    assert [work.wait(5) for work in works] == [4]


def test_the_error_of_a_call_that_is_started_is_kept_for_who_waits(queue):
    work = queue.start(lambda: 1 // 0, max, 3, 4)
    with pytest.raises(ZeroDivisionError):
        work.wait()
    assert isinstance(work.error, ZeroDivisionError)
    assert queue.run(max, 3, 4) == 4


def test_order_is_kept_between_sync_and_async(queue):
    order = []
    gate = threading.Event()
    queue.submit(lambda: (gate.wait(5), order.append(0)))
    works = [queue.submit(order.append, i) for i in range(1, 4)]
    threading.Timer(0.02, gate.set).start()
    queue.run(order.append, 4)
    assert order == [0, 1, 2, 3, 4]
    assert all(work.is_completed() for work in works)


def test_a_sync_call_does_not_overtake_a_thread_that_is_slow_to_start():
    gate = threading.Event()

    class SlowQueue(CommQueue):
        def _serve(self) -> None:
            gate.wait(5)
            super()._serve()

    order = []
    with SlowQueue("slow") as queue:
        queue.submit(order.append, 0)
        threading.Timer(0.02, gate.set).start()
        queue.run(order.append, 1)
    assert order == [0, 1]


def test_calls_never_overlap(queue):
    running, overlaps = [], []

    def call():
        running.append(None)
        time.sleep(0.001)
        overlaps.append(len(running))
        running.pop()

    def many():
        for _ in range(10):
            queue.run(call)
            queue.submit(call)

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    queue.run(call)
    assert overlaps == [1] * 81


def test_errors_go_to_whoever_waits(queue):
    work = queue.submit(lambda: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            work.wait(5)
    assert isinstance(work.error, ZeroDivisionError)
    with pytest.raises(KeyError):
        queue.run({}.__getitem__, "missing")
    assert queue.run(int, "5") == 5


def test_a_wait_can_time_out_and_be_repeated(queue):
    gate = threading.Event()
    work = queue.submit(gate.wait, 5, what="all_reduce #3")
    with pytest.raises(CollectiveTimeout, match=r"all_reduce #3: not done within 0.01 s"):
        work.wait(0.01)
    assert not work.is_completed()
    gate.set()
    assert work.wait(5) is True


def test_close_gives_up_what_has_not_started_and_joins():
    queue = CommQueue("closing")
    gate, started = threading.Event(), threading.Event()
    running = queue.submit(lambda: (started.set(), gate.wait(5)))
    queued = queue.submit(int, what="barrier #2")
    assert started.wait(5)
    threading.Timer(0.02, gate.set).start()
    queue.close()
    assert running.is_completed()
    with pytest.raises(CommError, match="barrier #2: queue 'closing' was closed before it ran"):
        queued.wait(0)
    assert "argosy-comm-closing" not in thread_names()
    queue.close()
    with pytest.raises(CommError, match="is closed"):
        queue.submit(int)
    with pytest.raises(CommError, match="is closed"):
        queue.run(int)


def test_close_does_not_wait_for_ever(monkeypatch, caplog):
    monkeypatch.setattr("argosy.runtime.comm.work._CLOSE_S", 0.05)
    queue = CommQueue("stuck")
    gate, started = threading.Event(), threading.Event()
    queue.submit(lambda: (started.set(), gate.wait(5)))
    assert started.wait(5)
    queue.close()
    assert "queue 'stuck': its last call has not ended within 0.05 s" in caplog.text
    gate.set()
    queue.close()
    assert "argosy-comm-stuck" not in thread_names()


def test_completed_work():
    work = Work.completed(3)
    assert work.is_completed()
    assert work.wait(0) == 3


def test_an_idle_queue_keeps_nothing_alive(queue):
    import gc
    import weakref

    class Big:
        pass

    big = Big()
    ref = weakref.ref(big)
    queue.submit(id, big).wait(5)
    queue.submit(int).wait(5)  # the thread has let go of the call before
    del big
    gc.collect()
    assert ref() is None


def test_whoever_asks_is_called_back_once_before_or_after_the_end(queue):
    begin, told = threading.Event(), []
    work = queue.submit(begin.wait, 10)
    work.on_done(told.append)
    begin.set()
    work.wait()
    queue.submit(int).wait()  # after which the first has told
    work.on_done(told.append)
    assert told == [work, work]


def test_what_a_callback_asks_for_runs_before_the_rest(queue):
    begin, order = threading.Event(), []
    first = queue.submit(begin.wait, 10)
    last = queue.submit(order.append, "last")
    first.on_done(lambda _: queue.submit(order.append, "called back").wait())
    first.on_done(lambda _: queue.run(order.append, "again"))
    begin.set()
    last.wait()
    assert order == ["called back", "again", "last"]
