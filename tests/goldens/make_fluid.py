"""Write the golden data of ``paddle.fluid``: run with a Python 3.7 that has real Paddle 1.8.5.

    PATH_TO_PADDLE_VENV/bin/python tests/goldens/make_fluid.py [family ...]
"""

import importlib
import pkgutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import paddle.fluid as fluid
from goldens import cases_fluid as families
from goldens import harness


def main(wanted):
    if hasattr(fluid, "_missing"):
        raise SystemExit("this interpreter's paddle is argosy; golden data must come from real Paddle")
    for info in pkgutil.iter_modules(families.__path__):
        if wanted and info.name not in wanted:
            continue
        cases = importlib.import_module("goldens.cases_fluid." + info.name).cases
        for case in cases.items.values():
            case.run = inside_guard(case.run)
        arrays, index = harness.record(cases, fluid)
        harness.save(cases.family, arrays, index)
        size = (harness.DATA / (cases.family + ".npz")).stat().st_size
        print("%s: %d cases, %d KB" % (cases.family, len(index), size // 1024))


def inside_guard(run):
    def guarded(fluid, draw):
        with fluid.dygraph.guard(fluid.CPUPlace()):
            return run(fluid, draw)

    return guarded


if __name__ == "__main__":
    main(sys.argv[1:])
