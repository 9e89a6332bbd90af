"""The command ``argosy``: ``argosy NAME ...`` is ``python -m MODULE ...`` of the table below.

A new subcommand is a row: a module that can be run with ``python -m`` and reads ``sys.argv``.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from argosy._release import VERSION
from argosy.foundation.errors import ArgosyError, nearest

_WRONG_CALL = 2
_HELP = ("-h", "--help", "help")


@dataclass(frozen=True)
class Subcommand:
    """One row: what is run, what it does, a call that shows it."""

    module: str
    summary: str
    example: str
    usage: str = ""  # where the module does not print its own


SUBCOMMANDS = {
    "run": Subcommand(
        "argosy.alias",
        "run a script in which `import paddle` is argosy, beside a real Paddle too",
        "argosy run train.py --epochs 3",
        usage="argosy run [options of python] script.py | -m module | -c code [arguments]",
    ),
    "launch": Subcommand(
        "argosy.distributed.launch",
        "start the processes of a job on this host (the same as fleetrun)",
        "argosy launch --nproc_per_node 2 train.py",
    ),
    "top": Subcommand(
        "argosy.jobs.top",
        "show what a running job is doing: steps, loss, where each process spends its time",
        "argosy top log",
    ),
    "dump": Subcommand(
        "argosy.jobs.dump",
        "show where every process of a running job is, with the stacks of all threads",
        "argosy dump log",
    ),
    "trace": Subcommand(
        "argosy.jobs.trace",
        "record the next steps of all processes of a running job, for Perfetto",
        "argosy trace log --steps 10",
    ),
    "report": Subcommand(
        "argosy.jobs.report",
        "write the report of a run whose launcher was killed, or that still runs",
        "argosy report log",
    ),
    "prove": Subcommand(
        "argosy.jobs.prove",
        "kill the processes of a job, again and again, and prove that it ends as undisturbed",
        "argosy prove --faults 5 --nproc_per_node 2 train.py",
    ),
    "build": Subcommand(
        "argosy.jobs.build",
        "compile what torch's DDP needs to keep its gradients in shared memory",
        "argosy build",
    ),
    "env": Subcommand(
        "argosy.env",
        "show which launcher has started this process, and what a job here would be",
        "argosy env",
        usage="argosy env",
    ),
    "ps": Subcommand(
        "argosy.ps",
        "look at parameter servers that run, or at a checkpoint of theirs",
        "argosy ps inspect 127.0.0.1:6170",
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line, of ``sys.argv`` by default; return the exit code for the shell."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments:
        print(help_text(), file=sys.stderr)
        return _WRONG_CALL
    name, *rest = arguments
    if name in _HELP:
        print(help_text())
        return 0
    if name in ("--version", "-V"):
        print(f"argosy {VERSION}")
        return 0
    if name not in SUBCOMMANDS:
        hint = nearest(name, list(SUBCOMMANDS))
        print(f"argosy: there is no command {name!r}.{hint}\n\n{help_text()}", file=sys.stderr)
        return _WRONG_CALL
    try:
        return _run(name, rest)
    except ArgosyError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return _WRONG_CALL


def _run(name: str, rest: Sequence[str]) -> int:
    chosen = SUBCOMMANDS[name]
    if rest[:1] in (["-h"], ["--help"]):
        print(f"argosy {name}: {chosen.summary}\nexample: {chosen.example}\n")
        if chosen.usage:
            print(f"usage: {chosen.usage}")
            return 0
    if name == "run":  # becomes another program: nothing of this one is to be handed on
        from argosy.alias import run

        run(rest)
    sys.argv[:] = [f"argosy {name}", *rest]
    runpy.run_module(chosen.module, run_name="__main__", alter_sys=True)
    return 0


def help_text() -> str:
    """What ``argosy --help`` prints."""
    rows = [
        line
        for name, one in SUBCOMMANDS.items()
        for line in (f"  {name:<8}{one.summary}", f"{'':<10}{one.example}")
    ]
    return "\n".join([
        "usage: argosy COMMAND ...    argosy COMMAND --help    argosy --version",
        "",
        "Paddle's distributed training system on the PyTorch engine.",
        "",
        *rows,
    ])  # fmt: skip


def script() -> NoReturn:
    """The entry point of the installed command."""
    sys.exit(main())
