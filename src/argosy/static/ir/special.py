"""Operators that are not calls of the op table: their types, and what their arguments are called.

``lower`` knows what each does in a run, ``record`` how it gets into a program.
"""

from __future__ import annotations

ARRAY_TYPES = (
    "create_array",
    "write_to_array",
    "read_from_array",
    "lod_array_length",
    "stack_array",
)

PARAMS: dict[str, tuple[str, ...]] = {
    "backward": ("targets", "inputs", "target_gradients"),
    "cond": ("conditions", "captured"),
    "while": ("condition", "captured"),
    "py_func": ("x",),
    "print": ("input",),
    **dict.fromkeys(ARRAY_TYPES, ()),
}
