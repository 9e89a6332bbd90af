"""Sequences in programs: LoDTensor, what is fed and fetched, which results carry a lod, copies and
files.
"""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import DtypeError, ProgramError, UsageError
from argosy.static.ir.lod import (
    LoDTensor,
    LoDTensorArray,
    create_lod_tensor,
    create_random_int_lodtensor,
    lod_tensor_from_samples,
    split_sequences,
)
from argosy.static.nn.sequence_lod import lod_append, lod_reset
from argosy.static.parallel.split import merged

nn = paddle.static.nn
CPU = paddle.CPUPlace()


@pytest.fixture
def exe():
    return paddle.static.Executor(CPU)


def rows(count, width=2):
    return np.arange(count * width, dtype="float32").reshape(count, width)


def sequences(*lengths, width=2):
    return create_lod_tensor(rows(sum(lengths), width), [list(lengths)], CPU)


# -- LoDTensor
# --------------------------------------------------------------------------------------------------


def test_lod_and_lengths_are_two_forms_of_one():
    tensor = LoDTensor()
    tensor.set(rows(5), CPU)
    tensor.set_lod([[0, 2, 3], [0, 2, 2, 5]])
    assert tensor.recursive_sequence_lengths() == [[2, 1], [2, 0, 3]]
    tensor.set_recursive_sequence_lengths([[5]])
    assert tensor.lod() == [[0, 5]]
    assert tensor.shape() == tensor._get_dims() == [5, 2]
    np.testing.assert_array_equal(np.array(tensor), rows(5))
    tensor.set_lod([])
    assert tensor.lod() == tensor.recursive_sequence_lengths() == []
    assert "float32" in str(tensor)


@pytest.mark.parametrize(
    ("lod", "reason"),
    [
        ([[0, 2]], "ends at 2, but there are 5 rows"),
        (
            [[1, 5]],
            r"must be offsets that start at 0 and never fall, at least two, but is \[1, 5\]",
        ),
        ([[0, 4, 3, 5]], "never fall"),
        ([[0]], "at least two"),
        ([[0, 3], [0, 2, 5]], "level 0 ends at 3, but there are 2 sequences of the next level"),
    ],
)
def test_a_lod_that_does_not_fit_is_refused(lod, reason):
    tensor = LoDTensor()
    tensor.set(rows(5), CPU)
    with pytest.raises(UsageError, match=reason):
        tensor.set_lod(lod)
    assert tensor.lod() == []


def test_a_lod_may_come_before_the_values_and_be_overtaken_by_others():
    tensor = LoDTensor()
    tensor.set_recursive_sequence_lengths([[1, 4]])
    assert not tensor._is_initialized()
    with pytest.raises(UsageError, match="holds no values"):
        tensor.shape()
    tensor.set(rows(5), CPU)
    assert tensor.has_valid_recursive_sequence_lengths()
    tensor.set(rows(3), CPU)
    assert not tensor.has_valid_recursive_sequence_lengths()


def test_set_copies():
    array = rows(2)
    tensor = LoDTensor()
    tensor.set(array, CPU)
    array[:] = 9
    np.testing.assert_array_equal(np.array(tensor), rows(2))


def test_create_lod_tensor():
    made = create_lod_tensor([[1, 2], [3]], [[2, 1]], CPU)
    assert made.shape() == [3, 1]
    assert made.lod() == [[0, 2, 3]]
    again = create_lod_tensor(made, [[1, 2]], CPU)
    assert again.lod() == [[0, 1, 3]]
    with pytest.raises(
        UsageError,
        match=r"do not match: the sequences have lengths \[\[2, 1\]\], but received \[\[1, 2\]\]",
    ):
        create_lod_tensor([[1, 2], [3]], [[1, 2]], CPU)
    with pytest.raises(
        UsageError, match=r"\[\[2, 2\]\] are no lengths for a tensor of shape \[5, 2\]"
    ):
        create_lod_tensor(rows(5), [[2, 2]], CPU)
    with pytest.raises(TypeError, match="received str"):
        create_lod_tensor("x", [[1]], CPU)


def test_create_random_int_lodtensor():
    made = create_random_int_lodtensor([[20, 30]], [4], CPU, 3, 5)
    assert made.shape() == [50, 4]
    assert set(np.array(made).ravel()) == {3, 4, 5}
    assert made.lod() == [[0, 20, 50]]


def test_samples_become_a_batch():
    batch = lod_tensor_from_samples([[1, 2, 3], [4]], "int64", [None, 1], 1)
    assert (batch.shape(), batch.lod()) == ([4, 1], [[0, 3, 4]])
    vectors = lod_tensor_from_samples([rows(2), rows(1)], "float32", [-1, 2], 1)
    assert (vectors.shape(), vectors.lod()) == ([3, 2], [[0, 2, 3]])
    nested = lod_tensor_from_samples([[[1], [2, 3]], [[]]], "int64", [-1, 1], 2)
    assert (nested.shape(), nested.lod()) == ([3, 1], [[0, 2, 3], [0, 1, 3, 3]])
    flat = lod_tensor_from_samples([[0.5] * 6, [1.0] * 6], "float32", [-1, 2, 3], 0)
    assert (flat.shape(), flat.lod()) == ([2, 2, 3], [])
    empty = lod_tensor_from_samples([[], []], "int64", [-1, 1], 1)
    assert (empty.shape(), empty.lod()) == ([0, 1], [[0, 0, 0]])
    with pytest.raises(UsageError, match="must nest 2 levels"):
        lod_tensor_from_samples([[1, 2]], "int64", [-1, 1], 2)
    with pytest.raises(
        UsageError, match=r"shape \[3\] cannot be reshaped to the declared \[-1, 2\]"
    ):
        lod_tensor_from_samples([[1, 2, 3]], "int64", [-1, 2], 1)


def test_splitting_keeps_sequences_whole_and_merging_joins_them():
    whole = create_lod_tensor(rows(6), [[1, 0, 2], [2, 1, 3]], CPU)
    first, second = split_sequences(whole, 2)
    assert (first.lod(), first.shape()) == ([[0, 1], [0, 2]], [2, 2])
    assert (second.lod(), second.shape()) == ([[0, 0, 2], [0, 1, 4]], [4, 2])
    together = merged("run", "x", [first, second])
    assert together.lod() == whole.lod()
    np.testing.assert_array_equal(np.array(together), np.array(whole))
    with pytest.raises(UsageError, match="3 sequences cannot be split into 4 parts"):
        split_sequences(whole, 4)


def test_an_array_of_lod_tensors_can_be_emptied():
    array = LoDTensorArray()
    array.append(sequences(2))
    assert [t.lod() for t in array._move_to_list()] == [[[0, 2]]]
    assert len(array) == 0


def test_values_of_a_scope_have_a_lod_too():
    held = paddle.static.global_scope().var("w").get_tensor()
    held.set(rows(4), CPU)
    held.set_lod([[0, 1, 4]])
    again = paddle.static.global_scope().find_var("w").get_tensor()
    assert isinstance(again, LoDTensor)
    assert again.recursive_sequence_lengths() == [[1, 3]]


# -- feeding and fetching
# ---------------------------------------------------------------------------------------


def test_feeding_fills_the_offsets_and_fetching_returns_them(exe):
    x = paddle.static.data("x", [None, 2], lod_level=1)
    assert x.lod_level == 1
    y = x * 2.0
    [fed, doubled] = exe.run(feed={"x": sequences(2, 0, 1)}, fetch_list=[x, y], return_numpy=False)
    assert isinstance(doubled, LoDTensor)
    assert fed.lod() == doubled.lod() == [[0, 2, 2, 3]]
    np.testing.assert_array_equal(np.array(doubled), 2 * rows(3))
    [offsets] = exe.run(feed={"x": sequences(2, 1)}, fetch_list=["x@LOD"])
    assert offsets.tolist() == [0, 2, 3]


def test_two_levels_are_carried(exe):
    x = paddle.static.data("x", [None, 2], lod_level=2)
    fed = create_lod_tensor(rows(5), [[2, 1], [2, 0, 3]], CPU)
    [out] = exe.run(feed={"x": fed}, fetch_list=[paddle.tanh(x)], return_numpy=False)
    assert out.recursive_sequence_lengths() == [[2, 1], [2, 0, 3]]
    for refuses in (nn.sequence_reverse, nn.sequence_softmax, lambda v: nn.sequence_conv(v, 2)):
        with pytest.raises(
            UsageError, match="must be sequences with a lod_level of 1, but 'x' has lod_level 2"
        ):
            refuses(x)


def test_a_value_with_lod_is_no_array(exe):
    x = paddle.static.data("x", [None, 2], lod_level=1)
    with pytest.raises(
        RuntimeError, match=r"hold LoD information.*\[\[0, 1, 3\]\].*return_numpy=False"
    ):
        exe.run(feed={"x": sequences(1, 2)}, fetch_list=[x + 1.0])


def test_what_has_no_lod_is_fetched_as_before(exe):
    x = paddle.static.data("x", [None, 2], lod_level=1)
    total = nn.sequence_pool(x, "sum")
    [array] = exe.run(feed={"x": sequences(1, 2)}, fetch_list=[total])
    np.testing.assert_array_equal(array, [[0, 1], [6, 8]])
    [tensor] = exe.run(feed={"x": sequences(1, 2)}, fetch_list=[total], return_numpy=False)
    assert tensor.lod() == []


def test_an_array_may_be_fed_where_nothing_needs_the_lod(exe):
    x = paddle.static.data("x", [None, 2], lod_level=1)
    [out] = exe.run(feed={"x": rows(3)}, fetch_list=[x * 2.0])
    np.testing.assert_array_equal(out, 2 * rows(3))


def test_a_pair_of_array_and_lengths_is_fed_like_a_lod_tensor(exe):
    x = paddle.static.data("x", [None, 2], lod_level=1)
    [out] = exe.run(feed={"x": (rows(3), [[1, 2]])}, fetch_list=[nn.sequence_first_step(x)])
    np.testing.assert_array_equal(out, rows(3)[[0, 1]])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            rows(3),
            (
                r"'x' is declared with lod_level=1, which .*sequence_pool.* needs, but received a "
                r"ndarray without lod"
            ),
        ),
        (
            create_lod_tensor(rows(3), [[1], [3]], CPU),
            r"lod_level=1.*but received the lod \[\[0, 1\], \[0, 3\]\]",
        ),
        (
            (rows(3), [[1, 1]]),
            (
                r"The lod \[\[0, 1, 2\]\] of fed Variable 'x' is wrong: level 0 ends at 2, but "
                r"there "
                r"are 3 rows"
            ),
        ),
        (
            sequences(1, 2, width=3),
            r"'x' should have .*, shape = \(-1, 2\), but received fed shape \[3, 3\]",
        ),
    ],
)
def test_wrong_sequences_are_refused(exe, value, message):
    total = nn.sequence_pool(paddle.static.data("x", [None, 2], lod_level=1), "sum")
    with pytest.raises(UsageError, match=message):
        exe.run(feed={"x": value}, fetch_list=[total])


def test_a_lod_tensor_without_lod_feeds_any_variable(exe):
    x = paddle.static.data("x", [None, 2])
    tensor = LoDTensor()
    tensor.set(rows(2), CPU)
    [out] = exe.run(feed={"x": tensor}, fetch_list=[x + 1.0])
    np.testing.assert_array_equal(out, rows(2) + 1)


def test_lod_levels_are_numbers():
    with pytest.raises(UsageError, match="lod_level must be 0 or more, but received -1"):
        paddle.static.data("x", [None, 2], lod_level=-1)


# -- which results carry a lod
# ----------------------------------------------------------------------------------


def test_rows_that_stay_keep_their_sequences():
    x = paddle.static.data("x", [None, 4], lod_level=1)
    ids = paddle.static.data("ids", [None, 1], "int64", lod_level=1)
    kept = [
        x.tanh(),
        x + 1.0,
        2.0 - x,
        nn.fc(x, 3),
        nn.embedding(ids, [5, 3]),
        paddle.concat([x, nn.fc(x, 3)], axis=1),
        x.astype("float64"),
        paddle.nn.functional.dropout(x),
        paddle.nn.functional.softmax(x),
        paddle.nn.functional.cross_entropy(x, ids, reduction="none"),
        x.reshape([-1, 2, 2]),
        x[:, 1:3],
        x.sum(1),
        nn.layer_norm(x),
        nn.batch_norm(x),
        paddle.topk(x, 2)[1],
        x == 0.0,
    ]
    assert [v.lod_level for v in kept] == [1] * len(kept)
    assert {v.lod_names for v in kept} == {("x@LOD",), ("ids@LOD",)}


def test_other_rows_have_no_sequences():
    x = paddle.static.data("x", [None, 4], lod_level=1)
    plain = paddle.static.data("plain", [None, 4])
    index = paddle.static.data("index", [None], "int64")
    lost = [
        x.mean(),
        x.sum(0),
        x.reshape([-1]),
        x.t(),
        x.transpose([1, 0]),
        x[1:],
        x[index],
        paddle.gather(x, index),
        paddle.index_select(x, index),
        x.flip(0),
        paddle.concat([x, x], axis=0),
        plain + x,  # the first input decides
        paddle.shape(x),
        paddle.argmax(x, 1),
    ]
    assert [v.lod_level for v in lost] == [0] * len(lost)


def test_gradients_have_the_sequences_of_what_they_belong_to(exe):
    x = paddle.static.data("x", [None, 2], lod_level=1)
    x.stop_gradient = False
    [grad] = paddle.static.gradients(nn.sequence_pool(x, "average").sum(), [x])
    [value] = exe.run(feed={"x": sequences(1, 2)}, fetch_list=[grad], return_numpy=False)
    assert value.lod() == [[0, 1, 3]]
    np.testing.assert_array_equal(np.array(value), [[1, 1], [0.5, 0.5], [0.5, 0.5]])


def test_pooled_rows_meet_labels_of_unknown_number(exe):
    """The numbers of sequences and of samples are both unknown, and taken to be equal while
    recording.
    """
    x = paddle.static.data("x", [None, 2], lod_level=1)
    label = paddle.static.data("label", [None, 2])
    gap = nn.sequence_pool(x, "max") - label
    assert gap.shape == [-1, 2]
    [out] = exe.run(feed={"x": sequences(2, 1), "label": rows(2)}, fetch_list=[gap])
    np.testing.assert_array_equal(out, [[2, 2], [2, 2]])


# -- functions
# --------------------------------------------------------------------------------------------------


def test_what_is_no_sequence_is_refused():
    plain = paddle.static.data("plain", [None, 2])
    x = paddle.static.data("x", [None, 2], lod_level=1)
    ids = paddle.static.data("ids", [None, 1], "int64", lod_level=1)
    with pytest.raises(
        ValueError,
        match="'plain' has lod_level 0; declare what it is computed from with lod_level=1",
    ):
        nn.sequence_pool(plain, "sum")
    with pytest.raises(
        TypeError, match="sequence_pool: input must be one of float32, float64, but 'ids' is int64"
    ):
        nn.sequence_pool(ids, "sum")
    with pytest.raises(
        DtypeError, match="sequence_pool: input must be a Variable, but received ndarray"
    ):
        nn.sequence_pool(rows(2), "sum")
    with pytest.raises(UsageError, match=r"unknown pool_type 'averag'.*average"):
        nn.sequence_pool(x, "averag")
    with pytest.raises(UsageError, match="only filter_stride=1 is possible, but received 2"):
        nn.sequence_conv(x, 3, filter_stride=2)
    with pytest.raises(UsageError, match="ref_level=1, but 'x' has 1 levels"):
        nn.sequence_expand(plain, x, ref_level=1)
    with pytest.raises(UsageError, match="y and target_lod should not be both none"):
        lod_reset(x)
    with pytest.raises(DtypeError, match="input must be a list of Variables"):
        nn.sequence_concat(x)
    with pytest.raises(
        DtypeError, match=r"sequence_concat: input\[1\] must be one of float32, but 'ids' is int64"
    ):
        nn.sequence_concat([x, ids, x])


def test_outside_of_static_mode_there_are_no_sequences():
    x = paddle.static.data("x", [None, 2], lod_level=1)
    paddle.disable_static()
    with pytest.raises(UsageError, match="sequences exist in static programs only"):
        nn.sequence_pool(x, "sum")


def test_errors_of_a_run_name_the_operator_and_the_line(exe):
    x = paddle.static.data("x", [None, 2], lod_level=1)
    out = nn.sequence_reshape(x, 4)
    with pytest.raises(
        UsageError, match=r"sequence_reshape.*test_lod\.py.*sequence 1 has 2 numbers"
    ):
        exe.run(feed={"x": sequences(2, 1)}, fetch_list=[out])


def test_a_declared_first_dimension_may_count_sequences(exe):
    x = paddle.static.data("x", [2, 2])
    [total] = exe.run(feed={"x": sequences(1, 3)}, fetch_list=[x.sum(axis=1)])
    assert total.shape == (4,)
    with pytest.raises(ValueError, match=r"shape = \(2, 2\), but received fed shape \[6, 2\]"):
        exe.run(feed={"x": sequences(1, 3, 2)}, fetch_list=[x])


def test_lod_reset_and_append_check_the_offsets(exe):
    x = paddle.static.data("x", [None, 2], lod_level=1)
    out = lod_reset(x, target_lod=[0, 1, 4])
    with pytest.raises(
        UsageError, match=r"must rise from 0 to 3, the rows of x, but is \[0, 1, 4\]"
    ):
        exe.run(feed={"x": sequences(3)}, fetch_list=[out], return_numpy=False)
    deeper = lod_append(x, [0, 1, 2, 3, 4])
    [value] = exe.run(
        paddle.static.default_main_program(),
        {"x": sequences(1, 3)},
        [deeper],
        return_numpy=False,
        use_prune=True,
    )
    assert value.lod() == [[0, 1, 4], [0, 1, 2, 3, 4]]
    with pytest.raises(UsageError, match="level must be a list or a Variable, but received int"):
        lod_append(x, 2)
    flags = paddle.static.data("flags", [None], "bool")
    for call in (lambda: lod_append(flags, [0, 1]), lambda: lod_reset(flags, target_lod=[0, 1])):
        with pytest.raises(TypeError, match="'flags' is bool"):
            call()


# -- copies and files
# -------------------------------------------------------------------------------------------


def _classifier():
    ids = paddle.static.data("ids", [None, 1], "int64", lod_level=1)
    words = nn.embedding(ids, [7, 3]).reshape([-1, 3])
    hidden = nn.sequence_conv(words, 4, act="tanh")
    return ids, hidden, nn.fc(nn.sequence_pool(hidden, "max"), 2, activation="softmax")


def _ids(*lengths):
    return create_lod_tensor(np.arange(sum(lengths)).reshape(-1, 1) % 7, [list(lengths)], CPU)


def test_a_program_on_sequences_trains_and_its_clone_tests(exe):
    _, _, scores = _classifier()
    test = paddle.static.default_main_program().clone(for_test=True)
    label = paddle.static.data("label", [None, 1], "int64")
    loss = paddle.nn.functional.cross_entropy(scores, label, use_softmax=False)
    paddle.optimizer.Adam(0.1).minimize(loss)
    exe.run(paddle.static.default_startup_program())
    feed = {"ids": _ids(2, 4, 1), "label": np.array([[0], [1], [0]])}
    losses = [float(exe.run(feed=feed, fetch_list=[loss])[0]) for _ in range(20)]
    assert losses[-1] < 0.1 * losses[0]
    [found] = exe.run(test, feed={"ids": _ids(2, 4, 1)}, fetch_list=[scores.name])
    assert found.argmax(1).tolist() == [0, 1, 0]
    assert test.global_block().var("ids").lod_level == 1


def test_pruned_runs_keep_the_offsets(exe):
    _, hidden, scores = _classifier()
    lod_of_other = paddle.static.data("other", [None, 2], lod_level=1)
    nn.sequence_pool(lod_of_other, "sum")  # needs what is not fed
    exe.run(paddle.static.default_startup_program())
    values = exe.run(
        feed={"ids": _ids(2, 3)}, fetch_list=[hidden, scores], return_numpy=False, use_prune=True
    )
    assert values[0].lod() == [[0, 2, 5]]
    assert values[1].shape() == [2, 2]
    with pytest.raises(ProgramError, match="needs 'other', which is not fed"):
        exe.run(feed={"ids": _ids(2, 3)}, fetch_list=[scores])


def test_an_inference_model_takes_and_gives_sequences(exe, tmp_path):
    ids, hidden, scores = _classifier()
    exe.run(paddle.static.default_startup_program())
    fetches = [hidden, scores]
    expected = exe.run(feed={"ids": _ids(1, 3)}, fetch_list=fetches, return_numpy=False)
    paddle.static.save_inference_model(str(tmp_path / "model"), [ids], fetches, exe)
    with paddle.static.scope_guard(paddle.static.Scope()):
        program, names, targets = paddle.static.load_inference_model(str(tmp_path / "model"), exe)
        assert names == ["ids"]
        assert targets[0].lod_level == 1
        found = exe.run(
            program, feed={names[0]: _ids(1, 3)}, fetch_list=targets, return_numpy=False
        )
        program.verify()
        assert found[0].lod() == [[0, 1, 4]]
        np.testing.assert_array_equal(np.array(found[0]), np.array(expected[0]))
        np.testing.assert_array_equal(found[1].numpy(), expected[1].numpy())
        with paddle.static.program_guard(program):  # more can be recorded behind it
            label = paddle.static.data("label", [None, 2])
            gap = nn.sequence_pool(targets[0], "first")[:, :2] - label
        [value] = exe.run(program, {"ids": _ids(1, 3), "label": rows(2)}, [gap])
        assert value.shape == (2, 2)


def test_sequences_inside_of_a_branch(exe):
    x = paddle.static.data("x", [None, 2], lod_level=1)
    is_sum = paddle.static.data("is_sum", [1], "bool")
    out = nn.cond(is_sum, lambda: nn.sequence_pool(x, "sum"), lambda: nn.sequence_pool(x, "max"))
    for flag, expected in ((True, [[0, 1], [6, 8]]), (False, [[0, 1], [4, 5]])):
        [value] = exe.run(feed={"x": sequences(1, 2), "is_sum": np.array([flag])}, fetch_list=[out])
        np.testing.assert_array_equal(value, expected)


def test_lod_tensors_go_through_dlpack_and_other_dtypes():
    words = sequences(1, 2)
    assert words._as_type("float64")._dtype() == paddle.float64
    assert words._as_type("float64").lod() == words.lod()
    back = paddle.base.core.from_dlpack(words._to_dlpack())
    np.testing.assert_array_equal(np.array(back), np.array(words))
    assert np.array(words[1:]).shape == (2, 2)


def test_ragged_lists_are_no_array(exe):
    ids = paddle.static.data("ids", [None, 1], "int64", lod_level=1)
    with pytest.raises(
        TypeError, match=r"'ids' is nested lists of different lengths.*create_lod_tensor"
    ):
        exe.run(feed={"ids": [[1, 2], [3]]}, fetch_list=[ids])


def test_no_gradient_reaches_what_sequences_are_padded_with():
    x = paddle.static.data("x", [None, 2], lod_level=1)
    filler = paddle.static.create_parameter([1], "float32")
    padded, _ = nn.sequence_pad(x, filler)
    assert paddle.static.gradients(padded.sum(), [filler]) == [None]
