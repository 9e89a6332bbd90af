"""What ``argosy prove`` says."""

from __future__ import annotations

import io
import signal

from rich.console import Console

from argosy.runtime.prove import report
from argosy.runtime.prove.comparison import Difference
from argosy.runtime.prove.faults import Fired
from argosy.runtime.prove.plan import START, Fault
from argosy.runtime.prove.proof import Proof, Row, Stage, Verdict
from argosy.runtime.prove.records import Life, Record
from argosy.runtime.prove.run import Told

FAULTS = [
    Fault(number=1, victim="rank 1", watcher="rank 1", step=7, place="checkpoint.rename"),
    Fault(
        number=2, victim="launcher", watcher="rank 0", step=0, place=START, signal=signal.SIGTERM
    ),
]
STEP = Record(values={"w": "a", "b": "c"}, results=["loss"], batches=["x", "y"])
WHOLE = {
    "rank 0": Life(label="rank 0", pid=1, began_s=0.0, records=[STEP] * 9),
    "server 0": Life(label="server 0", pid=2, began_s=0.0, end_values={"table": "d"}),
}
ROWS = [Row(FAULTS[0], 1.234, 5, True), Row(FAULTS[1], None, None, False)]


def proof(verdict, **fields):
    return Proof(verdict=verdict, whole=WHOLE, whole_s=2.0, rows=ROWS, **fields)


def test_faults_are_told_as_they_come():
    now = Stage(name="disturbed 1", num_steps=18, faults=FAULTS, told=Told(9, [Fired(1, 3.0)]))
    assert report.faults_of(now, 0) == [
        "prove: fault 1: SIGKILL to rank 1 in step 7 of rank 1 (checkpoint.rename)"
    ]
    now = Stage(name="x", num_steps=0, faults=FAULTS, told=Told(9, [Fired(1, 3.0), Fired(2, 4.0)]))
    assert report.faults_of(now, 1) == [
        "prove: fault 2: SIGTERM to launcher at the start (start-up)"
    ]
    assert report.stage(now) == "prove: x: 9 steps, 2 of 2 faults"


def test_the_table_has_a_row_for_each_fault():
    shown = io.StringIO()
    Console(file=shown, width=120).print(report.table(proof(Verdict.FAIL)))
    first, second = [line for line in shown.getvalue().splitlines() if "SIG" in line]
    assert [cell.strip() for cell in first.strip("│").split("│")] == [
        "1", "SIGKILL to rank 1", "checkpoint", "7", "1.23", "step 5", "same",
    ]  # fmt: skip
    assert [cell.strip() for cell in second.strip("│").split("│")] == [
        "2", "SIGTERM to launcher", "start-up", "-", "-", "-", "DIFFERS",
    ]  # fmt: skip


def test_a_pass_says_what_was_compared():
    assert report.verdict(proof(Verdict.PASS), 3) == (
        "PASS (seed 3): 2 faults, 9 steps of 1 process with 3 tensors, 9 losses and 18 batches: "
        "bit for bit as undisturbed"
    )
    assert "1 fault did not come" in report.verdict(proof(Verdict.PASS, not_come=FAULTS[1:]), 3)


def test_a_difference_is_told_with_its_place():
    bad = Difference("rank 1", 7, "tensor 'w' differs", told=107)
    assert report.verdict(proof(Verdict.FAIL, difference=bad), 3) == (
        "FAIL (seed 3): the first difference is in step 7 (the script calls it 107), rank 1: "
        "tensor 'w' differs"
    )
    assert report.verdict(proof(Verdict.NOT_DETERMINISTIC, difference=bad), 3).startswith(
        "NOT DETERMINISTIC: two undisturbed runs differ"
    )
