from argosy.runtime.comm.backends.shm.patience import patience_s

LARGE = 20 << 20


def test_with_a_core_to_spare_another_thread_does_it():
    assert patience_s(LARGE, world_size=2, num_threads=1, num_cores=3) == 0
    assert patience_s(LARGE, world_size=2, num_threads=2, num_cores=5) == 0


def test_on_full_cores_it_waits_as_long_as_the_sum_takes():
    assert 1e-3 < patience_s(LARGE, world_size=2, num_threads=1, num_cores=2) < 10e-3
    assert patience_s(LARGE, 3, 1, 2) == patience_s(LARGE, 2, 2, 4) == patience_s(LARGE, 2, 1, 2)
    assert patience_s(2 * LARGE, 2, 1, 2) == 2 * patience_s(LARGE, 2, 1, 2)


def test_it_never_waits_for_long():
    assert patience_s(1 << 40, 2, 1, 2) == 0.05


def test_small_sums_do_not_wait():
    assert patience_s(1 << 10, world_size=2, num_threads=1, num_cores=2) == 0
