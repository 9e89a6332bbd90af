"""Processes in which ``import paddle`` is argosy: this one, or Python anew."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from argosy import _alias
from argosy.alias.place import first
from argosy.foundation import env
from argosy.foundation.errors import ConfigError


def install() -> None:
    """Make ``import paddle`` argosy in this process and in those that it starts from now on, for
    notebooks and tests; ImportError if a real Paddle has been imported.
    """
    _alias.install()
    env.update(first(env.everything()))


def run(arguments: Sequence[str], options: Sequence[str] = ()) -> NoReturn:
    """Become ``python [options] arguments`` with the alias first: a script, ``-m module`` or ``-c
    code`` and what is for it. The process stays the same, and a script cannot tell the difference
    to plain ``python``.
    """
    _refuse_isolation([*options, *arguments])
    sys.stdout.flush()
    sys.stderr.flush()
    argv = [sys.executable, *options, *arguments]
    os.execve(sys.executable, argv, first(env.everything()))


def _refuse_isolation(arguments: Sequence[str]) -> None:
    for argument in arguments:
        if not argument.startswith("-") or argument[1:2] in ("-", "c", "m", ""):
            return
        if argument[1:2] not in ("W", "X") and set(argument) & set("EI"):
            raise ConfigError(
                f"argosy run: with {argument} Python does not read PYTHONPATH, by which "
                "`import paddle` becomes argosy. Leave it out, or install argosy-paddle."
            )
