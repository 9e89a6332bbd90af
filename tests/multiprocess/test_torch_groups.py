"""Process groups of torch.distributed that are not gloo's, and torch's own state, which stays
untouched.
"""

from __future__ import annotations

import itertools

import pytest

HERE = "multiprocess.pool_workers"

_names = (f"torch-{i}" for i in itertools.count())


@pytest.mark.parametrize("extended", [False, True])
def test_groups_that_others_registered(pool, rendezvous, extended):
    results = pool.run(
        f"{HERE}:registered",
        2,
        extended=extended,
        name=next(_names),
        rendezvous=rendezvous,
    )
    assert results == [3.0, 3.0]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("mpi", "needs a build of torch with MPI"), ("glooo", "Did you mean 'gloo'?")],
)
def test_what_is_not_there_lists_what_is(pool, rendezvous, kind, reason):
    (message,) = pool.run(f"{HERE}:unavailable", 1, kind=kind, rendezvous=rendezvous)
    assert f"backend {kind!r}" in message
    assert "available here: gloo" in message
    assert reason in message


def test_torchs_default_group_is_not_touched(pool, rendezvous):
    assert pool.run(f"{HERE}:default_group", 2, name=next(_names), rendezvous=rendezvous) == [
        False,
        False,
    ]
