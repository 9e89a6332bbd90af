"""Data generators: samples to lines, and what they refuse."""

from __future__ import annotations

import io
import sys

import pytest

import paddle
import paddle.distributed.fleet as fleet


class Words(fleet.MultiSlotDataGenerator):
    def generate_sample(self, line):
        def samples():
            if line is not None and line.startswith("#"):
                yield None
            else:
                yield zip(
                    ["words", "label"],
                    [[int(v) for v in (line or "1 2").split()], [0.5]],
                    strict=True,
                )

        return samples


def test_lines_of_standard_input(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("7 8\n# no\n9\n"))
    Words().run_from_stdin()
    assert capsys.readouterr().out == "2 7 8 1 0.5\n1 9 1 0.5\n"


def test_without_input(capsys):
    Words().run_from_memory()
    assert capsys.readouterr().out == "2 1 2 1 0.5\n"


def test_batches(monkeypatch, capsys):
    class Padded(fleet.MultiSlotStringDataGenerator):
        def generate_sample(self, line):
            return lambda: [[("w", line.split())]]

        def generate_batch(self, samples):
            longest = max(len(s[0][1]) for s in samples)
            return lambda: ([("w", s[0][1] + ["0"] * (longest - len(s[0][1])))] for s in samples)

    reader = Padded()
    reader.set_batch(2)
    monkeypatch.setattr(sys, "stdin", io.StringIO("1\n1 2\n3\n"))
    reader.run_from_stdin()
    assert capsys.readouterr().out == "2 1 0\n2 1 2\n1 3\n"


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ("text", "must be in list or tuple type"),
        ([(1, [2])], "must be in str type"),
        ([("a", (2,))], "must be in list type"),
        ([("a", [])], "can not be empty"),
        ([("a", ["2"])], "must be in int or float"),
        ([("b", [2])], "require<a>, get<b>"),
        ([("a", [2]), ("b", [2])], "inconsistent"),
    ],
)
def test_refused(sample, message):
    reader = fleet.MultiSlotDataGenerator()
    reader._gen_str([("a", [1])])
    with pytest.raises(ValueError, match=message):
        reader._gen_str(sample)


def test_slots_of_floats_are_remembered():
    reader = fleet.MultiSlotDataGenerator()
    reader._gen_str([("a", [1]), ("b", [1])])
    reader._gen_str([("a", [1]), ("b", [1.5])])
    reader._gen_str([("a", [1]), ("b", [1])])
    assert reader._proto_info == [("a", "uint64"), ("b", "float")]


def test_what_must_be_written():
    with pytest.raises(NotImplementedError):
        fleet.MultiSlotDataGenerator().run_from_memory()


def test_where_they_are():
    assert (
        paddle.fluid.incubate.data_generator.MultiSlotDataGenerator
        is fleet.data_generator.MultiSlotDataGenerator
    )
