"""ParallelEnv and the checks of init_parallel_env, in one process."""

from __future__ import annotations

import pytest

import paddle
import paddle.distributed as dist

VARIABLES = (
    "PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", "PADDLE_CURRENT_ENDPOINT",
    "PADDLE_TRAINER_ENDPOINTS", "PADDLE_DISTRI_BACKEND",
    "PADDLE_MASTER", "MASTER_ADDR", "MASTER_PORT", "FLAGS_nccl_nrings", "FLAGS_selected_gpus",
    "PADDLE_PG_TIMEOUT",
)  # fmt: skip


@pytest.fixture(autouse=True)
def variables(monkeypatch):
    """A process that no launcher has started; the test sets what it needs."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)

    def set_all(**values):
        for name, value in values.items():
            monkeypatch.setenv(name, str(value))

    return set_all


def test_defaults():
    env = dist.ParallelEnv()
    assert (env.rank, env.world_size, env.device_id, env.device_type) == (0, 1, 0, "")
    assert (env.local_rank, env.nranks, env.dev_id) == (0, 1, 0)
    assert (env.current_endpoint, env.trainer_endpoints) == ("", [""])
    assert (env.nrings, env.pg_timeout) == (1, 1800000)
    assert (dist.get_rank(), dist.get_world_size()) == (0, 1)


def test_values(variables):
    variables(
        PADDLE_TRAINER_ID=2,
        PADDLE_TRAINERS_NUM=4,
        FLAGS_selected_gpus="3,5",
        PADDLE_TRAINER_ENDPOINTS="a:1,b:2",
        PADDLE_CURRENT_ENDPOINT="b:2",
        FLAGS_nccl_nrings=8,
        PADDLE_PG_TIMEOUT=1000,
    )
    env = dist.ParallelEnv()
    assert (env.rank, env.local_rank, env.world_size, env.nranks) == (2, 2, 4, 4)
    assert (env.device_id, env.dev_id, env.nrings, env.pg_timeout) == (3, 3, 8, 1000)
    assert (env.current_endpoint, env.trainer_endpoints) == ("b:2", ["a:1", "b:2"])
    assert (dist.get_rank(), dist.get_world_size()) == (2, 4)


@pytest.mark.parametrize("rings", [0, 9])
def test_number_of_rings(variables, rings):
    variables(FLAGS_nccl_nrings=rings)
    with pytest.raises(AssertionError, match=f"from 1 to 8, but is {rings}"):
        dist.ParallelEnv()


def test_not_a_number(variables):
    variables(PADDLE_TRAINER_ID="first")
    with pytest.raises(ValueError, match="PADDLE_TRAINER_ID must be an integer, but is 'first'"):
        dist.ParallelEnv()


def test_one_process_warns():
    with pytest.warns(UserWarning, match="not a parallel execution environment"):
        assert dist.init_parallel_env() is None
    assert not dist.is_initialized()
    assert dist.is_available()


@pytest.mark.parametrize("missing", ["PADDLE_TRAINER_ID", "PADDLE_CURRENT_ENDPOINT"])
def test_missing_variables_are_named(variables, monkeypatch, missing):
    variables(PADDLE_TRAINERS_NUM=2, PADDLE_TRAINER_ID=0, PADDLE_CURRENT_ENDPOINT="127.0.0.1:1")
    monkeypatch.delenv(missing)
    with pytest.raises(ValueError, match=f"{missing} is not set"):
        dist.init_parallel_env()


def test_rank_outside_the_world(variables):
    variables(PADDLE_TRAINERS_NUM=2, PADDLE_TRAINER_ID=2, PADDLE_CURRENT_ENDPOINT="127.0.0.1:1")
    with pytest.raises(AssertionError, match="PADDLE_TRAINER_ID is 2 and PADDLE_TRAINERS_NUM 2"):
        dist.init_parallel_env()


def test_unknown_backend(variables):
    variables(PADDLE_TRAINERS_NUM=2, PADDLE_DISTRI_BACKEND="glooo")
    with pytest.raises(ValueError, match=r"received 'glooo'\. Did you mean 'gloo'"):
        dist.init_parallel_env()


def test_nowhere_to_meet(variables):
    variables(PADDLE_TRAINERS_NUM=2, PADDLE_TRAINER_ID=0, PADDLE_CURRENT_ENDPOINT="127.0.0.1:1")
    with pytest.raises(
        ValueError, match="MASTER_ADDR with MASTER_PORT, PADDLE_MASTER and PADDLE_TRAINER_ENDPOINTS"
    ):
        dist.init_parallel_env()


def test_where_to_meet(variables, monkeypatch):
    """MASTER_ADDR with MASTER_PORT comes before PADDLE_MASTER, that before the first trainer."""
    met = []

    class Met(Exception):
        pass

    def connect(endpoint, rank, timeout_s):
        met.append((endpoint, timeout_s))
        raise Met

    monkeypatch.setattr("argosy.distributed.job.connect", connect)
    variables(
        PADDLE_TRAINERS_NUM=2,
        PADDLE_TRAINER_ID=1,
        PADDLE_CURRENT_ENDPOINT="h:2",
        PADDLE_TRAINER_ENDPOINTS="h:1,h:2",
    )
    for more in (
        {},
        {"PADDLE_MASTER": "h:3"},
        {"MASTER_ADDR": "h"},
        {"MASTER_PORT": 4, "PADDLE_PG_TIMEOUT": 5000},
    ):
        variables(**more)
        with pytest.raises(Met):
            dist.init_parallel_env()
    assert [endpoint for endpoint, _ in met] == ["h:1", "h:3", "h:3", "h:4"]
    # what is left
    assert [timeout_s for _, timeout_s in met] == pytest.approx(
        [1800.0, 1800.0, 1800.0, 5.0], abs=0.5
    )


def test_calls_before_init():
    x = paddle.ones([2])
    calls = (
        lambda: dist.all_reduce(x),
        lambda: dist.barrier(),
        lambda: dist.all_gather_object([], 1),
        lambda: dist.get_backend(),
        lambda: dist.new_group([0]),
    )
    for call in calls:
        with pytest.raises(RuntimeError, match="init_parallel_env"):
            call()
    with pytest.warns(UserWarning, match="Group 0 is not initialized"):
        assert dist.get_group() is None


def test_data_parallel_before_init(variables):
    variables(PADDLE_TRAINERS_NUM=2)
    with pytest.raises(AssertionError, match="ParallelContext must be initialized before"):
        paddle.DataParallel(paddle.nn.Linear(2, 2))


def test_messages_that_cannot_be():
    with pytest.raises(RuntimeError, match="P2POp: op must be"):
        dist.P2POp(dist.all_reduce, paddle.ones([1]), 1)
    with pytest.raises(RuntimeError, match="list of P2POp"):
        dist.batch_isend_irecv((1, 2))
    with pytest.raises(IndexError):
        dist.batch_isend_irecv([])


def test_module_paths():
    from paddle.distributed import collective, communication, parallel
    from paddle.distributed.communication.group import Group
    from paddle.distributed.parallel import DataParallel, ParallelEnv, sync_params_buffers

    assert DataParallel is paddle.DataParallel
    assert ParallelEnv is dist.ParallelEnv
    assert parallel.init_parallel_env is dist.init_parallel_env
    assert sync_params_buffers is parallel.sync_params_buffers
    assert collective.all_reduce is communication.all_reduce is dist.all_reduce
    assert communication.stream is dist.stream
    assert Group is dist.Group


@pytest.mark.parametrize(
    ("size", "operation", "axis", "error", "message"),
    [
        ((7, 8), "embedding", 0, AssertionError, "divisible by num_partitions"),
        ((8, 7), "linear", 1, AssertionError, "divisible by num_partitions"),
        ((8, 8), "conv", 0, AssertionError, "must be one of"),
        ((8, 8), "embedding", 1, AssertionError, "first axis"),
        ((8, 8), "linear", 2, ValueError, "axis must be 0 or 1"),
        ((8, 8), "linear", 1, NotImplementedError, "tensor parallelism is not supported"),
    ],
)
def test_split_checks_its_call_and_refuses(size, operation, axis, error, message):
    with pytest.raises(ValueError, match="dynamic"):
        dist.split(None, size, "linear", axis, num_partitions=2)
    paddle.enable_static()
    try:
        with pytest.raises(error, match=message):
            dist.split(None, size, operation, axis, num_partitions=2)
    finally:
        paddle.disable_static()


def test_an_unknown_backend_is_a_plain_value_error():
    with pytest.raises(ValueError, match="something") as caught:
        dist.spawn(print, backend="something", nprocs=2)
    assert type(caught.value) is ValueError


def test_tensors_as_one_flat_tensor_and_back():
    first, second = paddle.ones([2, 3]), paddle.zeros([4])
    groups = dist.parallel._coalesce_tensors({0: [first, second]})
    assert groups[0][0].tolist() == [1.0] * 6 + [0.0] * 4
    groups[0][0].add_(paddle.to_tensor(1.0))
    dist.parallel._split_tensors(groups)
    assert (first.tolist(), second.tolist()) == ([[2.0] * 3] * 2, [1.0] * 4)
    dist.parallel._reshape_inplace(first, [3, 2])
    assert first.shape == [3, 2]


@pytest.mark.parametrize("arguments", [(-1, 2, [-1, -2]), (-1, 2, 0, [-1, -2])])
def test_a_group_described_by_hand_has_no_transport(arguments):
    group = dist.collective.Group(*arguments)
    assert group.ranks == [-1, -2]
    assert not group.is_member()
    assert group.process_group is None
    assert dist.barrier(group) is None
