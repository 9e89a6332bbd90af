"""What the ranks do in the tests of datasets over several workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import paddle
import paddle.distributed as dist
import paddle.distributed.fleet as fleet
from multiprocess.fleet_base_workers import in_job


@in_job
def global_shuffle(rank: int, world_size: int, folder: str, has_id: bool) -> Any:
    """The samples of this worker after a shuffle over all, and what the sizes are said to be."""
    fleet.init(is_collective=True)
    paddle.enable_static()
    program = paddle.static.Program()
    with paddle.static.program_guard(program):
        x = paddle.static.data("x", [None, 1], "int64", lod_level=1)
        y = paddle.static.data("y", [None, 1], "float32")
    path = Path(folder) / f"part-{rank}"
    lines = [(1000 * rank + n, n % 3 + 1) for n in range(1, 200 * (rank + 1))]
    prefix = "1 id{} " if has_id else ""
    path.write_text(
        "".join(f"{prefix.format(v % 50)}{k} {' '.join([str(v)] * k)} 1 {v}.5\n" for v, k in lines)
    )
    dataset = dist.InMemoryDataset()
    dataset.init(batch_size=64, use_var=[x, y])
    dataset._init_distributed_settings(parse_ins_id=has_id)
    dataset.set_filelist([str(path)])
    dataset.load_into_memory()
    total = dataset.get_memory_data_size(fleet)
    paddle.seed(5)
    dataset.global_shuffle(fleet)
    found = []
    for feed in dataset.feeds(0):
        [offsets], ids = feed["x"].lod(), feed["x"].numpy()[:, 0].tolist()
        found += [
            (ids[a:b], float(v))
            for a, b, v in zip(offsets[:-1], offsets[1:], feed["y"].numpy()[:, 0], strict=True)
        ]
    return found, total, dataset.get_shuffle_data_size(), dataset.get_shuffle_data_size(fleet)
