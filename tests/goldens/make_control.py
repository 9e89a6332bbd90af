"""Run the programs of ``control_programs`` with real Paddle 2.6.2 and store what they fetch.

Run it with an interpreter that has that version: ``FLAGS_enable_pir_api=0 python
tests/goldens/make_control.py``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import control_programs  # noqa: E402

import paddle  # noqa: E402


def main() -> None:
    if not paddle.version.full_version.startswith("2.6"):
        raise SystemExit(f"needs Paddle 2.6, this is {paddle.version.full_version}")
    paddle.enable_static()
    stored = {}
    for name in control_programs.CASES:
        for turn, values in enumerate(control_programs.run(paddle, name)):
            stored.update({f"{name}/{turn}/{i}": value for i, value in enumerate(values)})
    np.savez_compressed(HERE / "data" / "control_programs.npz", **stored)


if __name__ == "__main__":
    main()
