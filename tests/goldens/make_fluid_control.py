"""Run the programs of ``fluid_control`` with real Paddle 1.8.5 and store what they fetch.

Run it with an interpreter that has that version: ``python tests/goldens/make_fluid_control.py``.
"""

import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import fluid_control  # noqa: E402

import paddle  # noqa: E402
from paddle import fluid  # noqa: E402


def main():
    if not paddle.__version__.startswith("1.8"):
        raise SystemExit("needs Paddle 1.8, this is " + paddle.__version__)
    stored = {}
    for name in fluid_control.CASES:
        for turn, values in enumerate(fluid_control.run(fluid, name)):
            stored.update({f"{name}/{turn}/{i}": value for i, value in enumerate(values)})
    np.savez_compressed(os.path.join(HERE, "data", "fluid_control.npz"), **stored)


if __name__ == "__main__":
    main()
