"""Rewrite the forward part of a program for mixed precision.

Operators keep their order and variables their names: cast operators are put before those whose
inputs must change dtype, and the dtypes of what follows are inferred anew. Branches and loops
compute in float32: what they read is cast in front of them.
"""

from __future__ import annotations

from typing import Any

import torch

from argosy.amp.mode import CASTABLE
from argosy.ops.array import manipulation as ops
from argosy.ops.traits import Precision
from argosy.static.amp.fp16_lists import AutoMixedPrecisionLists, black_list
from argosy.static.ir.block import Block
from argosy.static.ir.operator import FORWARD, Operator, Ref, leaves, mapped, names_in
from argosy.static.ir.program import Program
from argosy.static.ir.sub_blocks import rename_reads, renamed
from argosy.static.ir.variable import Kind, Parameter, Variable, samples
from argosy.static.ir.verify import checked
from argosy.static.record.infer import infer

GUARD = "__use_fp16__"  # the name scope of operators that fp16_guard marks

LOW, HIGH, KEEP = "low", "high", "keep"


def rewrite(
    program: Program,
    lists: AutoMixedPrecisionLists,
    dtype: torch.dtype,
    level: str,
    use_guard: bool = False,
    use_promote: bool = False,
) -> set[str]:
    """Insert casts; at level O2, parameters that only low-precision operators need become
    ``dtype``: their names are returned.
    """
    black = set(lists.black_list)
    if level == "O2":
        black -= black_list - lists.unsupported_list
    rewriter = _Rewriter(program.global_block(), lists, black, dtype, level, use_guard, use_promote)
    with checked(program.blocks, "mixed precision"):
        changed = rewriter.lower_parameters() if level == "O2" else set()
        rewriter.run()
    return changed


class _Rewriter:
    """Walks the operators of a block once."""

    def __init__(
        self,
        block: Block,
        lists: AutoMixedPrecisionLists,
        black: set[str],
        dtype: torch.dtype,
        level: str,
        use_guard: bool,
        use_promote: bool,
    ) -> None:
        self.block = block
        self.lists = lists
        self.black = black
        self.dtype = dtype
        self.level = level
        self.use_guard = use_guard
        self.use_promote = use_promote
        # What branches, loops and arrays write: they were recorded with its dtype.
        self.fixed = {
            name
            for o in block.ops
            if o.op is None and o.role == FORWARD
            for name in o.output_arg_names
        }
        # what sub-blocks are to read under another name
        self.renamed: list[tuple[Operator, dict[str, str]]] = []
        self.choices: dict[str, str] = {}  # what was done with the operator that wrote a variable
        # variables that hold another in a dtype
        self.casts: dict[tuple[str, torch.dtype], str] = {}

    # -- decisions
    # ----------------------------------------------------------------------------------------------

    def _stays_high(self, operator: Operator) -> bool:
        """Whether an operator is excluded, by the lists of unsupported types, by the guard or by a
        variable's name.
        """
        assert operator.op is not None
        if (operator.op.known_names | {operator.type}) & self.lists.unsupported_list:
            return True
        if self.use_guard and GUARD not in operator.name_scope:
            return True
        return bool(
            self.lists.black_varnames.intersection(
                [*operator.input_arg_names, *operator.output_arg_names]
            )
        )

    def choose(self, operator: Operator) -> str:
        assert operator.op is not None
        types = operator.op.known_names | {operator.type}
        attrs = [
            leaf
            for leaf in leaves([list(operator.args), operator.kwargs])
            if isinstance(leaf, torch.dtype)
        ]
        if self.fixed.intersection(operator.output_arg_names) and self._floats(operator):
            return HIGH
        if (
            operator.op.is_of_precision(Precision.UNTOUCHED)
            or any(d.is_floating_point for d in attrs)
            or not self._floats(operator)
        ):
            return KEEP
        if self._stays_high(operator) or types & self.black or self._writes_state(operator):
            return HIGH  # at level OD too: the default black list has nothing that is white
        if types & self.lists.white_list:
            return LOW
        if self.level == "OD":
            return HIGH
        if self.use_promote:
            return (
                HIGH
                if any(
                    self.block.vars[n].raw.dtype is torch.float32 for n in self._floats(operator)
                )
                else LOW
            )
        if self.level == "O2":
            return LOW
        return self._as_its_inputs(operator) if types & self.lists.gray_list else HIGH

    def _as_its_inputs(self, operator: Operator) -> str:
        """What was done with the last of the operators that feed this one; parameters and data do
        not count.
        """
        fed = [self.choices[name] for name in operator.input_arg_names if name in self.choices]
        known = [choice for choice in fed if choice != KEEP]
        return known[-1] if known else LOW

    def _floats(self, operator: Operator) -> list[str]:
        return [n for n in operator.input_arg_names if self.block.vars[n].raw.dtype in CASTABLE]

    def _writes_state(self, operator: Operator) -> bool:
        """Whether a result goes into a variable that persists, whose dtype must stay."""
        written = set(operator.output_arg_names) - set(operator.input_arg_names)
        return any(self.block.vars[name].persistable for name in written)

    # -- parameters
    # ---------------------------------------------------------------------------------------------

    def lower_parameters(self) -> set[str]:
        """Give parameters the low dtype, except those that an operator needs in float32."""
        needed_high: set[str] = set()
        for operator in self.block.ops:
            if operator.op is None or operator.role != FORWARD:
                needed_high.update(operator.input_arg_names)
            elif operator.op.known_names & self.black and not self._stays_high(operator):
                continue  # a cast brings it up
            elif self._stays_high(operator):
                needed_high.update(operator.input_arg_names)
            elif operator.op.is_of_precision(Precision.MIXED):
                needed_high.update(names_in([list(operator.args[1:]), operator.kwargs]))
        changed = set()
        for parameter in self.block.all_parameters():
            if parameter.name not in needed_high and parameter.raw.dtype is torch.float32:
                parameter.define(Kind(samples(parameter.shape, self.dtype)[0]))
                changed.add(parameter.name)
        return changed

    # -- rewriting
    # ----------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Rewrite everything, or nothing if that fails."""
        block = self.block
        operators, variables = block.ops, dict(block.vars)
        kinds = {name: v.kind for name, v in variables.items()}
        block.ops = []
        try:
            for operator in operators:
                self._take_over(operator.copy_to(block))
        except BaseException:
            block.ops, block.vars = operators, variables
            for name, kind in kinds.items():
                variables[name].define(kind)
            raise
        else:
            for operator, names in self.renamed:
                rename_reads(operator, names)
        finally:
            block.program.changed()

    def _take_over(self, operator: Operator) -> None:
        if operator.role == FORWARD and operator.op is None:
            self._cast_up(operator)
        elif operator.role == FORWARD:
            self._rewrite(operator)
        self.block.ops.append(operator)
        for name in operator.output_arg_names:
            self.casts = {key: value for key, value in self.casts.items() if key[0] != name}

    def _cast_up(self, operator: Operator) -> None:
        """Let an operator that is no call of the table, and the blocks that it runs, read what they
        were recorded with.
        """
        low = dict.fromkeys(
            n for n in operator.input_arg_names if self.block.vars[n].raw.dtype is self.dtype
        )
        names = {name: self._casted(name, torch.float32, operator) for name in low}
        operator.args = mapped(operator.args, lambda leaf: renamed(leaf, names))
        if names and operator.sub_blocks:
            self.renamed.append((operator, names))

    def _rewrite(self, operator: Operator) -> None:
        choice = self.choose(operator)
        if choice != KEEP:
            self._cast_inputs(operator, self.dtype if choice == LOW else torch.float32)
        self._infer_outputs(operator)
        self.choices.update(dict.fromkeys(operator.output_arg_names, choice))

    def _cast_inputs(self, operator: Operator, target: torch.dtype) -> None:
        assert operator.op is not None
        in_place = set(operator.changed_in_place)

        def cast(value: Any) -> Any:
            if not isinstance(value, Ref) or value.name in in_place:
                return value
            dtype = self.block.vars[value.name].raw.dtype
            return (
                Ref(self._casted(value.name, target, operator))
                if dtype in CASTABLE and dtype is not target
                else value
            )

        if operator.op.is_of_precision(Precision.MIXED) and target is not torch.float32:
            operator.args = (mapped(operator.args[0], cast), *operator.args[1:])
        else:
            operator.args, operator.kwargs = (
                mapped(operator.args, cast),
                mapped(operator.kwargs, cast),
            )

    def _casted(self, name: str, target: torch.dtype, reader: Operator) -> str:
        """The variable that holds ``name`` in dtype ``target``, made by a cast before
        ``reader``.
        """
        known = self.casts.get((name, target))
        if known is not None:
            return known
        source = self.block.vars[name]
        made = self.block.free_name(f"{name}.cast_{'fp32' if target is torch.float32 else 'fp16'}")
        second = None if source.alt is None else source.alt.to(target)
        self.block.add_variable(
            Variable(
                self.block, made, source.raw.to(target), second, stop_gradient=source.stop_gradient
            )
        )
        cast = Operator(
            self.block,
            "cast",
            ops.cast,
            (Ref(name), target),
            {},
            Ref(made),
            FORWARD,
            reader.name_scope,
            reader.where,
        )
        self.block.ops.append(cast)
        self.casts[name, target] = made
        return made

    def _infer_outputs(self, operator: Operator) -> None:
        """Give the results the dtypes that the op has for its new inputs."""
        assert operator.op is not None

        def variable(value: Any) -> Any:
            return self.block.vars[value.name] if isinstance(value, Ref) else value

        result = infer(
            operator.op, mapped(operator.args, variable), mapped(operator.kwargs, variable)
        )
        names = operator.output_arg_names
        kinds = [leaf for leaf in leaves(result) if isinstance(leaf, Kind)]
        for name, kind in zip(names, kinds, strict=True):
            own = self.block.vars[name]
            if not own.persistable and not isinstance(own, Parameter):
                own.define(kind)
