"""Block: the variables and operators of a program, or of a branch or loop in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import NotSupported, ProgramError, UsageError, nearest
from argosy.static._operator import Operator, Ref
from argosy.static._variable import Parameter, Variable, offset_samples, samples
from argosy.tensor._naming import unique_name

if TYPE_CHECKING:
    from argosy.static._program import Program

Kind = tuple[torch.Tensor, torch.Tensor | None]  # the pair of samples of a Variable

AnyVariable = TypeVar("AnyVariable", bound=Variable)


class Block:
    """Variables by name and operators in the order in which they run."""

    def __init__(self, program: Program, idx: int, parent_idx: int = -1) -> None:
        self.program = program
        self.idx = idx
        self.parent_idx = parent_idx
        self.vars: dict[str, Variable] = {}
        self.ops: list[Operator] = []
        # Variables of enclosing blocks that it writes, as they were.
        self._before: dict[str, tuple[Variable, Kind, bool]] = {}

    def var(self, name: str) -> Variable:
        """The variable of this name; it must be in this block."""
        if not isinstance(name, str):
            raise UsageError(f"Block.var: expected a name, but received {type(name).__name__}")
        if name not in self.vars:
            raise ProgramError(f"var {name} not in this block.{nearest(name, self.vars)}")
        return self.vars[name]

    def has_var(self, name: str) -> bool:
        return name in self.vars

    def _find_var_recursive(self, name: str) -> Variable | None:
        """The variable of this name in this block or one that encloses it."""
        if name in self.vars:
            return self.vars[name]
        parent = self.parent
        return None if parent is None else parent._find_var_recursive(name)

    @property
    def parent(self) -> Block | None:
        """The block whose operator runs this one."""
        return self.program.blocks[self.parent_idx] if self.parent_idx >= 0 else None

    def _encloses(self, other: Block) -> bool:
        """Whether ``other`` is this block or lies inside it."""
        inner: Block | None = other
        while inner is not None and inner is not self:
            inner = inner.parent
        return inner is self

    def all_parameters(self) -> list[Parameter]:
        return [v for v in self.vars.values() if isinstance(v, Parameter)]

    def create_var(
        self,
        name: str | None = None,
        shape: Any = (),
        dtype: Any = "float32",
        persistable: bool = False,
        stop_gradient: bool = False,
        is_data: bool = False,
        lod_level: int = 0,
        type: str = Variable.type,
        initializer: Any = None,
        **unused: Any,
    ) -> Variable:
        """Add a variable of a declared shape; None and -1 stand for a dimension that a run tells.

        An ``initializer`` adds the operator that fills it to this block. ``lod_level`` counts for data; of other variables, what they
        are computed from tells.
        """
        if unused:
            raise UsageError(f"Block.create_var: unknown arguments {sorted(unused)}")
        if type != Variable.type:
            raise NotSupported(f"Block.create_var: type={type!r}; only tensors can be made by hand")
        extents = [-1 if n is None else int(n) for n in shape]
        name = name or unique_name.generate("_generated_var")
        lod = self._create_offsets(name, lod_level) if is_data else ()
        first, second = samples(extents, dtypes.to_torch(dtype))
        out = self._add(
            Variable(
                self,
                name,
                first,
                second,
                persistable=persistable,
                stop_gradient=stop_gradient,
                is_data=is_data,
                lod=lod,
            )
        )
        if initializer is not None:
            op, attrs = initializer.plan(extents, first.dtype)
            self._append(Operator(self, op.name, op, (), attrs, Ref(name)))
        return out

    def _free_name(self, name: str) -> str:
        """A name that Paddle gives once in a program, numbered where it is taken."""
        return unique_name.generate(name) if name in self.vars else name

    def _create_offsets(self, name: str, lod_level: int) -> tuple[str, ...]:
        """Add the data variables that hold the offsets of the sequences of ``name``, a level each; returns their names."""
        names = [f"{name}@LOD"] if lod_level == 1 else [f"{name}@LOD{level}" for level in range(lod_level)]
        return tuple(self._add(Variable(self, n, *offset_samples(), is_data=True)).name for n in names)

    def _add(self, variable: AnyVariable) -> AnyVariable:
        parent = self.parent
        if parent is not None and parent._find_var_recursive(variable.name) is not None:
            raise ProgramError(f"Variable {variable.name!r} of block {self.idx} would hide that of an enclosing block")
        self.vars[variable.name] = variable
        self.program._changed()
        return variable

    def append_op(
        self, type: str, inputs: Any = None, outputs: Any = None, attrs: Any = None, stop_gradient: bool = False
    ) -> Operator:
        """Add an operator by Paddle's type, its slots and attributes; the variables of ``outputs`` are made beforehand.

        Types that are not known, slots and attributes that the operator does not have are refused. ``stop_gradient``, a hint of dygraph,
        changes nothing.

        Example:
            >>> import paddle
            >>> paddle.enable_static()
            >>> with paddle.static.program_guard(paddle.static.Program()):
            ...     x = paddle.static.data("x", [None, 3])
            ...     block = paddle.static.default_main_program().global_block()
            ...     y = block.create_var("y", [], "float32")
            ...     block.append_op("scale", {"X": [x]}, {"Out": [y]}, {"scale": 2.0})
            [y] = scale(x=x, scale=2.0, bias=0.0, bias_after_scale=True)
            >>> y.shape
            [-1, 3]
            >>> paddle.disable_static()
        """
        from argosy.static._append_op import append_op  # which stands on this module

        return append_op(self, type, inputs, outputs, attrs)

    def _append(self, operator: Operator) -> Operator:
        self.ops.append(operator)
        self.program._changed()
        return operator

    def _note_write(self, variable: Variable) -> None:
        """Remember what a variable of an enclosing block was before this block writes it."""
        inner: Block | None = self
        while inner is not None and inner is not variable.block:
            inner._before.setdefault(variable.name, (variable, (variable._t, variable._alt), variable._stop_gradient))
            inner = inner.parent

    def _rename_var(self, old: str, new: str) -> None:
        if any(old in operator.input_arg_names or old in operator.output_arg_names for operator in self.ops):
            raise ProgramError(f"Variable {old!r} cannot be renamed to {new!r}: operators use it already")
        if new in self.vars:
            raise ProgramError(f"Variable {old!r} cannot be renamed: there is another {new!r} already")
        variable = self.vars.pop(old)
        variable._name = new
        self._add(variable)

    def __str__(self) -> str:
        inside = f" in block {self.parent_idx}" if self.parent_idx >= 0 else ""
        lines = [f"{{ // block {self.idx}{inside}", *(f"    {v}" for v in self.vars.values()), ""]
        lines += [f"    {operator}" for operator in self.ops]
        return "\n".join([*lines, "}"])

    __repr__ = __str__
