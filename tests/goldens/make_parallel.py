"""Write the golden data of ``parallel_programs``: run with a Python 3.7 that has real Paddle 1.8.5.

PATH_TO_PADDLE_VENV/bin/python tests/goldens/make_parallel.py
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import numpy as np  # noqa: E402
import parallel_programs  # noqa: E402


def main():
    os.environ["CPU_NUM"] = "2"
    import paddle.fluid as fluid

    if hasattr(fluid, "missing"):
        raise SystemExit(
            "this interpreter's paddle is argosy; golden data must come from real Paddle"
        )
    stored = {}
    for case in parallel_programs.CASES:
        losses, first, last = parallel_programs.train(fluid, case)
        stored[case + "/losses"] = losses
        stored.update({case + "/first/" + name: value for name, value in first.items()})
        stored.update({case + "/last/" + name: value for name, value in last.items()})
        print(case, losses[0], losses[-1])
    np.savez_compressed(str(HERE / "data" / "parallel_programs.npz"), **stored)


if __name__ == "__main__":
    main()
