"""``fluid.metrics.DetectionMAP`` counts as that of real Paddle 1.8.5."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import paddle.fluid as fluid
from goldens import detection_programs

DATA = Path(__file__).resolve().parents[1] / "goldens" / "data" / "detection_map.npz"

pytestmark = pytest.mark.usefixtures("static_mode")


@pytest.mark.parametrize("case", detection_programs.CASES)
def test_measures_a_batch_and_all_so_far(case):
    with np.load(DATA) as stored:
        expected = stored["rows"][detection_programs.CASES.index(case)]
    found = detection_programs.run(fluid, *case)
    # The order of sums differs.
    np.testing.assert_allclose(found, expected, rtol=2e-6, strict=True)


def _metric(lod_level=1, **settings):
    found, kind, box = (
        fluid.data(name, [None, width], "float32", lod_level=lod_level)
        for name, width in (("found", 6), ("kind", 1), ("box", 4))
    )
    return fluid.metrics.DetectionMAP(found, kind, box, **{"class_num": 3, **settings})


def test_names_what_it_keeps_as_paddle_does():
    metric = _metric()
    assert [v.name.split(".")[-1] for v in metric.get_map_var()] == ["tmp_0", "tmp_0"]
    assert metric.has_state.name.endswith("_3_has_state")
    types = [o.type for o in fluid.default_main_program().global_block().ops]
    assert types.count("detection_map") == 2


def test_data_without_sequences_is_refused_in_the_run():
    metric = _metric(lod_level=0)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    rows = {"found": 6, "kind": 1, "box": 4}
    feed = {name: np.ones([2, width], "float32") for name, width in rows.items()}
    with pytest.raises(ValueError, match="as sequences, one per image"):
        exe.run(feed=feed, fetch_list=list(metric.get_map_var()))


def test_an_average_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="integral"):
        _metric(ap_version="median")
    with pytest.raises(TypeError, match="class_num"):
        _metric(class_num=None)
