"""What models of one rank use of tensor and pipeline parallelism."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import NotSupported
from paddle.distributed.collective import Group
from paddle.distributed.fleet.layers.mpu import mp_ops
from paddle.distributed.fleet.layers.mpu.mp_ops import _c_lookup_table
from paddle.distributed.fleet.meta_parallel import (
    ColumnParallelLinear,
    LayerDesc,
    ParallelCrossEntropy,
    PipelineLayer,
    RowParallelLinear,
    SharedLayerDesc,
    VocabParallelEmbedding,
)
from paddle.distributed.fleet.meta_parallel.pipeline_parallel import FakeMicroDataset
from paddle.distributed.fleet.utils import sequence_parallel_utils as sequence


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


def test_parallel_layers_of_one_rank_are_plain_ones():
    paddle.seed(1)
    parallel = [
        ColumnParallelLinear(2, 3, has_bias=True),
        RowParallelLinear(3, 2),
        VocabParallelEmbedding(4, 2),
    ]
    paddle.seed(1)
    plain = [paddle.nn.Linear(2, 3), paddle.nn.Linear(3, 2), paddle.nn.Embedding(4, 2)]
    inputs = [paddle.ones([1, 2]), paddle.ones([1, 3]), paddle.to_tensor([3])]
    for one, other, x in zip(parallel, plain, inputs, strict=True):
        other.set_state_dict(one.state_dict())
        assert one(x).tolist() == other(x).tolist()
        assert not one.weight.is_distributed
    # what Paddle 3.3.1 names them
    names = [p.name for layer in parallel for p in layer.parameters()]
    assert names == ["linear_0.w_0", "linear_0.b_0", "linear_1.w_0", "linear_1.b_0",
                     "embedding_0.w_0"]  # fmt: skip
    assert ColumnParallelLinear(2, 3).bias is None


def test_parallel_cross_entropy_of_one_rank_keeps_the_axis_of_the_classes():
    logits = paddle.to_tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    label = paddle.to_tensor([2, 1])
    loss = ParallelCrossEntropy(ignore_index=1)(logits, label)
    plain = paddle.nn.functional.cross_entropy(logits, label, reduction="none", ignore_index=1)
    assert loss.shape == [2, 1]
    assert loss.flatten().tolist() == plain.tolist()
    with pytest.raises(AssertionError, match="does not fit"):
        ParallelCrossEntropy()(logits, paddle.to_tensor([2, 1, 0]))


@pytest.mark.parametrize(
    "make",
    [
        lambda group: ColumnParallelLinear(2, 2, mp_group=group),
        lambda group: RowParallelLinear(2, 2, mp_group=group),
        lambda group: VocabParallelEmbedding(2, 2, mp_group=group),
        lambda group: ParallelCrossEntropy(mp_group=group),
    ],
)
def test_parallel_layers_refuse_more_ranks_where_they_are_made(make):
    with pytest.raises(NotSupported, match="its group has 2 ranks"):
        make(Group(0, 1, [0, 1]))


def test_a_list_of_layers_runs_in_order():
    double = LayerDesc(paddle.nn.Linear, 2, 2, bias_attr=False)
    shared = SharedLayerDesc("tied", paddle.nn.Linear, None, "weight", 2, 3)
    back = SharedLayerDesc(
        "tied", paddle.nn.Linear, lambda layer, x: x @ layer.weight.t(), "weight", 2, 3
    )
    paddle.seed(5)
    drawn = paddle.rand([2]).tolist()
    paddle.seed(5)
    model = PipelineLayer([double, paddle.nn.functional.relu, shared, back], num_stages=1)
    assert paddle.rand([2]).tolist() == drawn
    assert set(model.state_dict()) == {
        "0.weight", "shared_layers.tied.weight", "shared_layers.tied.bias"
    }  # fmt: skip
    x = paddle.to_tensor([[1.0, -2.0]])
    tied = model.shared_layers["tied"]
    hidden = paddle.nn.functional.relu(x @ model.state_dict()["0.weight"])
    assert np.allclose(model(x), tied(hidden) @ tied.weight.t())
    assert repr(double) == "Linear(2, 2, bias_attr=False)"
    again = PipelineLayer([double], num_stages=1)
    assert again.state_dict()["0.weight"].tolist() == model.state_dict()["0.weight"].tolist()


def test_a_list_of_layers_can_be_computed_again_in_backward():
    layers = [paddle.nn.Linear(2, 2), paddle.nn.functional.relu, paddle.nn.Linear(2, 1)]
    plain = PipelineLayer(layers, num_stages=1)
    lean = PipelineLayer(layers, num_stages=1, recompute_interval=2, recompute_ctx={})
    grads = []
    for model in (plain, lean):
        x = paddle.to_tensor([[1.0, 2.0]], stop_gradient=False)
        model(x).sum().backward()
        grads.append([x.grad.tolist(), layers[0].weight.grad.tolist()])
        model.clear_gradients()
    assert grads[0] == grads[1]


def test_pipelines_of_several_stages_are_refused():
    with pytest.raises(NotSupported, match="one stage only"):
        PipelineLayer([paddle.nn.Linear(2, 2)], num_stages=2)
    with pytest.raises(ValueError, match="num_stages or topology"):
        PipelineLayer([])
    with pytest.raises(TypeError, match="derived class of Layer"):
        LayerDesc(paddle.nn.functional.relu)


def test_on_one_rank_the_parts_of_a_tensor_are_the_tensor():
    x = paddle.ones([2])
    for same in (
        mp_ops._c_identity, mp_ops._c_split, mp_ops._c_concat, mp_ops._mp_allreduce,
        sequence.ScatterOp.apply, sequence.GatherOp.apply, sequence.AllGatherOp.apply,
        sequence.ReduceScatterOp.apply,
    ):  # fmt: skip
        assert same(x) is x
    assert mp_ops._c_identity(x, Group(-1, 1, [1, 2])) is None
    with pytest.raises(AssertionError, match="must be SUM"):
        mp_ops._mp_allreduce(x, op=paddle.distributed.ReduceOp.MAX)
    weight = paddle.nn.Linear(2, 2).weight
    assert not sequence.is_sequence_parallel_parameter(weight)
    sequence.mark_as_sequence_parallel_parameter(weight)
    assert sequence.is_sequence_parallel_parameter(weight)
