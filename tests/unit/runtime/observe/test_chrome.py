"""Files of traces: what is in them, arrows over ranks, clocks of hosts, damaged files."""

from __future__ import annotations

import json

import pytest

from argosy.foundation.errors import CheckpointError
from argosy.foundation.trace import KEY, PUBLISHED, REDUCED, STEPS, Event
from argosy.jobs import trace as command
from argosy.runtime.observe import chrome, parts
from support.traces import checked, spans_of


def process(label, clock="one", **more):
    return chrome.Process(label=label, os_pid=7, host=f"host of {clock}", clock=clock, **more)


def bucket(what, key, began_ns):
    return Event(f"{what} bucket", what, 11, began_ns, began_ns + 500, {KEY: key})


def rank(number, at_ns, clock="one", **more):
    """A rank that publishes and reduces a bucket in a step."""
    events = [
        bucket(PUBLISHED, "world/0/1", at_ns + 1000),
        bucket(REDUCED, "world/0/1", at_ns + 3000),
        Event("step 1", "step", STEPS, at_ns, at_ns + 9000, {"loss": 0.5}),
    ]
    return chrome.of_process(process(f"rank {number}", clock, **more), events, {11: "MainThread"})


def written(tmp_path, trace):
    chrome.write(tmp_path / "trace.json", trace)
    return checked(tmp_path / "trace.json")


def arrows(trace):
    starts = {e["id"]: e["pid"] for e in trace["traceEvents"] if e["ph"] == "s"}
    return sorted((starts[e["id"]], e["pid"]) for e in trace["traceEvents"] if e["ph"] == "f")


def test_a_process_has_names_spans_and_its_own_arrows(tmp_path):
    trace = written(tmp_path, rank(3, 10_000))
    (step,) = spans_of(trace, 3, "step")
    assert (step["ts"], step["dur"], step["args"]) == (10.0, 9.0, {"loss": 0.5})
    names = {
        event["name"]: event["args"]["name"]
        for event in trace["traceEvents"]
        if event["name"] == "process_name" or (event["ph"] == "M" and event["tid"] == 11)
    }
    assert names == {"process_name": "rank 3", "thread_name": "MainThread"}
    assert arrows(trace) == [(3, 3)]


def test_arrows_lead_from_every_rank_to_every_reduction(tmp_path):
    whole = chrome.join([rank(0, 0), rank(1, 200)])
    trace = written(tmp_path, whole)
    assert arrows(trace) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    again = chrome.join([whole, rank(2, 300)], missing=["rank 3"])
    assert len(arrows(written(tmp_path, again))) == 9
    assert again["otherData"]["missing"] == ["rank 3"]


def test_of_many_ranks_the_last_that_published_is_shown(tmp_path):
    trace = written(tmp_path, chrome.join([rank(r, 10 * r) for r in range(9)]))
    assert arrows(trace) == [(8, r) for r in range(9)]


def test_servers_stand_behind_the_ranks():
    assert process("rank 5").pid == 5
    assert process("worker 5").pid == 5
    assert process("server 5").pid == chrome.SERVERS + 5


def test_clocks_of_hosts_are_aligned_or_said_not_to_be(tmp_path):
    first = rank(0, 1_000_000, offset_us=0.0)
    known = rank(1, 0, "two", offset_us=1000.0, error_us=3.0)
    trace = written(tmp_path, chrome.join([first, known]))
    assert [step["ts"] for step in spans_of(trace, 1, "step")] == [1000.0]
    assert [each["is_aligned"] for each in trace["otherData"]["clocks"]] == [True, True]
    assert trace["otherData"]["clocks"][1]["error_us"] == 3.0
    unknown = chrome.join([first, rank(1, 0, "two")])["otherData"]["clocks"]
    assert [each["is_aligned"] for each in unknown] == [True, False]


def test_parts_become_one_file_and_go(tmp_path):
    folder = tmp_path / "parts"
    for number in (0, 1):
        chrome.write(folder / f"rank-{number}-7.json", rank(number, 0))
    target = tmp_path / "whole.json"
    assert parts.join(folder, ["rank 0", "rank 1", "rank 2"], target) == ["rank 2"]
    assert not folder.exists()
    trace = checked(target)
    assert [each["label"] for each in trace["otherData"]["processes"]] == ["rank 0", "rank 1"]
    assert parts.said(target, ["rank 2"]).endswith("whole.json, without rank 2")
    assert "recorded nothing" in parts.said(tmp_path / "none", ["rank 2"])


def test_files_are_joined_by_hand(tmp_path, capsys):
    for number in (0, 1):
        chrome.write(tmp_path / f"{number}.json", rank(number, 0))
    names = [str(tmp_path / f"{number}.json") for number in (0, 1)]
    out = tmp_path / "all.json"
    assert command.main(["--join", *names, "--output", str(out)]) == 0
    assert capsys.readouterr().out.strip() == str(out)
    assert len(arrows(checked(out))) == 4
    out.write_text("[]")
    assert command.main(["--join", str(out)]) == 1
    assert "not a trace of argosy" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"traceEvents": [], "otherData": {"processes": [{}]}}', "[" * 9999]
)
def test_a_damaged_part_is_named(tmp_path, content):
    (tmp_path / "rank-0-1.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"rank-0-1\.json"):
        parts.join(tmp_path, [], tmp_path / "out")


def test_what_is_not_a_number_is_never_written(tmp_path):
    events = [Event("step 1", "step", STEPS, 0, 1, {"loss": float("inf")})]
    trace = chrome.of_process(process("rank 0"), events, {})
    chrome.write(tmp_path / "trace.json", trace)
    text = (tmp_path / "trace.json").read_text()
    json.loads(text, parse_constant=pytest.fail)
