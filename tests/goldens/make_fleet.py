"""What real Paddle's Fleet says: the defaults of DistributedStrategy, its prototxt, file shards,
metrics. Run by an oracle's interpreter:

<python with Paddle 3.3.1> tests/goldens/make_fleet.py tests/goldens/data/fleet_3.3.1.json
FLAGS_enable_pir_api=0 <python with Paddle 2.6.2> tests/goldens/make_fleet.py
tests/goldens/data/fleet_2.6.2.json
"""

import json
import sys
import tempfile

import numpy as np

import paddle
from paddle.distributed import fleet
from paddle.distributed.fleet.proto import distributed_strategy_pb2 as proto

MESSAGE = 11


def is_repeated(field):
    by_name = getattr(field, "is_repeated", None)
    return by_name if isinstance(by_name, bool) else field.label == 3


def defaults(descriptor):
    """Field -> default value; a nested message is a dict, repeated fields are empty lists."""
    found = {}
    for field in descriptor.fields:
        if is_repeated(field):
            found[field.name] = []
        elif field.type == MESSAGE:
            found[field.name] = defaults(field.message_type)
        else:
            found[field.name] = field.default_value
    return found


def messages(descriptor, found):
    """Every message reachable from ``descriptor``, repeated ones too."""
    if descriptor.name in found:
        return found
    found[descriptor.name] = defaults(descriptor)
    for field in descriptor.fields:
        if field.type == MESSAGE:
            messages(field.message_type, found)
    return found


def switches():
    """What the properties of a fresh strategy read as, where it is plain data."""
    strategy = fleet.DistributedStrategy()
    found = {}
    for name in dir(type(strategy)):
        if not isinstance(getattr(type(strategy), name), property) or name.startswith("fleet_desc"):
            continue
        value = getattr(strategy, name)
        if isinstance(value, dict):
            value = {k: v for k, v in value.items() if isinstance(v, (bool, int, float, str, list))}
        if isinstance(value, (bool, int, float, str, dict)):
            found[name] = value
    return found


def prototxt():
    strategy = fleet.DistributedStrategy()
    strategy.amp = True
    strategy.amp_configs = {
        "init_loss_scaling": 1024.5,
        "custom_white_list": ["conv2d", 'quo"te\n'],
    }
    strategy.a_sync = True
    strategy.lars_configs = {"lars_coeff": 0.002, "epsilon": 1e-9}
    strategy.dgc_configs = {"sparsity": [0.75, 0.9375]}
    strategy.hybrid_configs = {"dp_degree": 2, "mp_configs": {"sync_param": False}}
    strategy.sparse_table_configs = {
        "emb": {
            "table_parameters.emb.shard_num": 7,
            "table_parameters.emb.accessor.embed_sgd_param.adagrad.weight_bounds": [-2, 2],
        }
    }
    with tempfile.NamedTemporaryFile("r", suffix=".prototxt") as file:
        strategy.save_to_prototxt(file.name)
        return file.read()


def shards():
    found = {}
    for workers in (1, 2, 3):
        for rank in range(workers):
            role = fleet.UserDefinedRoleMaker(
                is_collective=False,
                current_id=rank,
                role=fleet.Role.WORKER,
                worker_num=workers,
                server_endpoints=["127.0.0.1:1"],
            )
            role._generate_role()
            util = fleet.UtilBase()
            util._set_role_maker(role)
            found[f"{rank}/{workers}"] = [
                util.get_file_shard(list("abcdefg"[:count])) for count in range(8)
            ]
    return found


class Alone:
    def all_reduce(self, input, mode="sum", comm_world="worker"):
        return np.array(input)


def metrics():
    m, alone = fleet.metrics, Alone()
    draw = np.random.RandomState(0)
    pos, neg = (
        draw.randint(0, 50, (1, 40)).astype("int64"),
        draw.randint(0, 50, (1, 40)).astype("int64"),
    )
    error, total = np.array([3.25], "float32"), np.array([8.0], "float32")
    table = draw.rand(2, 3).astype("float32")
    return {
        "pos": pos.tolist(), "neg": neg.tolist(), "error": error.tolist(), "total": total.tolist(),
        "table": table.tolist(),
        "auc": float(m.auc(pos, neg, util=alone)),
        "auc_empty": float(m.auc(np.zeros_like(pos), neg, util=alone)),
        "mae": m.mae(error, total, util=alone), "rmse": m.rmse(error, total, util=alone),
        "mse": m.mse(error, total, util=alone),
        "acc": m.acc(error, total, util=alone),
        "sum": m.sum(table, util=alone).tolist(), "max": m.max(table, util=alone).tolist(),
        "min": m.min(table, util=alone).tolist(),
    }  # fmt: skip


def main(path):
    found = {
        "version": paddle.__version__,
        "messages": messages(proto.DistributedStrategy.DESCRIPTOR, {}),
        "switches": switches(),
        "prototxt": prototxt(),
        "shards": shards(),
        "metrics": metrics(),
    }
    with open(path, "w") as file:
        json.dump(found, file, indent=1, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
