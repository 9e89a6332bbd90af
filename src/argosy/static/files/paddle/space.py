"""Where the parts of one file that is written meet: names that are taken, variables that only the
file has, and what blocks do at their end.
"""

from __future__ import annotations

from typing import Any

import torch

from argosy.static.files.paddle import variable
from argosy.static.ir.operator import names_in
from argosy.static.ir.owner import OwningBlock
from argosy.static.ir.program import Program
from argosy.static.ir.variable import Variable


class Space:
    """One program while it is written.

    ``offsets`` are the variables with offsets of sequences, which Paddle's tensors hold themselves.
    ``ends`` are by block the pairs of variables of which the first is assigned to the second.
    """

    def __init__(self, program: Program) -> None:
        known = list(program.list_vars())
        self.offsets = {name for v in known for name in (*v.lod_names, *v.late_lod)}
        self.ends: dict[int, list[tuple[str, str]]] = {}
        self._added: dict[int, list[dict[str, Any]]] = {}
        self._taken = {v.name for v in known} | {"feed", "fetch"}
        self._count = 0

    def without_offsets(self, tree: Any) -> list[str]:
        """The variables that a tree of arguments names, but for those with offsets."""
        return [name for name in names_in(tree) if name not in self.offsets]

    def added(self, block: OwningBlock) -> list[dict[str, Any]]:
        """The variables that the file has beyond those of a block."""
        return self._added.get(block.idx, [])

    def new(self, block: OwningBlock, stem: str, dtype: torch.dtype, shape: list[int]) -> str:
        """Add a tensor to a block; returns its name."""
        name = self._free(stem)
        self._add(block, variable.tensor(name, dtype, shape))
        return name

    def like(self, block: OwningBlock, model: Variable) -> str:
        """Add a variable of the kind of another to a block; returns its name."""
        return self.new(block, model.name, model.raw.dtype, list(model.shape))

    def fetched(self, model: Variable, column: int) -> str:
        """Add a variable that is fetched in the place of another; returns its name."""
        name = self._free(f"save_infer_model/scale_{column}.tmp_0", is_whole=True)
        self._add(model.block, variable.tensor(name, model.raw.dtype, list(model.shape)))
        return name

    def scopes(self, block: OwningBlock) -> str:
        """Add a variable for the scopes of a block that runs; returns its name."""
        name = self._free("step_scopes")
        self._add(block, variable.held_by_engine(name, variable.STEP_SCOPES))
        return name

    def _add(self, block: OwningBlock, described: dict[str, Any]) -> None:
        self._added.setdefault(block.idx, []).append(described)

    def _free(self, stem: str, is_whole: bool = False) -> str:
        name = stem if is_whole else ""
        while not name or name in self._taken:
            name = f"{stem}.file_{self._count}"
            self._count += 1
        self._taken.add(name)
        return name
