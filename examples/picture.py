"""The picture of the demo in the README: what ``make demo`` shows, from a real run.

python examples/picture.py docs/demo.svg
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

from argosy.foundation.errors import ArgosyError
from argosy.runtime.observe import jobs, panel
from argosy.runtime.observe.pacing import Paces

_WIDTH = 108
_AFTER = ("launch: step", "launch: report")
_SHOWN_STEP = 600  # the panel is that of this step


def run(folder: Path) -> tuple[str, object]:
    """What the launcher has said in a run of the demo, and its panel late in it."""
    shown: object = None
    with (folder / "said").open("wb") as said:
        demo = Path(__file__).with_name("demo.py")
        process = subprocess.Popen(
            [sys.executable, str(demo)], cwd=folder, stderr=said, stdout=subprocess.DEVNULL
        )
        job, paces = None, None
        while process.poll() is None:
            time.sleep(0.3)
            try:
                found = jobs.find(str(folder / "log"))
                if job is None or found.facts["round"] != job.facts["round"]:
                    job, paces = found, Paces(found.labels, found.readers())
            except ArgosyError:  # it has not begun, is between two rounds, or has ended
                continue
            assert paces is not None
            now = paces.read()
            if shown is None and any(pace.told >= _SHOWN_STEP for pace in now):
                shown = panel.panel(now, time.perf_counter_ns())
    return (folder / "said").read_text(), shown


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        said, shown = run(Path(name))
    console = Console(record=True, width=_WIDTH, file=io.StringIO())
    console.print("$ make demo", style="bold", highlight=False)
    for line in said.splitlines():
        if not line.startswith(_AFTER):
            console.print(plain(line), markup=False, highlight=False, overflow="ellipsis")
    if shown is not None:
        console.print(shown)
    for line in said.splitlines():
        if line.startswith("launch: report"):
            console.print(plain(line), markup=False, highlight=False)
    # without the fonts that it would load from elsewhere
    picture = re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title="argosy"), flags=re.S)
    Path(sys.argv[1]).write_text(picture)


def plain(line: str) -> str:
    """A line of the launcher without the paths of this machine."""
    root = f"{Path(__file__).resolve().parents[1]}/"
    known = line.replace(sys.executable, "python").replace(root, "")
    return re.sub(r"\S*/argosy-demo-\w+", "FOLDER", known)


if __name__ == "__main__":
    main()
