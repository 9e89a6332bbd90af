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


def main() -> None:
    if not paddle.version.full_version.startswith("2.6"):
        raise SystemExit(f"needs Paddle 2.6, this is {paddle.version.full_version}")
    stored = {case: model_runs.run(paddle, case) for case in model_runs.CASES}
    text = json.dumps(stored, separators=(",", ":")).replace('"static/', '\n"static/')
    (HERE / "data" / "model.json").write_text(text.replace('"dygraph/', '\n"dygraph/') + "\n")


if __name__ == "__main__":
    main()
