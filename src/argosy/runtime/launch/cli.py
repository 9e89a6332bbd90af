"""``python -m paddle.distributed.launch``: from a command line to a finished job and its exit
code.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

import torch

from argosy.foundation import env
from argosy.foundation.errors import ArgosyError
from argosy.runtime.comm.store_server import StoreFailed
from argosy.runtime.comm.token import TOKEN_FILE
from argosy.runtime.launch import flags, spec
from argosy.runtime.launch.host import run_host

_WRONG_CALL = 2


def run(is_fleet: bool = False) -> NoReturn:
    """Be the program: run the job of ``sys.argv`` and end this process with its exit code."""
    code = main(is_fleet=is_fleet)
    sys.stdout.flush()
    sys.stderr.flush()
    # everything of ours is closed; tearing the interpreter down would take torch's modules apart,
    # for half a second
    os._exit(code)


def main(argv: Sequence[str] | None = None, is_fleet: bool = False) -> int:
    """Run a job and return the exit code for the shell; errors of usage are printed, not raised.

    ``is_fleet`` is for ``python -m paddle.distributed.fleet.launch``, whose log folder looks
    different.
    """
    arguments = sys.argv[1:] if argv is None else argv
    if arguments[:1] in (["-h"], ["--help"]):
        print(flags.help_text())
        return 0
    out = sys.stderr
    try:
        wanted = spec.parse(arguments, env.everything(), torch.cuda.device_count(), is_fleet)
        if wanted.falls_back_to_cpu:
            print(
                "launch: PyTorch sees no GPU here; the cards that were named become "
                f"{wanted.nproc} CPU worker(s)",
                file=out,
            )
        if wanted.token_file:
            env.update({TOKEN_FILE: os.path.abspath(wanted.token_file)})
        if wanted.ps is not None:
            from argosy.runtime.launch.ps_host import run_roles

            return run_roles(wanted, wanted.ps, out)
        if wanted.meets_at_master:
            from argosy.runtime.launch.elastic import run_node

            return run_node(wanted, out)
        return run_host(wanted, out)
    except StoreFailed as error:
        print(f"launch: {error}", file=out)
        return 1
    except ArgosyError as error:
        print(f"{type(error).__name__}: {error}", file=out)
        return _WRONG_CALL
    except OSError as error:  # of the log folder, as a rule
        print(f"launch: {error}", file=out)
        return _WRONG_CALL
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
