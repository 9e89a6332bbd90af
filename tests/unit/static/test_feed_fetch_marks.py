"""Programs that ``load_inference_model`` returns: scripts see what is fed and fetched."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
import paddle.fluid as fluid

FEED = {"x": np.ones((2, 3), "float32")}


def saved(prefix):
    x = paddle.static.data("x", [None, 3])
    y = paddle.static.nn.fc(x, 2)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    paddle.static.save_inference_model(prefix, [x], [y], exe)
    return exe, exe.run(feed=FEED, fetch_list=[y])[0]


def test_a_loaded_program_begins_with_feeds_and_ends_with_fetches(tmp_path):
    exe, expected = saved(str(tmp_path / "m"))
    program, feeds, fetches = paddle.static.load_inference_model(str(tmp_path / "m"), exe)
    ops = program.global_block().ops
    assert [o.type for o in ops] == ["feed", "mul", "elementwise_add", "scale", "fetch"]
    assert ops[0].output("Out") == feeds == ["x"]
    assert ops[-1].input("X") == [v.name for v in fetches]
    assert ops[0].attr("col") == 0
    for one in (program, program.clone(for_test=True)):
        [value] = exe.run(one, feed=FEED, fetch_list=fetches)
        np.testing.assert_array_equal(value, expected)


def test_it_can_be_saved_and_read_again(tmp_path):
    exe, expected = saved(str(tmp_path / "m"))
    program, _, fetches = paddle.static.load_inference_model(str(tmp_path / "m"), exe)
    fluid.io.save_inference_model(str(tmp_path / "n"), ["x"], fetches, exe, program)
    again, feeds, targets = fluid.io.load_inference_model(str(tmp_path / "n"), exe)
    types = [o.type for o in again.global_block().ops]
    assert (types[0], types[-1], types.count("feed"), types.count("fetch")) == (
        "feed", "fetch", 1, 1
    )  # fmt: skip
    assert feeds == ["x"]
    np.testing.assert_array_equal(exe.run(again, FEED, targets)[0], expected)
    text = program.desc.serialize_to_string()
    plain = paddle.static.Program.parse_from_string(text)
    np.testing.assert_array_equal(exe.run(plain, FEED, [fetches[0].name])[0], expected)


@pytest.mark.parametrize(
    ("path", "options"), [(["m"], {}), ("m/", {}), (None, {}), ("m", {"pserver_endpoints": None})]
)
def test_wrong_paths_and_options_are_value_errors(path, options):
    with pytest.raises(ValueError, match="load_inference_model"):
        paddle.static.load_inference_model(path, paddle.static.Executor(), **options)
