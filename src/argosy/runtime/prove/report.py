"""A proof, and its stages, in words. Pure."""

from __future__ import annotations

from rich.table import Table

from argosy.runtime.prove.proof import Proof, Stage, Verdict


def stage(now: Stage) -> str:
    """How a run is going."""
    done = f"{now.told.num_steps} steps"
    if now.num_steps:
        done += f" of {now.num_steps}, those done again included"
    return (
        f"prove: {now.name}: {done}, {_came(now)}" if now.faults else f"prove: {now.name}: {done}"
    )


def _came(now: Stage) -> str:
    return f"{len(now.told.fired)} of {len(now.faults)} faults"


def faults_of(now: Stage, num_said: int) -> list[str]:
    """Sentences about the faults that have come since ``num_said`` of them."""
    by_number = {fault.number: fault for fault in now.faults}
    said = []
    for fired in now.told.fired[num_said:]:
        fault = by_number[fired.number]
        where = "at the start" if not fault.step else f"in step {fault.step} of {fault.watcher}"
        said.append(f"prove: fault {fault.number}: {fault.what} {where} ({fault.place})")
    return said


def table(proof: Proof) -> Table:
    """The faults that came."""
    shown = Table("fault", "what", "phase", "step", "seconds to recover", "went on at", "result")
    for row in proof.rows:
        fault = row.fault
        shown.add_row(
            str(fault.number),
            fault.what,
            fault.phase,
            str(fault.step or "-"),
            "-" if row.recovered_s is None else f"{row.recovered_s:.2f}",
            "-" if row.went_on_at is None else f"step {row.went_on_at}",
            "same" if row.is_same else "DIFFERS",
        )
    return shown


def verdict(proof: Proof, seed: int) -> str:
    """The result, in a sentence or two."""
    if proof.verdict is Verdict.NOT_DETERMINISTIC:
        return (
            "NOT DETERMINISTIC: two undisturbed runs differ, so faults cannot be judged. The first "
            f"difference is in {proof.difference}"
        )
    if proof.verdict is Verdict.FAIL:
        return f"FAIL (seed {seed}): the first difference is in {proof.difference}"
    lives = [life for life in proof.whole.values() if life.records]
    steps = sum(len(life.records) for life in lives)
    tensors = sum(len(life.records[-1].values) for life in lives)
    tensors += sum(len(life.end_values or ()) for life in proof.whole.values() if not life.records)
    batches = sum(len(record.batches) for life in lives for record in life.records)
    losses = sum(len(record.results) for life in lives for record in life.records)
    seen = f"{tensors} tensors, {losses} losses" + (f" and {batches} batches" if batches else "")
    text = (
        f"PASS (seed {seed}): {_count(len(proof.rows), 'fault')}, {steps} steps of "
        f"{_count(len(lives), 'process')} with {seen}: bit for bit as undisturbed"
    )
    if not batches:
        text += ". No loader was seen: that each sample came once follows from the parameters"
    if proof.not_come:
        text += (
            f". {_count(len(proof.not_come), 'fault')} did not come: the job was not there again"
        )
    return text


def _count(number: int, what: str) -> str:
    plural = what + ("es" if what.endswith("s") else "s")
    return f"{number} {what if number == 1 else plural}"
