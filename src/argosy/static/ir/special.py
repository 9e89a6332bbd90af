"""Special operators: those that are not calls of the op table, and what holds of each kind.

``record`` says how such an operator gets into a program (and, for some, its shapes), ``lower`` what
it does in a run; both register by the type that stands here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SpecialKind:
    """What every room may know of the operators of one type."""

    type: str
    params: tuple[str, ...] = ()  # what its arguments are called
    slots: tuple[str, ...] = ()  # Paddle's words for these, where it has some
    takes_gradients: bool = False  # of its targets, and reads those inputs whose are wanted
    may_skip_block: bool = False  # what its block writes may stay as it was
    passes_to_first: bool = False  # gradients flow to its first argument only
    is_mark: bool = False  # it does nothing in a run: it is there for scripts to see
    calls_script: bool = False  # errors of the function that it calls are the script's own

    def slot(self, param: str, is_whole: bool = False) -> str:
        """Paddle's word for an argument."""
        return dict(zip(self.params, self.slots, strict=False)).get(param, param)


ARRAY_TYPES = (
    "create_array",
    "write_to_array",
    "read_from_array",
    "lod_array_length",
    "pop_from_array",
    "stack_array",
    "lod_tensor_to_array",
    "array_to_lod_tensor",
    "tensor_array_to_tensor",
    "beam_search_decode",
)

KINDS: dict[str, SpecialKind] = {
    kind.type: kind
    for kind in (
        SpecialKind("backward", ("targets", "inputs", "target_gradients"), takes_gradients=True),
        SpecialKind("feed", is_mark=True),
        SpecialKind("fetch", ("x",), ("X",), is_mark=True),
        SpecialKind("cond", ("conditions", "captured"), ("Cond", "Input")),
        SpecialKind("while", ("condition", "captured"), ("Condition", "X"), may_skip_block=True),
        SpecialKind("pylayer", ("input", "captured"), ("Input", "Captured"), passes_to_first=True),
        SpecialKind("py_func", ("x",), ("X",), calls_script=True),
        SpecialKind("print", ("input",), ("In",)),
        SpecialKind("assert", ("condition", "data"), ("Cond", "Data")),
        SpecialKind("no_value"),
        *map(SpecialKind, ARRAY_TYPES),
    )
}
