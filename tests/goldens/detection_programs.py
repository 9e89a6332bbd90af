"""Programs that measure detected boxes, built from one text by Paddle 1.8.5 and by argosy.

Importable by Python 3.7.
"""

from __future__ import annotations

import numpy as np

# the version of the average, and whether difficult boxes count; None: nobody says which are
CASES = [(kind, hard) for kind in ("integral", "11point") for hard in (None, True, False)]


def _boxes(rng, count):
    corner, extent = rng.rand(count, 2) * 0.5, rng.rand(count, 2) * 0.4 + 0.1
    return np.concatenate([corner, corner + extent], 1)


def _image(rng, count):
    """Labels, and detections: near ones, one of them twice, and wrong ones."""
    boxes, kinds = _boxes(rng, count), rng.randint(1, 4, [count, 1])
    label = np.concatenate([kinds, rng.randint(0, 2, [count, 1]), boxes], 1)
    near = boxes + rng.randn(count, 4) * 0.04
    hits = np.concatenate([kinds, rng.rand(count, 1), near], 1)
    again = hits[:1] + np.array([[0, -0.05, 0.01, 0, 0, 0.01]])
    wrong = np.concatenate([rng.randint(0, 4, [2, 1]), rng.rand(2, 1), _boxes(rng, 2)], 1)
    return label, np.concatenate([hits, again, wrong])


def _batches(fluid):
    rng = np.random.RandomState(7)
    place = fluid.CPUPlace()
    for counts in ([2, 3, 4], [3, 0, 4], [1, 5, 2]):
        labels, found = zip(*[_image(rng, count) for count in counts])  # noqa: B905  Python 3.7
        label, sizes = np.concatenate(labels), [[len(part) for part in labels]]
        rows, found_sizes = np.concatenate(found), [[len(part) for part in found]]
        yield {
            "found": fluid.create_lod_tensor(rows.astype("float32"), found_sizes, place),
            "kind": fluid.create_lod_tensor(label[:, :1].astype("int32"), sizes, place),
            "hard": fluid.create_lod_tensor(label[:, 1:2].astype("int32"), sizes, place),
            "box": fluid.create_lod_tensor(label[:, 2:].astype("float32"), sizes, place),
        }


def run(fluid, kind, hard):
    """The precision of each batch and of all so far; before the last batch all is forgotten."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        shapes = {"found": (6, "float32"), "kind": (1, "int32"), "box": (4, "float32")}
        shapes["hard"] = (1, "int32")
        data = {
            name: fluid.data(name, [None, width], dtype, lod_level=1)
            for name, (width, dtype) in shapes.items()
        }
        metric = fluid.metrics.DetectionMAP(
            data["found"],
            data["kind"],
            data["box"],
            None if hard is None else data["hard"],
            class_num=4,
            overlap_threshold=0.4,
            evaluate_difficult=hard is not False,
            ap_version=kind,
        )
    exe, rows = fluid.Executor(fluid.CPUPlace()), []
    with fluid.scope_guard(fluid.Scope()):
        exe.run(startup)
        batches = list(_batches(fluid))
        for i, feed in enumerate([*batches, batches[1]]):
            if i == len(batches):
                metric.reset(exe)
            found = exe.run(main, feed=feed, fetch_list=list(metric.get_map_var()))
            rows.append([np.asarray(value).reshape(-1)[0] for value in found])
    return np.array(rows)
