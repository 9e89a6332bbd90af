import itertools

import pytest

from argosy.runtime.comm.backends.shm.layout import CONTROL_BYTES, MAIL_DATA, PAGE, Layout


@pytest.mark.parametrize("world_size", [1, 2, 3, 17])
@pytest.mark.parametrize("slot_bytes", [64, 4096, 1 << 20])
def test_nothing_overlaps_and_everything_is_inside(world_size, slot_bytes):
    places = Layout(world_size=world_size, slot_bytes=slot_bytes, mail_bytes=1000)
    ranks = range(world_size)
    regions = [(places.control(r), CONTROL_BYTES) for r in ranks]
    regions += [(places.slot(r, parity), slot_bytes) for r in ranks for parity in (0, 1)]
    regions += [(places.mailbox(s, r), MAIL_DATA) for s in ranks for r in ranks]
    regions += [
        (places.mail_buffer(s, r, parity), 1000) for s in ranks for r in ranks for parity in (0, 1)
    ]
    regions.sort()
    for (start, size), (following, _) in itertools.pairwise(regions):
        assert start + size <= following
    assert sum(regions[-1]) <= places.total_bytes
    assert places.data_offset % PAGE == 0
