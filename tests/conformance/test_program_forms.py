"""Programs read as those of real Paddle 1.8.5 and 2.6.2 do: types, and variables by slot."""

import functools
import json
from pathlib import Path

import pytest

import paddle
import paddle.fluid as fluid
from goldens import program_forms

DATA = Path(__file__).resolve().parents[1] / "goldens" / "data"

# Recorded otherwise: a number beside a variable is no tensor, what 1.x resizes, repeats, sorts or
# counts in one operator is several, and functions of today record what they compute, without the
# constants and axes that Paddle puts around it.
OTHERWISE_185 = {
    "argsort", "auc", "click", "fill_like", "greater_number", "increment", "label_smooth",
    "number_divided", "prelu", "resize_bilinear", "resize_nearest", "to_the_number",
}  # fmt: skip
OTHERWISE_262 = {
    "Conv1D", "arange", "bce_with_logits", "greater_number", "norm", "number_divided", "pad",
    "to_the_number",
}  # fmt: skip
# Named otherwise, of the right types.
NAMED_OTHERWISE = {"batch_norm", "group_norm", "GroupNorm", "mm"}


@functools.cache
def _stored(version):
    return json.loads((DATA / f"program_forms_{version}.json").read_text())


@pytest.fixture(autouse=True)
def leave_static_mode():
    paddle.enable_static()
    yield
    paddle.disable_static()


def _compare(name, ours, expected):
    assert [op[0] for op in ours] == [op[0] for op in expected]
    for (kind, inputs, outputs, _), (_, slots, results, _) in zip(ours, expected, strict=True):
        # what only Paddle's own gradients read has no value here
        results = {slot: names for slot, names in results.items() if slot in outputs}
        if name in NAMED_OTHERWISE:
            assert sorted(inputs) == sorted(slots), kind
            assert sorted(outputs) == sorted(results), kind
        else:
            assert inputs == slots, kind
            assert outputs == results, kind


@pytest.mark.parametrize("name", [n for n in program_forms.FLUID if n not in OTHERWISE_185])
def test_functions_of_1x_record_what_paddle_records(name):
    _compare(name, program_forms.fluid_forms(fluid, name), _stored("1.8.5")[name])


@pytest.mark.parametrize("name", [n for n in program_forms.STATIC if n not in OTHERWISE_262])
def test_functions_of_today_record_what_paddle_records(name):
    _compare(name, program_forms.static_forms(paddle, name), _stored("2.6.2")[name])


@pytest.mark.parametrize(
    ("name", "attrs"),
    [
        ("fc_flatten_2", {"x_num_col_dims": 2, "y_num_col_dims": 1}),
        ("conv2d_act", {"strides": [2, 2], "paddings": [1, 1], "dilations": [1, 1], "groups": 1}),
        ("pool2d_avg", {"pooling_type": "avg", "ksize": [2, 2], "exclusive": True}),
        ("pool2d_global", {"pooling_type": "avg", "global_pooling": True}),
        ("reduce_sum", {"dim": [0], "keep_dim": False, "reduce_all": True}),
        ("reduce_max", {"dim": [1], "keep_dim": True, "reduce_all": False}),
        ("times_number", {"scale": 2.0, "bias": 0.0, "bias_after_scale": True}),
        ("cast", {"out_dtype": 3}),
        ("dropout", {"dropout_prob": 0.3, "dropout_implementation": "downgrade_in_infer"}),
        ("slice", {"axes": [1], "starts": [0], "ends": [2]}),
        ("matmul_alpha", {"transpose_X": False, "transpose_Y": False, "alpha": 0.5}),
        ("topk", {"k": 2}),
        ("embedding_sparse", {"padding_idx": 0, "is_sparse": True}),
    ],
)
def test_attributes_have_the_names_and_values_of_paddle(name, attrs):
    for made in (program_forms.fluid_forms(fluid, name), _stored("1.8.5")[name]):
        assert {key: made[0][3][key] for key in attrs} == attrs
