"""``python -m paddle.distributed.launch``: from a command line to a finished job and its exit
code.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn

import torch

from argosy.foundation import env
from argosy.foundation.errors import ArgosyError, ConfigError
from argosy.runtime.comm.store_server import StoreFailed
from argosy.runtime.comm.token import TOKEN_FILE
from argosy.runtime.launch import flags, spec
from argosy.runtime.launch.collective_job import run_collective
from argosy.runtime.launch.observation import Observation
from argosy.runtime.launch.supervisor import kept_back
from argosy.runtime.launch.terminal import Terminal

_WRONG_CALL = 2


def run(argv: Sequence[str] | None = None, is_fleet: bool = False) -> NoReturn:
    """Be the program: run the job, of ``sys.argv`` by default, and end this process with its exit
    code.
    """
    code = main(argv, is_fleet)
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
    say = partial(print, file=sys.stderr, flush=True)
    try:
        wanted = spec.parse(arguments, env.everything(), torch.cuda.device_count(), is_fleet)
        if wanted.falls_back_to_cpu and wanted.scheduling is None:
            say(
                "launch: PyTorch sees no GPU here; the cards that were named become "
                f"{wanted.nproc} CPU worker(s)"
            )
        if wanted.token_file:
            env.update({TOKEN_FILE: os.path.abspath(wanted.token_file)})
        if wanted.script.endswith(".py") and not Path(wanted.script).exists():
            raise ConfigError(f"launch: there is no script {wanted.script!r} in {Path.cwd()}")
        with kept_back(), Terminal() as terminal:
            return _run_job(wanted, terminal)
    except StoreFailed as error:
        say(f"launch: {error}")
        return 1
    except ArgosyError as error:
        say(f"{type(error).__name__}: {error}")
        return _WRONG_CALL
    except OSError as error:  # of the log folder, as a rule
        say(f"launch: {error}")
        return _WRONG_CALL
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _run_job(wanted: spec.LaunchSpec, terminal: Terminal) -> int:
    """Only the kind of job that is wanted is imported."""
    if wanted.scheduling is not None:
        from argosy.runtime.launch.schedulers.slurm import run_scheduled

        return run_scheduled(wanted, wanted.scheduling, terminal.print)
    with Observation(wanted, terminal) as seen:
        if wanted.ps is not None:
            from argosy.runtime.launch.servers.job import run_servers

            return run_servers(wanted, wanted.ps, seen)
        if wanted.meets_at_master:
            from argosy.runtime.launch.elastic import run_host

            return run_host(wanted, seen)
        return run_collective(wanted, seen)
