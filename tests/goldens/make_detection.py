"""Run the programs of ``detection_programs`` with real Paddle 1.8.5 and store what came out.

Run it with an interpreter that has it: ``python tests/goldens/make_detection.py``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import detection_programs  # noqa: E402

import paddle.fluid as fluid  # noqa: E402


def main() -> None:
    rows = [detection_programs.run(fluid, *case) for case in detection_programs.CASES]
    np.savez_compressed(str(HERE / "data" / "detection_map.npz"), rows=np.array(rows))
    print(np.array(rows))


if __name__ == "__main__":
    main()
