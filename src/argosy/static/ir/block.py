"""Block: the variables and operators of a program, or of a branch or loop in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from argosy.foundation import dtypes
from argosy.foundation.errors import NotSupported, ProgramError, UsageError, nearest
from argosy.static.ir.filling import fill
from argosy.static.ir.operator import Number, Operator, Ref, mapped
from argosy.static.ir.owner import OwningProgram
from argosy.static.ir.variable import Known, Parameter, Variable, offset_samples, samples
from argosy.tensor.engine import unique_name

_LATE_LEVELS = 3  # that sequences may nest where nothing was declared

AnyVariable = TypeVar("AnyVariable", bound=Variable)


# Kinds of variables that hold something of Paddle's engine: a program may name them.
_WITHOUT_VALUE = ("feed_minibatch", "fetch_list", "raw", "step_scopes")


class Block:
    """Variables by name and operators in the order in which they run. ``append_op`` comes from
    ``static.methods``.
    """

    append_op: Callable[..., Operator]

    def __init__(self, program: OwningProgram, idx: int, parent_idx: int = -1) -> None:
        self.program: Any = program
        self.idx = idx
        self.parent_idx = parent_idx
        self.vars: dict[str, Variable] = {}
        self.ops: list[Operator] = []
        # Variables of enclosing blocks that it writes, as they are after what it has recorded.
        self.known: dict[str, Known] = {}

    def var(self, name: str) -> Variable:
        """The variable of this name; it must be in this block."""
        if not isinstance(name, str):
            raise UsageError(f"Block.var: expected a name, but received {type(name).__name__}")
        if name not in self.vars:
            raise ProgramError(f"var {name} not in this block.{nearest(name, self.vars)}")
        return self.vars[name]

    def has_var(self, name: str) -> bool:
        return name in self.vars

    def find_var_recursive(self, name: str) -> Variable | None:
        """The variable of this name in this block or one that encloses it."""
        if name in self.vars:
            return self.vars[name]
        parent = self.parent
        return None if parent is None else parent.find_var_recursive(name)

    _find_var_recursive = find_var_recursive  # what scripts call it

    @property
    def parent(self) -> Block | None:
        """The block whose operator runs this one."""
        return self.program.blocks[self.parent_idx] if self.parent_idx >= 0 else None

    def encloses(self, other: Block) -> bool:
        """Whether ``other`` is this block or lies inside it."""
        inner: Block | None = other
        while inner is not None and inner is not self:
            inner = inner.parent
        return inner is self

    def all_parameters(self) -> list[Parameter]:
        return [v for v in self.vars.values() if isinstance(v, Parameter)]

    def declare(self, tensor: Any, **given: Any) -> None:
        """Make of a new Tensor the variable that ``create_var`` would add: scripts of Paddle call
        the class of variables, which is that of Tensors here.
        """
        made = self.create_var(**given)
        tensor.__class__ = made.__class__
        tensor.__dict__.update(made.__dict__)
        self.vars[made.name] = tensor

    def create_var(
        self,
        name: str | None = None,
        shape: Any = None,
        dtype: Any = None,
        persistable: bool = False,
        stop_gradient: bool = False,
        is_data: bool = False,
        lod_level: int = 0,
        type: str = Variable.type,
        initializer: Any = None,
        **unused: Any,
    ) -> Variable:
        """Add a variable of a declared shape, by default that of a number; None and -1 stand for a
        dimension that a run tells. The default dtype is float32.

        An ``initializer`` adds the operator that fills it to this block. ``lod_level`` counts for
        data; of other variables, what they are computed from tells.
        """
        if unused:
            raise UsageError(f"Block.create_var: unknown arguments {sorted(unused)}")
        if type not in (Variable.type, *_WITHOUT_VALUE):
            raise NotSupported(f"Block.create_var: type={type!r}; only tensors can be made by hand")
        extents = [-1 if n is None else int(n) for n in shape or ()]
        name = name or unique_name.generate("_generated_var")
        lod = self._create_offsets(name, lod_level) if is_data else ()
        first, second = samples(extents, dtypes.to_torch("float32" if dtype is None else dtype))
        out = self.add_variable(
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
        if type != Variable.type:
            out.type = type
        if initializer is not None:
            fill(self, out, initializer)
        return out

    def create_parameter(
        self,
        shape: Any,
        dtype: Any,
        name: str | None = None,
        trainable: bool = True,
        initializer: Any = None,
        **settings: Any,
    ) -> Parameter:
        """Add a parameter to the program; an ``initializer`` adds the operator that fills it to
        this block. ``settings`` are attributes of a parameter: ``optimize_attr``, ``need_clip``...
        """
        name = name or unique_name.generate("_generated_var")
        if settings.pop("lod_level", 0):
            raise NotSupported("Block.create_parameter: a parameter has no sequences: lod_level")
        extents = [int(n) for n in shape]
        block = self.program.global_block()
        out = Parameter(block, name, samples(extents, dtypes.to_torch(dtype))[0], trainable)
        for key, value in settings.items():
            setattr(out, key, value)
        block.add_variable(out)
        is_filled = any(name in operator.output_arg_names for operator in self.ops)
        if initializer is not None and not is_filled:
            fill(self, out, initializer)
        return out

    def free_name(self, name: str) -> str:
        """A name that Paddle gives once in a program, numbered where it is taken."""
        return unique_name.generate(name) if name in self.vars else name

    def _create_offsets(self, name: str, lod_level: int) -> tuple[str, ...]:
        """Add the data variables that hold the offsets of the sequences of ``name``, a level each;
        returns their names.
        """
        names = (
            [f"{name}@LOD"]
            if lod_level == 1
            else [f"{name}@LOD{level}" for level in range(lod_level)]
        )
        return tuple(
            self.add_variable(Variable(self, n, *offset_samples(), is_data=True)).name
            for n in names
        )

    def declare_late_lod(self, variable: Variable) -> tuple[str, ...]:
        """The names of the offsets that data declared without sequences may be fed with."""
        if not variable.late_lod:
            variable.late_lod = self._create_offsets(variable.name, _LATE_LEVELS)
        return variable.late_lod

    def add_variable(self, variable: AnyVariable) -> AnyVariable:
        parent = self.parent
        if parent is not None and parent.find_var_recursive(variable.name) is not None:
            raise ProgramError(
                f"Variable {variable.name!r} of block {self.idx} would hide that of an enclosing "
                "block"
            )
        self.vars[variable.name] = variable
        self.program.changed()
        return variable

    def append_operator(self, operator: Operator) -> Operator:
        return self.insert_operator(len(self.ops), operator)

    def insert_operator(self, index: int, operator: Operator) -> Operator:
        self.ops.insert(index, operator)
        self.program.changed()
        return operator

    def rename_var(self, old: str, new: str) -> None:
        if any(
            old in operator.input_arg_names or old in operator.output_arg_names
            for operator in self.ops
        ):
            raise ProgramError(
                f"Variable {old!r} cannot be renamed to {new!r}: operators use it already"
            )
        if new in self.vars:
            raise ProgramError(
                f"Variable {old!r} cannot be renamed: there is another {new!r} already"
            )
        variable = self.vars.pop(old)
        variable.take_name(new)
        self.add_variable(variable)

    def _rename_var(self, name: str | bytes, new_name: str | bytes) -> Variable:
        """Give a variable and its uses by this block's operators another name; returns it."""
        old, new = (n.decode() if isinstance(n, bytes) else n for n in (name, new_name))
        if old not in self.vars:
            raise UsageError(f"_rename_var: block {self.idx} has no variable {old!r}")
        if new in self.vars:
            raise ProgramError(f"_rename_var: there is another {new!r} already")
        if any(operator.sub_blocks for operator in self.ops):
            raise NotSupported("_rename_var: in a block with operators that run other blocks")
        self.rename_made({old: new}, 0)
        return self.vars[new]

    def rename_made(self, names: Mapping[str, str], start: int) -> None:
        """Give variables that the operators from ``start`` on made other names."""

        def renamed(leaf: Any) -> Any:
            if isinstance(leaf, (Ref, Number)) and leaf.name in names:
                return replace(leaf, name=names[leaf.name])
            return leaf

        for operator in self.ops[start:]:
            operator.args = mapped(operator.args, renamed)
            operator.kwargs = mapped(operator.kwargs, renamed)
            operator.out = mapped(operator.out, renamed)
        for old, new in names.items():
            self.vars[old].take_name(new)
        self.vars = {variable.name: variable for variable in self.vars.values()}
        self.program.changed()

    def __str__(self) -> str:
        inside = f" in block {self.parent_idx}" if self.parent_idx >= 0 else ""
        lines = [f"{{ // block {self.idx}{inside}", *(f"    {v}" for v in self.vars.values()), ""]
        lines += [f"    {operator}" for operator in self.ops]
        return "\n".join([*lines, "}"])

    __repr__ = __str__

    def to_string(self, throw_on_error: bool = False, with_details: bool = False) -> str:
        return str(self)

    def _to_readable_code(self, skip_op_callstack: bool = True) -> str:
        return str(self)
