"""Run the programs of ``decode_programs`` with real Paddle 2.6.2, or those of ``fluid_decode`` with
1.8.5, and store what they fetch.

Run it with an interpreter that has one of them: ``FLAGS_enable_pir_api=0 python
tests/goldens/make_decode.py``.
"""

import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import paddle  # noqa: E402


def main():
    if paddle.__version__.startswith("1.8"):
        import fluid_decode as programs

        from paddle import fluid as face
    elif paddle.__version__.startswith("2.6"):
        import decode_programs as programs

        face = paddle
        paddle.enable_static()
    else:
        raise SystemExit("needs Paddle 1.8 or 2.6, this is " + paddle.__version__)
    stored = {}
    for name in programs.CASES:
        for turn, values in enumerate(programs.run(face, name)):
            stored.update({f"{name}/{turn}/{i}": value for i, value in enumerate(values)})
    path = os.path.join(HERE, "data", programs.__name__ + ".npz")
    np.savez_compressed(path, **stored)


if __name__ == "__main__":
    main()
