"""Role makers: who a process is, from the environment or from arguments; what is missing or
contradictory is named.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import paddle.distributed.fleet as fleet
from paddle.distributed.fleet.base.role_maker import (
    PaddleCloudRoleMaker,
    Role,
    RoleMakerBase,
    UserDefinedRoleMaker,
)

ENDPOINTS = "127.0.0.1:6170,127.0.0.1:6171,10.0.0.2:6170"
SERVERS = "127.0.0.1:36001,127.0.0.1:36002"
GOLDEN = json.loads(
    (Path(__file__).parents[3] / "goldens" / "data" / "fleet_3.3.1.json").read_text()
)


def test_a_process_without_a_launcher_is_the_only_worker():
    for is_collective in (True, False):
        role = PaddleCloudRoleMaker(is_collective=is_collective)
        assert (role._worker_num(), role._worker_index(), role._is_first_worker()) == (1, 0, True)
        assert (role._is_worker(), role._is_server(), role._is_non_distributed()) == (
            True,
            False,
            True,
        )
        assert (role._server_num(), role._node_num()) == (0, 1)


def test_collective(variables):
    variables(
        PADDLE_TRAINER_ID=2,
        PADDLE_TRAINERS_NUM=3,
        PADDLE_TRAINER_ENDPOINTS=ENDPOINTS,
        PADDLE_RANK_IN_NODE=0,
    )
    role = PaddleCloudRoleMaker(is_collective=True)
    assert (role._worker_index(), role._worker_num(), role._node_num()) == (2, 3, 2)
    assert role._get_trainer_endpoints() == ENDPOINTS.split(",")
    assert role._get_trainer_endpoint() == "10.0.0.2:6170"
    assert role._get_local_rank() == "0"
    assert not role._is_first_worker()
    assert not role._is_non_distributed()
    assert "current_id: 2" in role.to_string()


def test_public_spellings(variables):
    variables(PADDLE_TRAINER_ID=1, PADDLE_TRAINERS_NUM=3, PADDLE_TRAINER_ENDPOINTS=ENDPOINTS)
    role = PaddleCloudRoleMaker(is_collective=True)
    role.generate_role()
    assert (role.worker_index(), role.worker_num(), role.is_worker(), role.is_first_worker()) == (
        1,
        3,
        True,
        False,
    )
    assert (role.is_server(), role.server_num(), role.get_pserver_endpoints()) == (False, 0, [])
    assert role.get_trainer_endpoints() == ENDPOINTS.split(",")


def test_endpoints_say_how_many_workers_there_are(variables):
    variables(PADDLE_TRAINERS_NUM=2)
    assert PaddleCloudRoleMaker(is_collective=True)._is_non_distributed()
    variables(PADDLE_TRAINER_ENDPOINTS=ENDPOINTS)
    role = PaddleCloudRoleMaker(is_collective=True)
    assert (role._worker_num(), role._worker_index()) == (3, 0)
    variables(PADDLE_TRAINER_ENDPOINTS="", PADDLE_MASTER="10.0.0.1:6170", PADDLE_TRAINER_ID=1)
    role = PaddleCloudRoleMaker(is_collective=True)
    assert (role._worker_num(), role._worker_index()) == (2, 1)


def test_the_base_knows_no_roles(capsys):
    role = RoleMakerBase()
    for question in ("_is_worker", "_is_server", "_worker_num", "_role_id", "_node_num"):
        with pytest.raises(NotImplementedError):
            getattr(role, question)()
    assert (role._get_trainer_endpoints(), role._get_pserver_endpoints()) == ([], [])
    assert "role: None, current_id: -1" in role.to_string()
    assert role._all_gather(1, "worker") is None
    assert role._all_reduce(1, "sum", "worker") is None
    role._barrier("worker")
    assert capsys.readouterr().out.count("warning: RoleMakerBase does not have") == 3


def test_a_server_keeps_what_workers_would_exchange(variables):
    variables(
        PADDLE_PSERVERS_IP_PORT_LIST=SERVERS,
        PADDLE_TRAINERS_NUM=2,
        TRAINING_ROLE="PSERVER",
        POD_IP=SERVERS.split(",")[0].split(":")[0],
        PADDLE_PORT=SERVERS.split(",")[0].split(":")[1],
    )
    role = PaddleCloudRoleMaker(init_gloo=False)
    with pytest.warns(UserWarning, match="this process is a server"):
        assert role._all_gather(1, "worker") == 1
    with pytest.warns(UserWarning, match="does not communicate"):
        assert role._all_reduce(1, "sum", "worker") == 1


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"PADDLE_TRAINER_ID": 3, "PADDLE_TRAINER_ENDPOINTS": ENDPOINTS},
        "PADDLE_TRAINER_ID is 3.*below PADDLE_TRAINERS_NUM, which is 3"),
        ({"PADDLE_TRAINER_ID": "x", "PADDLE_TRAINER_ENDPOINTS": ENDPOINTS},
        "PADDLE_TRAINER_ID must be an integer, but is 'x'"),
        (
            {"PADDLE_TRAINER_ID": 0, "PADDLE_TRAINER_ENDPOINTS": ENDPOINTS,
            "PADDLE_CURRENT_ENDPOINT": "127.0.0.1:6171"},
            ("PADDLE_CURRENT_ENDPOINT is 127.0.0.1:6171, but PADDLE_TRAINER_ENDPOINTS gives "
            "127.0.0.1:6170"),
        ),
        ({"PADDLE_TRAINING_ROLE": "PSERVER"}, "PADDLE_TRAINING_ROLE must be TRAINER"),
    ],
)  # fmt: skip
def test_collective_errors(variables, given, problem):
    variables(**given)
    with pytest.raises(ValueError, match=problem):
        PaddleCloudRoleMaker(is_collective=True)._generate_role()


def test_worker_and_server_of_a_parameter_server_job(variables):
    variables(
        PADDLE_PSERVERS_IP_PORT_LIST=SERVERS,
        PADDLE_TRAINERS_NUM=3,
        TRAINING_ROLE="TRAINER",
        PADDLE_TRAINER_ID=1,
    )
    worker = PaddleCloudRoleMaker()
    assert (
        worker._is_worker(),
        worker._worker_index(),
        worker._worker_num(),
        worker._server_num(),
    ) == (True, 1, 3, 2)
    variables(TRAINING_ROLE="PSERVER", POD_IP="127.0.0.1", PADDLE_PORT="36002")
    server = PaddleCloudRoleMaker()
    assert (server._is_server(), server._server_index(), server._role) == (True, 1, Role.SERVER)
    assert server._get_pserver_endpoints() == SERVERS.split(",")
    assert not server._is_first_worker()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "Can not find PADDLE_TRAINERS_NUM"),
        ({"PADDLE_TRAINERS_NUM": 2}, "Can not find TRAINING_ROLE"),
        ({"PADDLE_TRAINERS_NUM": 2, "TRAINING_ROLE": "TRAINER"}, "Can not find PADDLE_TRAINER_ID"),
        ({"PADDLE_TRAINERS_NUM": 2, "TRAINING_ROLE": "PSERVER"}, "Can not find PADDLE_PORT"),
        ({"PADDLE_TRAINERS_NUM": 2, "TRAINING_ROLE": "PSERVER", "PADDLE_PORT": 1},
        "Can not find POD_IP"),
        ({"PADDLE_TRAINERS_NUM": 2, "TRAINING_ROLE": "PSERVER", "PADDLE_PORT": 1,
        "POD_IP": "127.0.0.1"}, "127.0.0.1:1, which PADDLE_PSERVERS_IP_PORT_LIST does not have"),
        ({"PADDLE_TRAINERS_NUM": 2, "TRAINING_ROLE": "COOK"},
        "TRAINING_ROLE must be TRAINER or PSERVER, but is 'COOK'"),
        ({"PADDLE_TRAINERS_NUM": 2, "TRAINING_ROLE": "HETER_TRAINER"}, "heterogeneous"),
    ],
)  # fmt: skip
def test_parameter_server_errors(variables, given, problem):
    variables(PADDLE_PSERVERS_IP_PORT_LIST=SERVERS, **given)
    with pytest.raises(ValueError, match=problem):
        PaddleCloudRoleMaker(is_collective=False)._generate_role()


def test_user_defined():
    role = UserDefinedRoleMaker(
        current_id=1, role=Role.SERVER, worker_num=2, server_endpoints=SERVERS.split(",")
    )
    assert (role._is_server(), role._server_index(), role._worker_num(), role._cur_endpoint) == (
        True,
        1,
        2,
        "127.0.0.1:36002",
    )
    role = UserDefinedRoleMaker(
        is_collective=True, current_id=2, worker_endpoints=ENDPOINTS.split(",")
    )
    assert (role._worker_index(), role._worker_num(), role._cur_endpoint) == (2, 3, "10.0.0.2:6170")
    role = UserDefinedRoleMaker(
        current_id=0, role=Role.WORKER, worker_endpoints=["a:1", "b:1"], server_endpoints=["c:1"]
    )
    assert (role._worker_num(), role._node_num()) == (2, 2)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"role": Role.WORKER, "worker_num": 2}, "current_id"),
        (
            {"current_id": "0", "role": Role.WORKER, "worker_num": 2},
            "current_id must be an int, but is '0'",
        ),
        ({"current_id": 0, "role": Role.WORKER}, "worker_num or worker_endpoints"),
        ({"current_id": 0, "role": 9, "worker_num": 2}, "role must be"),
        ({"current_id": 2, "role": Role.WORKER, "worker_num": 2}, "current_id is 2"),
        ({"current_id": 0, "is_collective": True}, "worker_endpoints is needed"),
        ({"current_id": 5, "is_collective": True, "worker_endpoints": ["a:1"]}, "current_id is 5"),
    ],
)
def test_user_defined_errors(arguments, problem):
    with pytest.raises((AssertionError, ValueError), match=problem):
        UserDefinedRoleMaker(**arguments)._generate_role()


# -- util
# --------------------------------------------------------------------------------------------------


def test_file_shards_are_those_of_paddle():
    for place, expected in GOLDEN["shards"].items():
        rank, workers = map(int, place.split("/"))
        util = fleet.UtilBase()
        util._set_role_maker(
            UserDefinedRoleMaker(
                current_id=rank,
                role=Role.WORKER,
                worker_num=workers,
                server_endpoints=["127.0.0.1:1"],
            )
        )
        assert [util.get_file_shard(list("abcdefg"[:count])) for count in range(8)] == expected


def test_heter_shards_and_wrong_files():
    util = fleet.UtilBase()
    util._set_role_maker(
        UserDefinedRoleMaker(is_collective=True, current_id=1, worker_endpoints=["a:1", "a:2"])
    )
    assert util.get_heter_file_shard(["a", "b", "c"]) == ["c"]
    with pytest.raises(TypeError, match="files should be a list"):
        util.get_file_shard("abc")


def test_talking_alone(capsys):
    util = fleet.UtilBase()
    total = util.all_reduce((1, 2))
    assert isinstance(total, np.ndarray)
    assert total.tolist() == [1, 2]
    assert util.all_gather(7) == [7]
    util.barrier()
    util.barrier("all")
    with pytest.raises(ValueError, match="comm_world must be"):
        util.barrier("everybody")
    with pytest.raises(ValueError, match="no servers"):
        util.all_gather(1, "server")
    with pytest.raises(ValueError, match="mode must be"):
        util.all_reduce([1], "mean")
    util.print_on_rank("here", 0)
    util.print_on_rank("there", 1)
    assert capsys.readouterr().out == "here\n"


def test_talking_in_a_parameter_server_job(variables):
    variables(
        PADDLE_PSERVERS_IP_PORT_LIST=SERVERS,
        PADDLE_TRAINERS_NUM=1,
        TRAINING_ROLE="TRAINER",
        PADDLE_TRAINER_ID=0,
    )
    util = fleet.UtilBase()
    util._set_role_maker(PaddleCloudRoleMaker())
    with pytest.raises(NotImplementedError, match="servers take part only where a launcher serves"):
        util.barrier("all")
