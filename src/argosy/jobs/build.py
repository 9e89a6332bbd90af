"""``argosy build``: compiles what torch's DDP needs to keep its buckets in shared memory."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from argosy.foundation.errors import ArgosyError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code for the shell."""
    argparse.ArgumentParser(
        prog="argosy build",
        description="Compile the part of the torch.distributed backend that is C++, once for each "
        "version of torch and Python. It takes half a minute and a C++ compiler; without it, sums "
        "of torch's DDP are copied through shared memory instead of made in place.",
    ).parse_args(argv)
    from argosy.runtime.torch_backend import native  # imports torch

    try:
        print(native.build())
    except ArgosyError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
