"""How many Python frames of argosy the hot paths enter, warm, between two real ranks.

Every frame costs about a tenth of a microsecond and a stop for whoever follows the call. The lists
are those of the fastest of many calls: there no rank was late.
"""

from __future__ import annotations

from collections import Counter

from support.job import run_job

HERE = "multiprocess.frame_workers"


def test_all_reduce(pool):
    for frames in run_job(pool, f"{HERE}:all_reduce", 2, deadline_s=60.0):
        assert len(frames) <= 9, "\n".join(frames)


def test_a_gradient_in_data_parallel(pool):
    few, many = (
        run_job(pool, f"{HERE}:backward", 2, num_params=n, deadline_s=60.0) for n in (4, 12)
    )
    for rank in range(2):
        extra = Counter(many[rank]) - Counter(few[rank])
        assert extra.total() <= 8 * 8, "\n".join(f"{n / 8:g} {what}" for what, n in extra.items())
