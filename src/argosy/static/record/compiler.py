"""Keeps torch's compiler out of shape inference.

torch computes on the meta device with functions of Python. Many are marked as not to be compiled,
and a marked function loads ``torch._dynamo`` when it is first called: 1.3 s of processor time in a
process that compiles nothing. The mark is looked up in an attribute of the function below it, so
that attribute is set first, to the function itself.
"""

from __future__ import annotations

import functools
import types

from argosy.foundation import torch_private as private


@functools.cache
def keep_compiler_out() -> None:
    """Let the meta functions of torch run without its compiler; once per process."""
    try:
        mark, tables = private.compiler_marks()
        marked = mark(lambda: None).__code__
        position = marked.co_freevars.index("fn")
        waiting = [fn for table in tables.values() for fn in table.values()]
    except (ImportError, AttributeError, ValueError):  # another torch: it loads what it wants
        return
    seen: set[types.FunctionType] = set()
    while waiting:
        function = waiting.pop()
        if not isinstance(function, types.FunctionType) or function in seen:
            continue
        seen.add(function)
        inside = [cell.cell_contents for cell in function.__closure__ or ()]
        if function.__code__ is marked:
            inside[position].__dynamo_disable = inside[position]
        waiting += inside
