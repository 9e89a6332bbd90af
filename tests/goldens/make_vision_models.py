"""Build and run the nets of ``vision_models`` with real Paddle 3.3.1 and store what came out.

``python tests/goldens/make_vision_models.py`` with an interpreter that has it. With another Paddle
and ``check`` as argument it compares instead: 2.6.2 has the same nets.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import vision_models as cases  # noqa: E402

import paddle  # noqa: E402

FILE = HERE / "data" / "vision_models.json"


def main() -> None:
    builds = {cases.title(*case): cases.structure(paddle, *case) for case in cases.BUILDS}
    runs = {cases.title(*case): cases.numbers(paddle, *case, step=True) for case in cases.RUNS}
    if "check" in sys.argv:
        stored = json.loads(FILE.read_text())
        assert builds == stored["builds"]
        for name, found in runs.items():
            for kind, numbers in found.items():
                expected = stored["runs"][name][kind]
                scale = np.abs(expected).max(initial=0)
                np.testing.assert_allclose(numbers, expected, 0, 1e-6 * scale, err_msg=name)
        return
    lines = [
        f'"{part}": {{\n'
        + ",\n".join(f"{json.dumps(name)}: {json.dumps(rows[name])}" for name in rows)
        + "\n}"
        for part, rows in (("builds", builds), ("runs", runs))
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
