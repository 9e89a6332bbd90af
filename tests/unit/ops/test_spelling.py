"""Paddle's words for ops: what texts say, and that values come back as they were."""

import pytest
import torch

from argosy.foundation.errors import InternalError
from argosy.ops import table
from argosy.ops.spelling import parsed


def test_what_is_left_out_has_defaults():
    spelling = parsed("relu", ("x", "slope"))
    assert spelling.slot("x") == "X"
    assert spelling.written({"slope": 0.5}) == {"slope": 0.5}
    assert spelling.results(["y"]) == {"Out": ["y"]}


def test_a_text_has_slots_attributes_constants_and_results():
    text = "pool(Input, sizes/SizeTensor, -, kind='max', pads=[0, 0]) -> Y, MeanOut=mean, Mask"
    spelling = parsed(text, ("x", "size", "mean"))
    assert [spelling.slot(p) for p in ("x", "size", "mean")] == ["Input", "SizeTensor", ""]
    assert spelling.written({"size": 3}) == {"kind": "max", "pads": [0, 0], "sizes": 3}
    assert spelling.results(["a"]) == {"Y": ["a"]}
    assert spelling.changed == {"mean": "MeanOut"}
    assert spelling.fits({"kind": "max", "sizes": 3})
    assert not spelling.fits({"kind": "avg"})


@pytest.mark.parametrize("text", ["pool(X", "pool(X, a, b)", "pool(X:colour)"])
def test_a_text_that_cannot_be_is_refused(text):
    with pytest.raises(InternalError):
        parsed(text, ("x", "y"))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("sum", {"axis": None, "keepdim": False, "dtype": torch.int64}),
        ("max", {"axis": [0, 1], "keepdim": True}),
        ("conv2d", {"padding": [1, 2], "channel_last": True, "groups": 2, "stride": [1, 1]}),
        ("conv2d", {"padding": "SAME", "channel_last": False}),
        ("dropout", {"p": 0.25, "upscale": True}),
        ("split", {"num_or_sections": 3, "axis": 1}),
        ("split", {"num_or_sections": [1, 2], "axis": 1}),
        ("cast", {"dtype": torch.float16}),
    ],
)
def test_values_are_read_as_they_were_written(name, given):
    op = table.get(name)
    spelling = op.spelling(op.type)
    read = spelling.read(spelling.written(given))
    assert {key: read[key] for key in given} == given


def test_every_op_says_words_that_can_be_read():
    for name in table.names():
        op = table.get(name)
        for kind in {op.type, op.fluid_type, *op.types}:
            assert set(op.spelling(kind).words) == set(op.params), name
