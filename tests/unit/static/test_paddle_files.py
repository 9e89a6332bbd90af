"""Paddle's program files: the wire format, the messages, files that are damaged or mean harm."""

from __future__ import annotations

import copy
import os
import random
import threading
from pathlib import Path

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import ArgosyError, CheckpointError, NotSupported, ProgramError
from argosy.static.files.paddle import proto, read, schema, wire, write
from argosy.static.files.paddle.wire import Malformed

MODELS = Path(__file__).resolve().parents[2] / "goldens" / "data" / "models"


# tables of ranks, beams, rows that are divided, steps
STEPPED = ["translation_1.8.5", "beams_1.8.5", "fork_1.8.5", "steps_1.8.5"]


def golden(name) -> bytes:
    with np.load(MODELS / f"{name}.npz") as data:
        key = "file:m.pdmodel" if "file:m.pdmodel" in data.files else "file:__model__"
        return data[key].tobytes()


def tensor(name, dims=(2,), dtype=5, **more):
    kind = {"type": 7, "lod_tensor": {"tensor": {"data_type": dtype, "dims": list(dims)}}}
    return {"name": name, "type": kind, **more}


def op(type, inputs=(), outputs=(), attrs=()):
    return {
        "type": type,
        "inputs": [{"parameter": slot, "arguments": names} for slot, names in inputs],
        "outputs": [{"parameter": slot, "arguments": names} for slot, names in outputs],
        "attrs": list(attrs),
    }


def program(ops, variables=None, more=()) -> bytes:
    names = variables if variables is not None else [tensor("x"), tensor("y")]
    first = {"idx": 0, "parent_idx": -1, "vars": names, "ops": ops}
    return schema.encoded("ProgramDesc", {"blocks": [first, *more]})


def loaded(data):
    return paddle.static.deserialize_program(data)


# -- bytes
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, -1, -(1 << 63), (1 << 63) - 1])
def test_numbers_survive_the_wire(value):
    data = wire.field(3, wire.VARINT, value)
    [(number, kind, read)] = wire.fields(memoryview(data))
    assert (number, kind, wire.signed(read, 64)) == (3, wire.VARINT, value)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\x0a\x05ab", "has 5 bytes, but 2 are left"),
        (b"\x0a", "ends inside of a number"),
        (b"\x08" + b"\xff" * 11, "longer than 10 bytes"),
        (b"\x0b", "wire type 3"),
        (b"\x00\x00", "without a number"),
        (b"\x0d\x00", "has 4 bytes"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "are left"),
    ],
)
def test_bytes_that_are_no_message_are_refused(data, problem):
    with pytest.raises(Malformed, match=problem):
        list(wire.fields(memoryview(data)))


def test_messages_survive_and_unknown_fields_are_passed_over():
    data = program([op("relu", [("X", ["x"])], [("Out", ["y"])])])
    assert schema.encoded("ProgramDesc", schema.decoded(data, "it")) == data
    more = data + wire.field(99, wire.BYTES, b"later versions")
    assert schema.decoded(more, "it") == schema.decoded(data, "it")


def test_lists_of_numbers_may_be_packed():
    whole = schema.encoded("TensorDesc", {"data_type": 5})
    packed = whole + wire.field(2, wire.BYTES, wire.varint(3) + wire.varint(-1))
    plain = schema.encoded("TensorDesc", {"data_type": 5, "dims": [3, -1]})
    frame = {"name": "x", "type": {"type": 7}}

    def read(inside):
        kind = wire.field(1, wire.VARINT, 7) + wire.field(
            3, wire.BYTES, wire.field(1, wire.BYTES, inside)
        )
        variable = wire.field(1, wire.BYTES, b"x") + wire.field(2, wire.BYTES, kind)
        block = schema.encoded("BlockDesc", {"idx": 0, "parent_idx": -1})
        data = wire.field(1, wire.BYTES, block + wire.field(3, wire.BYTES, variable))
        return schema.decoded(data, "it")["blocks"][0]["vars"][0]["type"]["lod_tensor"]

    assert frame["name"] == "x"
    assert read(packed) == read(plain)


# -- programs
# --------------------------------------------------------------------------------------------------


def test_all_unknown_types_are_named_at_once():
    ops = [op("warp_drive", [("X", ["x"])], [("Out", ["y"])]), op("flux", [], [("Out", ["y"])])]
    with pytest.raises(NotSupported, match=r"'flux'.*'warp_drive'"):
        loaded(program(ops))


def test_an_attribute_that_would_change_the_result_is_refused():
    attr = {"name": "fuse_with_sigmoid", "type": 6, "b": True}
    with pytest.raises(NotSupported, match="fuse_with_sigmoid=True"):
        loaded(program([op("relu", [("X", ["x"])], [("Out", ["y"])], [attr])]))


def test_what_is_left_out_has_the_default_of_paddle():
    ops = [op("leaky_relu", [("X", ["x"])], [("Out", ["y"])])]
    again = loaded(program(ops))
    assert again.global_block().ops[0].attr("alpha") == pytest.approx(
        proto.find("leaky_relu").attrs["alpha"].default
    )


@pytest.mark.parametrize(
    ("ops", "more", "problem"),
    [
        ([op("relu", [("X", ["nobody"])], [("Out", ["y"])])], (), "'nobody'"),
        ([op("relu", [("X", ["x"])], [("Out", ["nobody"])])], (), "nobody"),
        ([op("feed", [("X", ["feed"])], [("Out", ["nobody"])])], (), "feed of 'nobody'"),
        ([op("fetch", [("X", ["nobody"])], [("Out", ["fetch"])])], (), "fetch of 'nobody'"),
        (
            [
                op(
                    "while",
                    [("Condition", ["x"])],
                    [],
                    [{"name": "sub_block", "type": 8, "block_idx": 0}],
                )
            ],
            (),
            "must run one of the blocks",
        ),
        ([], [{"idx": 1, "parent_idx": 1, "vars": [], "ops": []}], "parent_idx must be"),
        ([], [{"idx": 7, "parent_idx": 0, "vars": [], "ops": []}], "idx must be"),
        (
            [op("relu", [("X", ["x"])], [("Out", ["y"])], [{"name": "a", "type": 99}])],
            (),
            "number of a kind",
        ),
        (
            [op("relu", [("X", ["x"])], [("Out", ["y"])], [{"name": "a", "type": 0}])],
            (),
            "field 'i' of INT",
        ),
        ([op("relu", [("X", ["x"]), ("X", ["x"])], [("Out", ["y"])])], (), "does not have yet"),
    ],
)
@pytest.mark.attack("a model file of Paddle's format whose parts do not fit together")
def test_parts_that_do_not_fit_are_refused(ops, more, problem):
    with pytest.raises((CheckpointError, NotSupported, ProgramError), match=problem):
        loaded(program(ops, more=more))


def array(name, dims=(2,)):
    kind = {"type": 13, "tensor_array": {"tensor": {"data_type": 5, "dims": list(dims)}}}
    return {"name": name, "type": kind}


def table(name):
    return {"name": name, "type": {"type": 12}}


STEPS = [
    tensor("x"),
    tensor("y"),
    tensor("mask", [2, 1], 0),
    tensor("i", [1], 3),
    array("many"),
    table("ranks"),
]


def number(name, value):
    return {"name": name, "type": 0, "i": value}


@pytest.mark.parametrize(
    ("operator", "problem"),
    [
        (op("lod_rank_table", [("X", ["x"])], [("Out", ["ranks"])]), "has a lod_level of 0"),
        (op("lod_rank_table", [("X", ["x"])], [], [number("level", -1)]), "level=-1"),
        (op("max_sequence_len", [("RankTable", ["x"])], [("Out", ["i"])]), "no table of ranks"),
        (
            op(
                "shrink_rnn_memory",
                [("X", ["x"]), ("I", ["i"]), ("RankTable", ["y"])],
                [("Out", ["y"])],
            ),
            "no table of ranks",
        ),
        (
            op(
                "lod_tensor_to_array", [("X", ["x"]), ("RankTable", ["ranks"])], [("Out", ["many"])]
            ),
            "lod_level of 0",
        ),
        (
            op("array_to_lod_tensor", [("X", ["x"]), ("RankTable", ["ranks"])], [("Out", ["y"])]),
            "'x' is no array",
        ),
        (op("write_to_array", [("X", ["x"]), ("I", ["i"])], [("Out", ["y"])]), "'y', which is no"),
        (op("write_to_array", [("X", ["x"]), ("I", ["x"])], [("Out", ["many"])]), "i must be an"),
        (op("read_from_array", [("X", ["x"]), ("I", ["i"])], [("Out", ["y"])]), "'x' is no array"),
        (op("read_from_array", [("X", ["many", "many"]), ("I", ["i"])], [("Out", ["y"])]), "array"),
        (
            op(
                "split_lod_tensor",
                [("X", ["x"]), ("Mask", ["x"])],
                [("OutTrue", ["y"]), ("OutFalse", ["y"])],
            ),
            "mask 'x' is float32",
        ),
        (
            op(
                "split_lod_tensor",
                [("X", ["x"]), ("Mask", ["mask"])],
                [("OutTrue", ["y"]), ("OutFalse", ["y"])],
                [number("level", -1)],
            ),
            "level=-1",
        ),
        (
            op(
                "merge_lod_tensor",
                [("X", ["x"]), ("Mask", ["i"]), ("InTrue", ["x"]), ("InFalse", ["y"])],
                [("Out", ["y"])],
            ),
            "mask 'i' is int64",
        ),
        (
            op(
                "beam_search",
                [("pre_ids", ["i"]), ("pre_scores", ["x"]), ("scores", ["x"])],
                [("selected_ids", ["i"])],
                [number("level", 0), number("beam_size", -2), number("end_id", 0)],
            ),
            "beam_size=-2",
        ),
        (
            op(
                "beam_search",
                [("pre_ids", ["i"]), ("pre_scores", ["x"]), ("scores", ["x"])],
                [("selected_ids", ["i"])],
                [number("level", 0), number("beam_size", 2), number("end_id", 0)],
            ),
            "lod_level above 0",
        ),
        (
            op(
                "beam_search_decode",
                [("Ids", ["x"]), ("Scores", ["many"])],
                [("SentenceIds", ["i"])],
                [number("beam_size", 2), number("end_id", 0)],
            ),
            "'x' is no array",
        ),
        (op("select_output", [("X", ["x"]), ("Mask", ["i"])], [("Out", ["y"])]), "among two"),
    ],
)
@pytest.mark.attack("steps, beams and arrays of a model file with variables of other kinds")
def test_steps_of_other_kinds_are_refused(operator, problem):
    with pytest.raises(NotSupported, match=problem):
        loaded(program([operator], STEPS))


def step_of(inputs=("x",), starts=("y",), outputs=("y",), before=("old",), after=("new",), **more):
    """A program with a recurrence whose block adds a state to its input."""
    attrs = [
        {"name": "sub_block", "type": 8, "block_idx": 1},
        {"name": "ex_states", "type": 5, "strings": list(before)},
        {"name": "states", "type": 5, "strings": list(after)},
        {"name": "reverse", "type": 6, "b": more.get("reverse", False)},
    ]
    slots = [("inputs", list(inputs)), ("initial_states", list(starts))]
    recurrent = op("recurrent", slots, [("outputs", list(outputs))], attrs)
    inner = op("elementwise_add", [("X", ["x"]), ("Y", ["old"])], [("Out", ["new"])])
    copied = op("assign", [("X", ["new"])], [("Out", ["y"])])
    names = [tensor(name, []) for name in ("x", "y", "old", "new")]
    block = {"idx": 1, "parent_idx": 0, "vars": names, "ops": [inner, copied]}
    outer = [tensor("x", [3]), tensor("start", []), tensor("y", [3]), array("many")]
    return program([recurrent], outer, [block])


def test_a_recurrence_runs_with_names_that_its_block_has_too():
    paddle.enable_static()
    try:
        again = loaded(step_of(starts=["start"]))
        feed = {"x": np.array([1, 2, 3], "float32"), "start": np.float32(10).reshape([])}
        [out] = paddle.static.Executor().run(again, feed=feed, fetch_list=["y"])
    finally:
        paddle.disable_static()
    assert out.tolist() == [11.0, 13.0, 16.0]


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"after": ["new", "new"]}, "1 ex_states and 2 states"),
        ({"before": ["nobody"]}, "'nobody', which is no variable"),
        ({"after": ["many"]}, "'many', which is no variable"),
        ({"after": ["start"]}, "'start', which is no variable of its block"),
        ({"inputs": []}, "must have an input"),
        ({"outputs": []}, "must have an input and an output"),
        ({"inputs": ["many"]}, "'many', which is no variable"),
        ({"reverse": True}, "reverse=True"),
    ],
)
@pytest.mark.attack("a recurrence of a model file whose states do not fit")
def test_a_recurrence_that_does_not_fit_is_refused(changed, problem):
    with pytest.raises(NotSupported, match=problem):
        loaded(step_of(**{"starts": ["start"], **changed}))


@pytest.mark.attack("a model file that writes far behind the end of an array")
def test_an_array_has_no_wide_gap():
    far = [
        {"name": "shape", "type": 11, "longs": [1]},
        {"name": "dtype", "type": 0, "i": 3},
        {"name": "value", "type": 1, "f": float(1 << 40)},
    ]
    ops = [
        op("fill_constant", [], [("Out", ["i"])], far),
        op("write_to_array", [("X", ["x"]), ("I", ["i"])], [("Out", ["many"])]),
        op("lod_array_length", [("X", ["many"])], [("Out", ["count"])]),
    ]
    paddle.enable_static()
    try:
        again = loaded(program(ops, [*STEPS, tensor("count", [1], 3)]))
        with pytest.raises(ArgosyError, match="behind the end"):
            paddle.static.Executor().run(
                again, feed={"x": np.ones(2, "float32")}, fetch_list=["count"]
            )
    finally:
        paddle.disable_static()


@pytest.mark.attack("a model file of Paddle's format with a block inside of itself many times")
def test_blocks_nest_only_so_deep():
    blocks = [{"idx": i, "parent_idx": i - 1, "vars": [], "ops": []} for i in range(1, 60)]
    with pytest.raises(CheckpointError, match="at most 31 deep"):
        loaded(program([], more=blocks))


@pytest.mark.attack("a block of a model file that two operators run")
def test_a_block_is_run_once():
    attr = [{"name": "sub_block", "type": 8, "block_idx": 1}]
    loop = op("while", [("Condition", ["x"])], [], attr)
    inner = [{"idx": 1, "parent_idx": 0, "vars": [], "ops": []}]
    with pytest.raises(NotSupported, match="another operator runs"):
        loaded(program([loop, loop], [tensor("x", [1], 0)], inner))


@pytest.mark.attack("a model file of Paddle's format that asks for terabytes")
def test_a_constant_has_a_bounded_size():
    attrs = [
        {"name": "shape", "type": 11, "longs": [1 << 40]},
        {"name": "dtype", "type": 0, "i": 5},
        {"name": "value", "type": 1, "f": 1.0},
    ]
    with pytest.raises(ProgramError, match="bytes"):
        loaded(program([op("fill_constant", [], [("Out", ["y"])], attrs)]))


@pytest.mark.attack("a model file of Paddle's format, cut at every byte")
def test_a_file_cut_short_anywhere_is_refused_or_a_shorter_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = golden("perceptron_2.6.2")
    for size in range(len(data)):
        try:
            loaded(data[:size])
        except ArgosyError:
            continue
    assert os.listdir() == []


@pytest.mark.attack("a model file of Paddle's format with flipped bits and foreign bytes")
@pytest.mark.parametrize("name", ["pictures_2.6.2", "branches_2.6.2", "clicks_1.8.5", *STEPPED])
def test_damaged_bytes_are_refused_or_a_program(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, chance = golden(name), random.Random(7)
    for _ in range(20 if name in STEPPED else 60):
        damaged = bytearray(data)
        for _ in range(chance.choice([1, 1, 3])):
            damaged[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        try:
            loaded(bytes(damaged))
        except ArgosyError:
            continue
    assert os.listdir() == []


@pytest.mark.attack("a model file of Paddle's format whose values were exchanged")
@pytest.mark.parametrize("name", ["words_2.6.2", "branches_2.6.2", "loop_1.8.5", *STEPPED])
def test_exchanged_values_are_refused_or_a_program(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    base, chance = schema.decoded(golden(name), "it"), random.Random(3)
    for _ in range(20 if name in STEPPED else 60):
        tree = copy.deepcopy(base)
        _exchange(tree, chance)
        try:
            loaded(schema.encoded("ProgramDesc", tree))
        except ArgosyError:
            continue
    assert os.listdir() == []


def _exchange(tree, chance):
    """Put another value of its type in the place of one."""
    places = list(_places(tree))
    holder, key = chance.choice(places)
    value = holder[key]
    if isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, int):
        holder[key] = chance.choice([0, -1, 7, 13, 2**31 - 1, -(2**31)])
    elif isinstance(value, float):
        holder[key] = float("nan")
    elif isinstance(value, str):
        holder[key] = chance.choice(["", "x0", "../x", "a" * 1200, "while", "\x00", "sub_block"])
    elif isinstance(value, list) and value:
        value.append(copy.deepcopy(chance.choice(value)))


def _places(tree):
    for key in tree if isinstance(tree, dict) else range(len(tree)):
        yield tree, key
        if isinstance(tree[key], (dict, list)):
            yield from _places(tree[key])


# -- writing
# --------------------------------------------------------------------------------------------------


def test_every_operator_without_a_form_is_named(monkeypatch):
    paddle.enable_static()
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [2])
        y = paddle.copysign(x, x) + paddle.heaviside(x, x)
    try:
        with pytest.raises(write.Unwritable, match="copysign") as found:
            write.dumps(main, ["x"], [y.name])
        assert list(found.value.reasons) == ["copysign"]
    finally:
        paddle.disable_static()


def test_a_program_written_is_read_as_the_same_operators():
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            x = paddle.static.data("x", [-1, 4])
            y = paddle.reshape(paddle.nn.functional.relu(x) * 2.0, [-1, 2, 2])
        again = loaded(write.dumps(main, ["x"], [y.name]))
        made = [o.type for o in again.global_block().ops]
        assert made == [*(o.type for o in main.global_block().ops), "scale"]
    finally:
        paddle.disable_static()


# -- threads
# --------------------------------------------------------------------------------------------------


def test_other_threads_compute_while_a_file_is_read(monkeypatch):
    found = []
    append_op = read.append_op

    def compute():
        x = paddle.ones([2]) * 3.0
        found.append((paddle.in_dynamic_mode(), (x + x).numpy().tolist(), paddle.exp(x).shape))

    def while_recording(*args):
        assert not paddle.in_dynamic_mode()
        thread = threading.Thread(target=compute)
        thread.start()
        thread.join()
        return append_op(*args)

    paddle.disable_static()
    monkeypatch.setattr(read, "append_op", while_recording)
    loaded(golden("sentiment_1.8.5"))
    assert found
    assert set(map(str, found)) == {str((True, [6.0, 6.0], [2]))}
    assert paddle.in_dynamic_mode()
