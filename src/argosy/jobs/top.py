"""``argosy top [JOB]``: what a running job is doing, from another terminal."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from argosy.foundation.errors import ArgosyError
from argosy.runtime.observe import jobs, panel, tables
from argosy.runtime.observe.pacing import Paces
from argosy.runtime.observe.summary import Pace
from argosy.runtime.observe.tables import TableState

_LOOK_S = 0.5


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code for the shell."""
    arguments = _parser().parse_args(argv)
    try:
        return watch(arguments.job, arguments.once)
    except ArgosyError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0


def watch(name: str, only_once: bool) -> int:
    """Show the job until it ends, or once."""
    found = jobs.find(name)
    if not found.pid:
        print(f"the job of {found.folder} has ended")
        return 1
    is_live = sys.stdout.isatty() and not only_once
    elsewhere = jobs.Elsewhere(found.folder)
    paces = Paces(found.labels, found.readers())
    with _Drawing(is_live) as draw:
        while True:
            time.sleep(_LOOK_S)
            draw([*paces.read(), *elsewhere.paces()], elsewhere.tables())
            if only_once:
                return 0
            now = jobs.find(str(found.folder))
            if not now.pid:
                break
            if now.facts["round"] != found.facts["round"]:  # it was started again
                paces = Paces(now.labels, now.readers())
            found = now
    print("the job has ended")
    return 0


class _Drawing:
    """Draws paces: a live panel, or a line each time."""

    def __init__(self, is_live: bool) -> None:
        self._live = None
        if is_live:
            from rich.live import Live

            self._live = Live(auto_refresh=False)

    def __enter__(self) -> _Drawing:
        if self._live is not None:
            self._live.start()
        return self

    def __call__(self, paces: Sequence[Pace], shown: Sequence[TableState]) -> None:
        now_ns = time.perf_counter_ns()
        if self._live is not None:
            self._live.update(panel.panel(paces, now_ns, shown), refresh=True)
            return
        said = f"; {tables.line(shown)}" if shown else ""
        print(f"{panel.line(paces, now_ns)}{said}", flush=True)

    def __exit__(self, *exc_info: object) -> None:
        if self._live is not None:
            self._live.stop()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="argosy top", description=__doc__)
    parser.add_argument("job", nargs="?", default="log", help="log folder of the job (log)")
    parser.add_argument("--once", action="store_true", help="print one line and end")
    return parser


if __name__ == "__main__":
    sys.exit(main())
