"""What processes that load data do, called by scripts with processes of their own."""

import multiprocessing
import queue
import signal

import numpy as np
import pytest

from argosy import io
from argosy.fluid import reader
from argosy.fluid.reader import CleanupFuncRegistrar, _cleanup, multiprocess_queue_set
from argosy.foundation import process_state
from argosy.io.dataloader.worker import _generate_states, _worker_loop


@pytest.fixture(autouse=True)
def handlers():
    """The handlers of signals are as before after each test."""
    kept = {s: signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGUSR1)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


def test_a_reader_process_puts_tensors_and_none_at_the_end():
    batches = queue.Queue()
    reader._reader_process_loop(lambda: iter([(np.ones((2, 3)), [1, 2])]), batches)
    first, second = batches.get()
    assert (first.shape, second.tolist(), batches.get()) == ([2, 3], [1, 2], None)
    with pytest.raises(ValueError, match="gave None"):
        reader._reader_process_loop(lambda: iter([None]), batches)


def test_a_loader_of_1_x_reads_into_the_queue_that_it_is_given():
    loader = reader.DataLoader.from_generator(capacity=2, use_multiprocess=True)
    with pytest.raises(AssertionError, match="needs a source"):
        loader._reader_process_loop()
    loader.set_batch_generator(lambda: iter([[np.ones((2, 3))]]))
    loader._data_queue = queue.Queue()
    loader._reader_process_loop()
    assert [t.shape for t in loader._data_queue.get()] == [[2, 3]]
    assert loader._data_queue.get() is None


def test_a_script_may_be_a_worker_of_a_pass_until_the_pass_is_over():
    indices = multiprocessing.Queue()
    for item in ((7, [0, 2]), None, None):
        indices.put(item)
    batches = iter(io.DataLoader([np.ones(2) * i for i in range(4)], num_workers=1))
    queues, done = (indices, multiprocessing.Queue()), batches._workers_done_event
    assert batches._data_queue is not None
    work = (batches._dataset, *queues, done, np.stack, None, 0)

    def code():
        worker = multiprocessing.get_context("fork").Process(target=batches._worker_loop, args=work)
        worker.start()
        worker.join()
        return worker.exitcode

    assert code() == 1  # the end of work, but not of the pass
    done.set()
    assert code() == 0
    batches.close()


def test_switches_of_loaders_take_one_bool():
    assert (reader.use_pinned_memory(), reader.keep_data_loader_order()) == (None, True)
    reader.use_pinned_memory(False)
    assert reader.use_pinned_memory() is False
    with pytest.raises(AssertionError, match="one bool"):
        reader.use_pinned_memory(1)
    process_state.reset(["pinned memory of loaders"])


def test_queues_are_emptied():
    waiting = queue.Queue()
    waiting.put(1)
    multiprocess_queue_set.add(waiting)
    _cleanup()
    assert waiting.empty()
    assert not multiprocess_queue_set


def test_a_function_runs_before_a_signal_ends_the_process():
    ran = []
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    CleanupFuncRegistrar.register(lambda: ran.append(1), [signal.SIGUSR1])
    with pytest.raises(SystemExit):
        signal.raise_signal(signal.SIGUSR1)
    assert ran == [1]
    with pytest.raises(TypeError, match="is not callable"):
        CleanupFuncRegistrar.register(5)


def test_states_of_workers_are_paddles():
    assert _generate_states(2**40 + 5, 3) == [3453014069, 1603536151, 2410470037, 3509082754]


def test_a_worker_collates_the_samples_it_is_told():
    context = multiprocessing.get_context("fork")
    indices, out, done = context.Queue(), context.Queue(), context.Event()
    worker = context.Process(
        target=_worker_loop,
        args=(list(range(9)), 0, indices, out, done, True, np.stack, True, out.put, 2, 3, False, 5),
    )
    worker.start()
    indices.put((0, [3, 4]))
    worker_id = out.get(timeout=60)  # the function that starts it puts it there
    number, batch = out.get(timeout=60)
    done.set()
    indices.put(None)
    worker.join(60)
    assert (worker_id, number, batch.tolist(), worker.exitcode) == (2, 0, [3, 4], 0)
