"""What a command line asks of a cluster's scheduler. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from argosy.foundation.errors import ConfigError, NotSupported
from argosy.runtime.launch import flags

SCHEDULERS = ("slurm",)
# what only one who knows the hosts can say
_OF_KNOWN_HOSTS = ("ips", "host", "servers", "endpoints", "workers", "trainers", "use_paddlecloud")


@dataclass(frozen=True, kw_only=True)
class Scheduling:
    """To whom a job is handed, and with which options of his, as he spells them."""

    scheduler: str
    options: tuple[str, ...] = ()
    is_dry: bool = False  # the script is to be shown, not submitted


def read(values: Mapping[str, Any]) -> Scheduling | None:
    """What the flags ask for; None where the job is to be started here."""
    name = values["scheduler"]
    given = [f"--{each}" for each in flags.SCHEDULER_FLAGS if values[each]]
    if not name:
        if given:
            raise ConfigError(
                f"launch: {', '.join(given)} is for a scheduler; say which one, as in "
                "--scheduler slurm"
            )
        return None
    if name not in SCHEDULERS:
        raise NotSupported(
            f"launch: --scheduler {name}: jobs can be handed to {', '.join(SCHEDULERS)}"
        )
    told = [f"--{each}" for each in _OF_KNOWN_HOSTS if values[each]]
    if values["rank"] >= 0:
        told.append("--rank")
    if told:
        raise ConfigError(
            f"launch: {', '.join(told)} tells of hosts, which the scheduler is to choose; say "
            "how many with --nodes, --server_num and --worker_num"
        )
    options = [
        f"--{each.replace('_', '-')}={values[each]}"
        for each in flags.PASSED_ON
        if values[each] is not None
    ]
    options += _words(values["sbatch"] or "")
    for word in options:
        if not word.isprintable():
            raise ConfigError(f"launch: an option of sbatch must be one line, but is {word!r}")
    return Scheduling(scheduler=name, options=tuple(options), is_dry=values["dry_run"])


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ConfigError(f"launch: --sbatch {text!r} cannot be read: {error}") from None
    strange = [word for word in words if not word.startswith("-")]
    if strange:
        raise ConfigError(
            f"launch: --sbatch takes options with their values after =, as in "
            f"'--mail-type=END --exclude=n3', but {strange[0]!r} is none"
        )
    return words
