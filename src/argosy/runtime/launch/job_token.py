"""The secret of a job on several hosts: the one that was given, else one that the first launcher
makes and shows.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from argosy.foundation.endpoints import Endpoint, is_loopback
from argosy.foundation.errors import ConfigError
from argosy.runtime.comm import token
from argosy.runtime.launch import flags
from argosy.runtime.launch.report import Say

_OF_ONE_HOST = ("rank", "host", "token_file")
_COMMAND = ("python", "-m", "paddle.distributed.launch")


def token_of_job(where: Endpoint, serves: bool, argv: Sequence[str], say: Say) -> str:
    """The secret of the job that meets at ``where``. ``serves``: this launcher serves the meeting
    point.

    If none is given and others can reach ``where``, the launcher that serves it makes one and
    prints the line that starts the other hosts, the only time that the secret is shown; any other
    one is refused.
    """
    if token.given() or is_loopback(where.host):
        return token.token_for(where)
    if not serves:
        raise ConfigError(
            f"launch: the hosts that meet at {where} need one secret, and this one was given "
            "none.\n"
            f"  Start the host of {where} first: without a token it makes one, and prints the "
            "line for the others. Or set\n"
            f"  {token.TOKEN} to the same text on all of them, or name a file that holds it with "
            "--token_file (chmod 600)."
        )
    made = token.make()
    line = shlex.join([*_COMMAND, *flags.without(argv, _OF_ONE_HOST)])
    say(
        "launch: no token was given, so this job has a new one; start the other hosts with\n"
        f"  {token.TOKEN}={made} {line}"
    )
    return made
