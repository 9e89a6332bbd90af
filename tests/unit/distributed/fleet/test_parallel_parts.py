"""What models of one rank use of tensor and pipeline parallelism."""

from __future__ import annotations

import numpy as np
import pytest
from paddle.distributed.fleet.layers.mpu.mp_ops import _c_lookup_table
from paddle.distributed.fleet.meta_parallel.pipeline_parallel import FakeMicroDataset

import paddle


def test_a_lookup_in_a_part_of_a_table_gives_zeros_for_the_ids_of_others():
    table = paddle.to_tensor(np.arange(1.0, 13, dtype="float32").reshape(4, 3), stop_gradient=False)
    ids = paddle.to_tensor([[0, 4], [7, 8], [5, 5]])
    rows = _c_lookup_table(table, ids, start_index=4)
    (rows * rows).sum().backward()
    # what Paddle 3.3.1 gives
    none = [0.0, 0.0, 0.0]
    assert rows.tolist() == [
        [none, [1.0, 2.0, 3.0]],
        [[10.0, 11.0, 12.0], none],
        [[4.0, 5.0, 6.0], [4.0, 5.0, 6.0]],
    ]
    assert table.grad.tolist() == [[2.0, 4.0, 6.0], [16.0, 20.0, 24.0], none, [20.0, 22.0, 24.0]]


def test_the_parts_of_a_table_add_up_to_it():
    table = paddle.randn([6, 2])
    ids = paddle.to_tensor([5, 0, 3], dtype="int32")
    parts = [_c_lookup_table(table[low : low + 2], ids, start_index=low) for low in (0, 2, 4)]
    assert sum(parts).tolist() == table[ids].tolist()


def test_a_batch_is_cut_into_micro_batches():
    x = paddle.arange(8).reshape([4, 2])
    labels = [paddle.full([2, 1], 0.0), paddle.full([2, 1], 1.0)]
    seen = list(FakeMicroDataset([(x, None), labels], True, True, 2, 2))
    assert [part[0].tolist() for part, _ in seen] == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    assert [part[1] for part, _ in seen] == [None, None]
    assert [label[0].item() for _, label in seen] == [0.0, 1.0]


def test_only_the_first_stage_has_inputs_and_only_the_last_labels():
    batch = paddle.ones([2, 1]), paddle.zeros([2, 1])
    assert next(FakeMicroDataset(batch, True, False, 2, 1))[1] is None
    assert next(FakeMicroDataset(batch, False, True, 2, 1))[0] is None
    with pytest.raises(AssertionError, match="only the first and the last stage"):
        next(FakeMicroDataset(batch, False, False, 2, 1))


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        ((paddle.ones([3, 1]), None), "3 samples cannot be cut into 2 micro-batches of 2"),
        (([paddle.ones([2, 1])], None), "a list must have 2 micro-batches, but has 1"),
        ((paddle.ones([4, 1]),), "must be \\(inputs, labels\\), but has 1"),
    ],
)
def test_batches_that_cannot_be_cut(batch, words):
    with pytest.raises(AssertionError, match=words):
        next(FakeMicroDataset(batch, True, False, 2, 2))
