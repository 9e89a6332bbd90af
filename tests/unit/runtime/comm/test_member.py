"""Ranks that run different versions are told apart when they join."""

from __future__ import annotations

from argosy.runtime.comm import member

SAME = {"argosy": "1.0", "torch": "2.13", "python": "3.11", "wire format": "3"}


def record(name: str, **changes: str) -> dict[str, object]:
    return {"host": name, "pid": 1, "name": name, "versions": SAME | changes}


def test_equal_versions_are_no_disagreement():
    assert member.disagreement([record("a"), record("b")]) == ""


def test_the_versions_that_differ_are_shown_with_ranks_and_hosts():
    members = [record("a"), record("a"), record("b", argosy="1.1", torch="2.14")]
    assert member.disagreement(members) == (
        "rank 0, 1 (on a): argosy 1.0, torch 2.13   rank 2 (on b): argosy 1.1, torch 2.14"
    )


def test_a_rank_whose_argosy_tells_no_versions_is_older():
    found = member.disagreement([record("a"), {"host": "b", "pid": 2}])
    assert found.endswith("rank 1 (on unknown): an older argosy")
    assert found.startswith("rank 0 (on a): argosy 1.0, ")


def test_a_process_describes_itself_as_it_is():
    told = member.describe_self("here", 7)
    assert (told["host"], told["pid"]) == ("here", 7)
    assert member.disagreement([told, told]) == ""
    assert all(part.isdigit() for part in told["versions"]["torch"].split("."))
