"""``python -m argosy.ps inspect <checkpoint folder or endpoint>``: servers and tables, the heaviest
first, and single rows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from argosy.foundation.errors import ArgosyError, ConfigError
from argosy.ps.inspection import inspect_checkpoint, inspect_servers
from argosy.runtime.comm.token import given

_EXAMPLES = """examples:
  argosy ps inspect 127.0.0.1:6170,127.0.0.1:6171
  argosy ps inspect checkpoint --table emb --id 42"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code for the shell."""
    arguments = _parser().parse_args(argv)
    try:
        if (arguments.id is None) != (arguments.table is None):
            raise ConfigError("inspect: a row needs both --table and --id")
        row = None if arguments.id is None else (arguments.table, arguments.id)
        if Path(arguments.what).exists():
            print(inspect_checkpoint(Path(arguments.what), row))
        elif ":" not in arguments.what or "/" in arguments.what:
            raise ConfigError(f"inspect: {arguments.what!r} is no folder, and no host:port either")
        else:
            root = Path(arguments.tls_root).read_bytes() if arguments.tls_root else None
            print(
                inspect_servers(
                    arguments.what, row, given(arguments.token_file), arguments.timeout, root
                )
            )
    except (ArgosyError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="argosy ps",
        description="Look at parameter servers that run, or at a checkpoint of theirs.",
        epilog="example: argosy ps inspect checkpoint",
    )
    inspect = parser.add_subparsers(dest="command", required=True).add_parser(
        "inspect",
        help="show servers or a checkpoint",
        description="Show servers and their tables, the heaviest first, or one row of a table.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    inspect.add_argument(
        "what", help="a checkpoint's folder, or host:port of servers, separated by commas"
    )
    inspect.add_argument("--table", help="with --id: show a row of this table")
    inspect.add_argument("--id", type=int, help="the row's id")
    inspect.add_argument(
        "--token_file", default="", help="file with the job's token (default: ARGOSY_TOKEN)"
    )
    inspect.add_argument(
        "--tls_root", help="file with the certificates to trust (default: ARGOSY_TLS_ROOT)"
    )
    inspect.add_argument("--timeout", type=float, default=5.0, help="seconds to wait for a server")
    return parser


if __name__ == "__main__":
    sys.exit(main())
