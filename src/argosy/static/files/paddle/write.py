"""Programs written as Paddle's files: the format of ``.pdmodel``, which Paddle 2 and 3 run.

What is fed and fetched is named by operators ``feed`` and ``fetch``, as Paddle's readers expect.
A program with an operator that has no form there cannot be written; the error names all of them.
"""

from __future__ import annotations

import torch

from argosy.foundation.errors import NotSupported
from argosy.static.files.paddle import call, holders, proto, schema, structure
from argosy.static.files.paddle.call import Desc, op_desc
from argosy.static.files.paddle.expand import expanded
from argosy.static.files.paddle.space import Space
from argosy.static.files.paddle.variable import (
    FEED_LIST,
    FETCH_LIST,
    described,
    held_by_engine,
)
from argosy.static.ir.block import Block
from argosy.static.ir.operator import Operator
from argosy.static.ir.program import Program

# The version of Paddle whose forms are written: 2.6.2.
_VERSION = 2006002
_UNCHANGED = {"scale": 1.0, "bias": 0.0, "bias_after_scale": True}


class Unwritable(NotSupported):
    """A program has operators without a form in Paddle's files; ``reasons`` by their types."""

    def __init__(self, reasons: dict[str, str]) -> None:
        self.reasons = reasons
        shown = "; ".join(f"{type!r} ({reason})" for type, reason in sorted(reasons.items()))
        super().__init__(f"these operators have no form in Paddle's files: {shown}")


def dumps(program: Program, feeds: list[str], fetches: list[str]) -> bytes:
    """A program for inference as bytes, with the names to feed and to fetch."""
    return _Writing(expanded(program), feeds, fetches).run()


class _Writing:
    """One call of ``dumps``."""

    def __init__(self, program: Program, feeds: list[str], fetches: list[str]) -> None:
        self._program = program
        self._feeds, self._fetches = feeds, fetches
        self._space = Space(program)
        self._reasons: dict[str, str] = {}

    def run(self) -> bytes:
        blocks = [self._block(block) for block in self._program.blocks]
        if self._reasons:
            raise Unwritable(self._reasons)
        pairs = [
            {"op_name": name, "op_version": {"version": version}}
            for name, version in proto.versions().items()
        ]
        return schema.encoded(
            "ProgramDesc",
            {
                "blocks": blocks,
                "version": {"version": _VERSION},
                "op_version_map": {"pair": pairs},
            },
        )

    def _block(self, block: Block) -> Desc:
        ops: list[Desc] = []
        for operator in (o for o in block.ops if not o.is_mark):
            try:
                ops += self._operators(operator)
            except NotSupported as error:
                self._reasons.setdefault(operator.type, str(error))
        ops += structure.assignments(block, self._space)
        own = [described(v) for v in block.vars.values() if v.name not in self._space.offsets]
        if block.idx == 0:
            ops = [*self._fed(), *ops, *self._fetched()]
            own += [held_by_engine("feed", FEED_LIST), held_by_engine("fetch", FETCH_LIST)]
        return {
            "idx": block.idx,
            "parent_idx": block.parent_idx,
            "vars": [*own, *self._space.added(block)],  # what operators need is known by now
            "ops": ops,
        }

    def _operators(self, operator: Operator) -> list[Desc]:
        by_offsets = holders.written(operator, self._space)
        if by_offsets is not None:
            return by_offsets
        if operator.op is not None:
            return call.written(operator, self._space)
        return structure.written(operator, self._space)

    def _fed(self) -> list[Desc]:
        """The last comes first: Paddle's ``jit.load`` goes by this order, not by the columns."""
        made = [
            op_desc("feed", {"X": ["feed"]}, {"Out": [name]}, {"col": i})
            for i, name in enumerate(self._feeds)
        ]
        return made[::-1]

    def _fetched(self) -> list[Desc]:
        """What is fetched is scaled by 1 before, as in Paddle's own files: its predictor may have
        the values of other operators in a layout that only the next one can read.
        """
        scales, ops = [], []
        for i, name in enumerate(self._fetches):
            target = self._program.global_block().vars[name]
            if target.raw.is_floating_point() or target.raw.dtype in (torch.int32, torch.int64):
                out = self._space.fetched(target, i)
                scales.append(op_desc("scale", {"X": [name]}, {"Out": [out]}, _UNCHANGED))
                name = out
            ops.append(op_desc("fetch", {"X": [name]}, {"Out": ["fetch"]}, {"col": i}))
        return [*scales, *ops]
