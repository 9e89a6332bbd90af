"""``argosy report [JOB]``: the report of a run that was cut off before it could write one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from argosy.foundation.errors import ArgosyError
from argosy.runtime.observe import jobs, parquet, report


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code for the shell."""
    parser = argparse.ArgumentParser(prog="argosy report", description=__doc__)
    parser.add_argument("job", nargs="?", default="log", help="log folder of the job (log)")
    arguments = parser.parse_args(argv)
    try:
        found = jobs.find(arguments.job)
        path = found.folder / report.NAME
        if found.pid:
            path = report.write(found.folder)
        elif parquet.is_unfinished(found.folder):
            path = report.write(found.folder)
            parquet.finish(found.folder)
    except ArgosyError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
