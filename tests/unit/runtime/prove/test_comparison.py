"""Two runs compared: lives of a process against its undisturbed course."""

from __future__ import annotations

import dataclasses

import pytest

from argosy.runtime.prove.comparison import compare, start_of
from argosy.runtime.prove.records import Life, Record

NUM_STEPS = 10


def step(number, tells=False, **changes):
    """The ``number``-th step (from 1 on): everything in it names it."""
    found = {
        "told": number + 100 if tells else None,
        "batches": [f"batch {number}"],
        "results": [f"loss {number}"],
        "values": {"weight": f"weight {number}", "bias": f"bias {number}"},
    }
    return Record(**(found | changes))


def life(first, last, label="rank 0", end=None, tells=False):
    records = [step(number, tells) for number in range(first, last + 1)]
    return Life(label=label, pid=1, began_s=0.0, records=records, end_values=end)


def changed(whole, number, **changes):
    """The same life with another ``number``-th record."""
    records = list(whole.records)
    records[number] = dataclasses.replace(records[number], **changes)
    return dataclasses.replace(whole, records=records)


WHOLE = {"rank 0": life(1, NUM_STEPS, end={"weight": "last"})}


def first_of(*lives, whole=WHOLE):
    return compare(whole, {"rank 0": lives}).first


def test_lives_that_repeat_some_steps_are_the_same():
    lives = [life(1, 4), life(1, 0), life(3, 8), life(8, NUM_STEPS, end={"weight": "last"})]
    found = compare(WHOLE, {"rank 0": lives})
    assert found.first is None
    assert found.starts == {"rank 0": [1, None, 3, 8]}


def test_a_last_life_that_has_nothing_left_to_do():
    assert first_of(life(1, NUM_STEPS), life(1, 0)) is None


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"batches": ["another"]}, "samples differ"),
        ({"results": ["another"]}, "loss differs"),
        ({"loss": (0.25).hex()}, "loss differs: none undisturbed, 0.25 here"),
        ({"values": {"weight": "weight 6", "bias": "another"}}, "tensor 'bias' differs"),
        ({"values": {"weight": "x", "bias": "y"}}, "tensor 'weight' differs, and 1 more"),
        ({"values": {"weight": "weight 6"}}, "tensor 'bias' is not there"),
    ],
)
def test_the_first_difference_is_named(changes, what):
    bad = changed(life(4, NUM_STEPS), 2, **changes)
    found = first_of(life(1, 5), bad)
    assert found is not None
    assert (found.step, found.label, found.what, found.life) == (6, "rank 0", what, 1)
    assert str(found) == f"step 6, rank 0: {what}"


def test_samples_are_blamed_before_what_follows_from_them():
    bad = changed(life(1, NUM_STEPS), 3, batches=["x"], results=["y"], values={"weight": "z"})
    assert "samples" in str(first_of(bad))


def test_a_step_that_is_left_out():
    found = first_of(life(1, 3), life(6, NUM_STEPS))
    assert str(found) == "step 4, rank 0: it was left out: the job went on with step 6"
    assert not found.is_left_over


def test_a_run_that_found_the_files_of_another():
    assert first_of(life(5, NUM_STEPS)).is_left_over
    assert first_of(life(1, 0)).is_left_over
    assert compare(WHOLE, {}).first.is_left_over


def test_a_job_that_ends_early_or_late():
    assert "ended before this step" in str(first_of(life(1, 8)))
    late = life(1, NUM_STEPS + 1, end={"weight": "last"})
    assert "undisturbed the job ends after 10 steps" in str(first_of(late))


def test_the_end_counts_too():
    found = first_of(life(1, NUM_STEPS, end={"weight": "another"}))
    assert str(found) == "the end, rank 0: tensor 'weight' differs"


def test_servers_are_judged_by_their_end():
    whole = {**WHOLE, "server 0": life(1, 0, "server 0", {"table a": "x"})}
    good = {"rank 0": [WHOLE["rank 0"]], "server 0": [life(1, 0, "server 0", {"table a": "x"})]}
    assert compare(whole, good).first is None
    bad = {**good, "server 0": [life(1, 0, "server 0", {"table a": "y"})]}
    assert str(compare(whole, bad).first) == "the end, server 0: tensor 'table a' differs"
    unseen = {**good, "server 0": [life(1, 0, "server 0")]}
    assert "was not seen" in str(compare(whole, unseen).first)


def test_the_end_of_an_earlier_start_does_not_count():
    """A server of a job that has saved and left has shown what it had then."""
    whole = {"server 0": life(1, 0, "server 0", {"table a": "x"})}
    lives = [
        dataclasses.replace(life(1, 0, "server 0", {"table a": "y"}), began_s=1.0),
        dataclasses.replace(life(1, 0, "server 0", {"table a": "x"}), began_s=3.0),
        dataclasses.replace(life(1, 0, "server 0"), began_s=4.0),  # was ended, had nothing to do
    ]
    assert compare(whole, {"server 0": lives}, 2.0).first is None
    assert "differs" in str(compare(whole, {"server 0": lives[:1]}, 1.0).first)
    assert "was not seen" in str(compare(whole, {"server 0": lives[:1]}, 2.0).first)


def test_a_first_step_may_have_looked_for_its_place():
    """Batches that were skipped, a half of merged gradients that the checkpoint had."""
    whole = {
        "rank 0": changed(WHOLE["rank 0"], 4, batches=["test", "batch 5"], results=["0", "loss 5"])
    }
    lives = [life(1, 4), changed(life(5, NUM_STEPS), 0, batches=["batch 4", "batch 5"])]
    assert first_of(*lives, whole=whole).what == "samples differ"
    lives[1] = changed(life(5, NUM_STEPS, end={"weight": "last"}), 0, results=["loss 5"])
    assert first_of(*lives, whole=whole) is None
    again = changed(life(1, NUM_STEPS), 4, batches=["batch 5"], results=["0", "loss 5"])
    assert first_of(again, whole=whole).what == "samples differ"


def test_the_number_that_a_script_tells_says_where_it_is():
    whole = {"rank 0": life(1, NUM_STEPS, tells=True)}
    bad = changed(life(6, NUM_STEPS, tells=True), 0, told=104, values={"weight": "x"})
    found = first_of(life(1, 6, tells=True), bad, whole=whole)
    assert str(found).startswith("step 4 (the script calls it 104), rank 0: samples differ")


def test_without_a_number_what_speaks_for_a_step_counts():
    whole = list(WHOLE["rank 0"].records)
    lost = step(6, values={"weight": "x", "bias": "y"})
    assert start_of([lost], whole, reached=8) == 5
    nothing = step(6, batches=[], results=[], values={"weight": "x"})
    assert start_of([nothing], whole, reached=8) == 8


def test_a_state_that_does_not_change():
    """A rate of 0, say: the same values in many steps."""
    same = {"weight": "w", "bias": "b"}
    whole = [step(number, values=same) for number in range(1, 8)] + [step(8), step(9)]
    assert start_of([step(3, values=same), step(4, values=same)], whole, reached=4) == 4
    assert start_of([step(7, values=same), step(8)], whole, reached=7) == 6
