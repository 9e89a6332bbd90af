"""The errors of argosy, sorted by what the caller can do about them.

Each class also derives from the builtin that Paddle raises in the same place, so that ``except
ValueError`` in a script written for Paddle keeps working.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NoReturn


class ArgosyError(Exception):
    """Base of every error that argosy raises on purpose."""


class UsageError(ArgosyError, ValueError):
    """The call is wrong: correct it."""


class DtypeError(UsageError, TypeError):
    """A value of the wrong type or dtype was passed."""


class UnsupportedDtype(DtypeError, NotImplementedError):
    """The operation is not defined for tensors of this dtype; Paddle says so with a RuntimeError,
    which this is too.
    """


class OutOfRange(UsageError, IndexError):
    """An index lies outside the tensor."""


class IntegerDivisionByZero(UsageError, RuntimeError, ZeroDivisionError):
    """Integers, which have no infinity, were divided by zero."""


class RankError(UsageError, AssertionError):
    """A tensor has the wrong number of dimensions or elements for the conversion asked for."""


class ValueMismatch(UsageError, AssertionError):
    """A value does not fit the tensor it is to be copied into."""


class AutogradError(UsageError, RuntimeError):
    """The graph does not allow what was asked: it was freed, or the tensor is not part of it."""


class BadArgument(UsageError, AssertionError):
    """An argument breaks a condition that Paddle asserts."""


class MissingParameters(UsageError, AttributeError):
    """An optimizer was built without the parameters it is to update."""


class NotSupported(UsageError, NotImplementedError):
    """Paddle has this, argosy does not: raised at the call, never later."""


class ConfigError(UsageError):
    """The environment or a configuration value is missing or contradictory."""


class ProgramError(UsageError):
    """A static program is malformed."""


class NotEager(ProgramError, AssertionError):
    """A variable of a program is asked for what only a value has."""


class CommError(ArgosyError, RuntimeError):
    """The group cannot communicate any more."""


class CollectiveMismatch(CommError):
    """Ranks of a group called different collectives, or the same one with different tensors."""


class CollectiveTimeout(CommError, TimeoutError):
    """A rank did not arrive before the deadline."""


class PeerLost(CommError):
    """Another rank of the group exited."""


class PsError(ArgosyError, RuntimeError):
    """A parameter server cannot do what it was asked."""


class ServerUnavailable(PsError):
    """A server does not answer; to try again is safe."""


class PositionUnknown(PsError):
    """A worker was started again and cannot know where in its data it was; to start it once more
    does not help.
    """


class TableError(PsError):
    """A table is not there, is of another kind, or has no room."""


class CheckpointError(ArgosyError, ValueError):
    """Saved state is missing, torn or of another shape."""


class ChildFailed(ArgosyError, RuntimeError):
    """A process that we started failed; the message has its traceback."""


class ProgramTimeout(ChildFailed, TimeoutError):
    """A program that we started did not end, or was silent, for longer than it may; it has been
    ended.
    """


class InternalError(ArgosyError):
    """A bug in argosy."""


def raise_as(found: Exception, error: Exception) -> NoReturn:
    """Raise ``found`` because of ``error``, also if they are one: an error must not become its own
    cause.
    """
    if found is error:
        raise error
    raise found from error


def nearest(name: str, known: Iterable[str], limit: int = 3) -> str:
    """Describe the known names closest to ``name``, for the end of a message; empty when there are
    none. Names that share less than three quarters of their letters are no help.
    """
    close = difflib.get_close_matches(name, list(known), n=limit, cutoff=0.75)
    return f" Did you mean {', '.join(repr(c) for c in close)}?" if close else ""
