"""Errors of recording, told with the line of the script."""

from __future__ import annotations

import traceback

from argosy.jit.convert.source import line_of
from argosy.jit.operators.call import converter


def told_with_line(error: Exception) -> Exception:
    """The error, of the same class, with file and line of the converted function that it comes
    from.
    """
    frame = None
    for found, number in traceback.walk_tb(error.__traceback__):
        if found.f_code in converter.codes:
            frame = found.f_code, number
    if frame is None or getattr(error, "_jst_has_line", False):
        return error
    code, number = frame
    text = line_of(code.co_filename, number)
    name = _name(code.co_qualname)
    line = f'    File "{code.co_filename}", line {number}, in {name}\n        {text}\n'
    where = f"In transformed code:\n\n{line}"
    try:
        told = type(error)(f"{where}\n    {type(error).__name__}: {error}")
    except Exception:  # a class of the script's with arguments of its own
        error.add_note(where)
        return error
    told.__dict__.update(error.__dict__)
    told._jst_has_line = True  # type: ignore[attr-defined]
    return told.with_traceback(error.__traceback__)


def _name(qualified: str) -> str:
    """A function without the blocks of it that became functions."""
    parts = [p for p in qualified.split(".") if not p.startswith("_jst_") and p != "<locals>"]
    return parts[-1] if parts else qualified
