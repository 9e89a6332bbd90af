"""The collectives: one body per contract (``collectives.py``) over every backend and world size."""

from __future__ import annotations

import itertools

import pytest

from conformance import collectives

_names = (f"group-{i}" for i in itertools.count())

# Small buffers put every message through in pieces; the sizes of real jobs appear once per contract
# too.
PIECES = {"slot_bytes": 4096}
BACKENDS = [
    ("loopback", 1, {}),
    ("shm", 1, PIECES),
    ("shm", 2, {}),
    ("shm", 2, PIECES),
    ("shm", 3, PIECES),
    ("shm", 4, PIECES),
    ("gloo", 2, {}),
    ("gloo", 3, {}),
    ("gloo", 4, {}),
]


LARGE = {"big_tensors", "every_collective_of_large_tensors"}


def _label(value: object) -> str:
    return "pieces" if value == PIECES else ""


@pytest.mark.parametrize(
    ("kind", "world_size", "options"),
    [pytest.param(k, n, o, id=f"{k}-{n}{'-' if o else ''}{_label(o)}") for k, n, o in BACKENDS],
)
@pytest.mark.parametrize("contract", collectives.CONTRACTS)
def test_contract(pool, rendezvous, contract, kind, world_size, options):
    if contract in LARGE and options == PIECES:
        options = {"slot_bytes": 1 << 16}
    pool.run(
        "conformance.collectives:run",
        world_size,
        contract=contract,
        kind=kind,
        name=next(_names),
        rendezvous=rendezvous,
        **options,
    )


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("world_size", [2, 3, 4])
@pytest.mark.parametrize("contract", [*sorted(LARGE), "conjugated_and_negated_tensors"])
def test_both_ways_to_write_large_pieces(pool, rendezvous, contract, world_size, streams):
    pool.run(
        "conformance.collectives:run_in_one_way",
        world_size,
        contract=contract,
        name=next(_names),
        rendezvous=rendezvous,
        streams=streams,
    )


@pytest.mark.parametrize(("kind", "world_size"), [("loopback", 1), ("shm", 4), ("gloo", 3)])
def test_barrier_waits_for_everybody(pool, rendezvous, kind, world_size):
    pool.run(
        "conformance.collectives:barrier_waits",
        world_size,
        kind=kind,
        name=next(_names),
        rendezvous=rendezvous,
    )


@pytest.mark.parametrize(
    ("kind", "world_size"), [("loopback", 1), ("shm", 1), ("shm", 3), ("gloo", 2)]
)
def test_closed_group_refuses_calls(pool, rendezvous, kind, world_size):
    pool.run(
        "conformance.collectives:closed",
        world_size,
        kind=kind,
        name=next(_names),
        rendezvous=rendezvous,
    )


@pytest.mark.parametrize("kind", ["shm", "gloo"])
def test_close_ends_a_call_that_waits(pool, rendezvous, kind):
    messages = pool.run(
        "conformance.collectives:closed_under_way",
        2,
        kind=kind,
        name=next(_names),
        rendezvous=rendezvous,
    )
    assert "closed" in messages[0]


@pytest.mark.parametrize("kinds", [["shm"], ["gloo"], ["shm", "gloo"]], ids="+".join)
def test_overlapping_groups(pool, rendezvous, kinds):
    pool.run(
        "conformance.collectives:overlapping_groups",
        4,
        kinds=kinds,
        name=next(_names),
        rendezvous=rendezvous,
    )


SIDES = {
    "kinds": ("rank 0, 1: all_reduce #2 float32[3] SUM", "rank 2: barrier #2"),
    "counts": (
        "rank 0, 1: all_reduce #2 float32[1024] SUM",
        "rank 2: all_reduce #2 float32[1000] SUM",
    ),
    "dtypes": (
        "rank 0, 1: broadcast #2 float32[3] from rank 0",
        "rank 2: broadcast #2 int64[3] from rank 0",
    ),
    "operations": (
        "rank 0, 1: all_reduce #2 float32[3] SUM",
        "rank 2: all_reduce #2 float32[3] MAX",
    ),
    "roots": (
        "rank 0, 1: reduce #2 float32[3] SUM to rank 0",
        "rank 2: reduce #2 float32[3] SUM to rank 1",
    ),
    "sizes": (
        "rank 2 sends 3 elements to rank 0, which expects 2",
        "rank 2 sends 3 elements to rank 1",
    ),
}


# the host of each rank; the last rank, which calls something else, is alone, first and last on its
HOSTS = ("aab", "abb", "aba", "abc")


@pytest.mark.parametrize("case", SIDES)
@pytest.mark.parametrize(
    ("kind", "options"),
    [("shm", {}), ("gloo", {}), *[("hierarchical", {"hosts": hosts}) for hosts in HOSTS]],
    ids=["shm", "gloo", *HOSTS],
)
def test_mismatch_shows_both_sides(pool, rendezvous, kind, options, case):
    messages = pool.run(
        "conformance.collectives:mismatch",
        3,
        kind=kind,
        case=case,
        name=next(_names),
        rendezvous=rendezvous,
        **options,
    )
    assert len({message.splitlines()[1] for message in messages}) == 1
    for side in SIDES[case]:
        assert side in messages[0]


@pytest.mark.parametrize(
    ("kind", "options"),
    [("shm", {}), ("gloo", {}), ("hierarchical", {"hosts": "ab"})],
    ids=["shm", "gloo", "hosts"],
)
@pytest.mark.parametrize("count", [3, 5_000_000], ids=["small", "large"])
def test_messages_that_do_not_fit_are_refused(pool, rendezvous, kind, options, count):
    """Not written into memory of another dtype; the sender hears of it if it still sends."""
    sender, receiver = pool.run(
        "conformance.collectives:message_mismatch",
        2,
        kind=kind,
        count=count,
        name=next(_names),
        rendezvous=rendezvous,
        **options,
    )
    assert receiver == (
        f"recv from rank 0: rank 1 expects float64[{count}], but rank 0 sent float32[{count}]"
    )
    if kind != "shm":
        assert sender == ("nothing" if count == 3 else receiver)
