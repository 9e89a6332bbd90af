from __future__ import annotations

import pytest
import torch

from argosy.foundation.errors import UsageError
from argosy.runtime.comm.backend import ReduceOp
from argosy.runtime.comm.backends.loopback import LoopbackBackend
from argosy.runtime.comm.group import Group
from argosy.runtime.comm.traffic import count_traffic
from argosy.runtime.parallel.compression import half_buckets
from argosy.runtime.parallel.dgc import DeepGradientCompression
from argosy.runtime.parallel.gradient_merge import GradientMerge
from argosy.runtime.parallel.local_sgd import LocalSGD
from argosy.runtime.parallel.overflow import agree_on_overflow, found_anywhere


@pytest.fixture
def group():
    alone = Group(id=0, name="alone", ranks=[0], global_rank=0, transport=LoopbackBackend())
    yield alone
    alone.close()


def test_traffic_counts_what_is_passed_in(group):
    traffic = count_traffic(group)
    assert count_traffic(group) is traffic  # not twice
    backend = group.transport
    ten = torch.zeros(10)
    backend.all_reduce(ten, ReduceOp.SUM)
    backend.broadcast(ten.double(), 0)
    backend.reduce(ten.half(), 0, ReduceOp.SUM)
    backend.all_gather([ten], ten)
    backend.gather([ten], ten, 0)
    backend.scatter(ten, [ten], 0)
    backend.reduce_scatter(ten, [ten], ReduceOp.SUM)
    backend.all_to_all([ten], [ten])
    backend.barrier()
    bucket = backend.make_bucket(7, torch.float16)
    for _ in range(2):
        bucket.publish()
        assert bucket.progress()
        bucket.finish()
    bucket.close()
    assert dict(traffic.bytes_by_kind) == {
        "all_reduce": 40, "broadcast": 80, "reduce": 20, "all_gather": 40, "gather": 40,
        "scatter": 40, "reduce_scatter": 40,
        "all_to_all": 40, "barrier": 0, "bucket": 28,
    }  # fmt: skip
    assert traffic.calls_by_kind["bucket"] == 2
    assert traffic.total_bytes == 368
    traffic.reset()
    assert traffic.total_bytes == 0


def test_half_buckets_leave_other_dtypes_alone(group):
    make = half_buckets(torch.bfloat16)
    cpu = torch.device("cpu")
    for dtype, rounded in ((torch.float32, True), (torch.float64, True), (torch.float16, False)):
        bucket = make(group.transport, 2, dtype, cpu)
        assert bucket.tensor.dtype is dtype
        bucket.tensor.fill_(1.001)
        before = bucket.tensor.clone()
        bucket.publish()
        bucket.finish()
        assert torch.equal(bucket.tensor, before) != rounded
        bucket.close()
    with pytest.raises(UsageError, match=r"float16 or bfloat16, but received torch\.int8"):
        half_buckets(torch.int8)


@pytest.mark.parametrize("k_steps", [1, 3])
def test_merge_tells_the_wrapper(k_steps):
    class Wrapper:
        grad_need_sync = True

    wrapper = Wrapper()
    dense, sparse = torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(2))
    merge = GradientMerge(
        [dense, sparse, torch.nn.Parameter(torch.zeros(1))], k_steps, synchronised=wrapper
    )
    said = []
    for _ in range(2 * k_steps):
        said.append(wrapper.grad_need_sync)
        dense.grad = torch.full((2,), 6.0)
        sparse.grad = torch.sparse_coo_tensor([[1]], [6.0], (2,), check_invariants=False)
        if merge.advance():
            assert dense.grad.tolist() == [6.0 / k_steps] * 2
            assert sparse.grad.to_dense().tolist() == [0.0, 6.0 / k_steps]
    assert said == ([False] * (k_steps - 1) + [True]) * 2
    merge.load_state_dict({"num_merged": k_steps - 1})
    assert wrapper.grad_need_sync


def test_settings_are_checked(group):
    with pytest.raises(UsageError, match="k_steps must be at least 1, but is 0"):
        GradientMerge([], 0)
    with pytest.raises(UsageError, match="k_steps must be at least 1, but is 0"):
        LocalSGD([], group, 0)
    with pytest.raises(UsageError, match=r"below 1, but is \[0.5, 1.0\]"):
        DeepGradientCompression([], group, sparsity=[0.5, 1.0])


def test_dgc_takes_missing_and_sparse_gradients(group):
    params = [torch.ones(4), torch.ones(4)]
    params[1].grad = torch.sparse_coo_tensor([[1]], [6.0], (4,), check_invariants=False)
    DeepGradientCompression(params, group, sparsity=[0.75], min_numel=1).exchange()
    assert params[0].grad.tolist() == [0.0] * 4
    assert params[1].grad.tolist() == [0.0, 6.0, 0.0, 0.0]


def test_overflow_alone(group):
    assert found_anywhere(True, group)
    assert not found_anywhere(False, group)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    assert agree_on_overflow(agree_on_overflow(scaler, group), group) is scaler
    param = torch.nn.Parameter(torch.ones(1))
    sgd = torch.optim.SGD([param], 0.1)
    scaler.scale(param.sum()).backward()
    scaler.step(sgd)
    scaler.update()
    assert param.item() == pytest.approx(0.9)
