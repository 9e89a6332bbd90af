"""Run the cases of ``model_runs`` with real Paddle 2.6.2 and store what came out.

Run it with an interpreter that has that version: ``FLAGS_enable_pir_api=0 python
tests/goldens/make_model.py``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import model_runs  # noqa: E402

import paddle  # noqa: E402


def save_files() -> dict[str, list[float]]:
    """A trained model of each mode as Paddle saves it; returns the losses of its next steps."""
    told = {}
    for mode in ("dygraph", "static"):
        path = HERE / "data" / "files" / f"model_{mode}"
        told[mode] = model_runs.in_mode(paddle, mode, lambda p=path: model_runs.saved(paddle, p))
    return told


def main() -> None:
    if not paddle.version.full_version.startswith("2.6"):
        raise SystemExit(f"needs Paddle 2.6, this is {paddle.version.full_version}")
    stored = {case: model_runs.run(paddle, case) for case in model_runs.CASES}
    stored["files"] = save_files()
    text = json.dumps(stored, separators=(",", ":")).replace('"static/', '\n"static/')
    (HERE / "data" / "model.json").write_text(text.replace('"dygraph/', '\n"dygraph/') + "\n")


if __name__ == "__main__":
    main()
