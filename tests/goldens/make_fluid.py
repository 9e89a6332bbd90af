"""Write the golden data of ``paddle.fluid``: run with a Python 3.7 that has real Paddle 1.8.5.

PATH_TO_PADDLE_VENV/bin/python tests/goldens/make_fluid.py [family ...]
"""

import importlib
import pkgutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import paddle.fluid as fluid
from goldens import cases_fluid as families
from goldens import harness


def main(wanted):
    if hasattr(fluid, "missing"):
        raise SystemExit(
            "this interpreter's paddle is argosy; golden data must come from real Paddle"
        )
    for info in pkgutil.iter_modules(families.__path__):
        if wanted and info.name not in wanted:
            continue
        cases = importlib.import_module("goldens.cases_fluid." + info.name).cases
        for case in cases.items.values():
            case.run = inside_guard(case.run)
        arrays, index = harness.record(cases, fluid)
        harness.save(cases.family, arrays, index)
        size = (harness.DATA / (cases.family + ".npz")).stat().st_size
        print(f"{cases.family}: {len(index)} cases, {size // 1024} KB")
    if not wanted or "checkpoint" in wanted:
        save_checkpoint(str(harness.DATA / "fluid_checkpoint"))


def save_checkpoint(prefix):
    """Files of a layer and of an optimizer with a schedule, after one step."""
    with fluid.dygraph.guard(fluid.CPUPlace()):
        layer = fluid.dygraph.Linear(2, 1)
        layer.weight.set_value(np.array([[0.6], [-1.4]], "float32"))
        rate = fluid.dygraph.ExponentialDecay(0.1, 1, 0.5)
        adam = fluid.optimizer.Adam(rate, parameter_list=layer.parameters())
        loss = fluid.layers.mean(layer(fluid.dygraph.to_variable(np.ones([1, 2], "float32"))))
        loss.backward()
        adam.minimize(loss)
        fluid.save_dygraph(layer.state_dict(), prefix)
        fluid.save_dygraph(adam.state_dict(), prefix)


def inside_guard(run):
    def guarded(fluid, draw):
        with fluid.dygraph.guard(fluid.CPUPlace()):
            return run(fluid, draw)

    return guarded


if __name__ == "__main__":
    main(sys.argv[1:])
