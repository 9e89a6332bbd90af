"""Write the golden data: run with an interpreter that has real Paddle 3.3.1.

PATH_TO_PADDLE_VENV/bin/python tests/goldens/make.py [family ...]
"""

import importlib
import pkgutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import paddle
from goldens import cases as families
from goldens import harness


def main(wanted: list[str]) -> None:
    if hasattr(paddle, "from_torch"):
        raise SystemExit(
            "this interpreter's paddle is argosy; golden data must come from real Paddle"
        )
    for info in pkgutil.iter_modules(families.__path__):
        if wanted and info.name not in wanted:
            continue
        cases = importlib.import_module(f"goldens.cases.{info.name}").cases
        arrays, index = harness.record(cases, paddle)
        harness.save(info.name, arrays, index)
        size = (harness.DATA / f"{info.name}.npz").stat().st_size
        print(f"{info.name}: {len(index)} cases, {size / 1024:.0f} KB")


if __name__ == "__main__":
    main(sys.argv[1:])
