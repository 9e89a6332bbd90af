"""The names of what operators compute, as Paddle gives them.

In Paddle every layer function makes a helper, which is numbered by its kind (``mean_0``), or has
the name that the caller gave; what the function computes is ``mean_0.tmp_0``, ``mean_0.tmp_1`` in
the order in which the variables are made, also those that only Paddle needs. Scripts fetch by these
names, and files hold them. So the trait ``layer`` of an op says how its function names results:

    mean                            a helper of that kind, not of the op's type
    conv2d:bias                     one variable more comes first if ``bias`` is given
    softmax_with_cross_entropy:1,0  the results are variables 1 and 0 of the helper
    =elementwise_add                the result is named like the helper itself: elementwise_add_0
    fill_constant fill_constant     helpers come before the one that names the results
    huber_loss reduction            with reduction="mean" a helper of kind ``mean`` follows

What operators between variables compute is ``tmp_0``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from argosy.ops.table import Op
from argosy.tensor.engine import unique_name

Names = Callable[[int], str]  # of result 0, 1, ...


@dataclass(frozen=True, slots=True)
class Plan:
    """A parsed ``layer`` trait. ``positions`` of results among the variables of the helper; those
    beyond follow in order. ``optional`` is the argument for which one variable more is made.
    """

    earlier: tuple[str, ...]
    kind: str
    positions: tuple[int, ...]
    optional: str
    is_own: bool
    reduces: bool


@functools.cache
def plan(layer: str) -> Plan:
    """What a ``layer`` trait says."""
    words = layer.split()
    reduces = words[-1] == "reduction"
    *earlier, last = words[:-1] if reduces else words
    kind, _, rest = last.removeprefix("=").partition(":")
    is_optional = bool(rest) and not rest[0].isdigit()
    positions = () if is_optional or not rest else tuple(int(n) for n in rest.split(","))
    return Plan(
        tuple(word.removeprefix("=").partition(":")[0] for word in earlier),
        kind,
        positions,
        rest if is_optional else "",
        last.startswith("="),
        reduces,
    )


def names_of(op: Op, arguments: Mapping[str, Any], name: str, base: str) -> Names:
    """The names of the results of a call: after the ``name`` that the caller gave, or the helper
    ``base`` of the function that makes the call, or a new helper.
    """
    found = plan(op.traits.layer or op.type)
    kind, positions, optional, is_own = found.kind, found.positions, found.optional, found.is_own
    for earlier in found.earlier:
        unique_name.generate(earlier)
    reduction = arguments.get("reduction") if found.reduces else None
    if reduction in ("mean", "sum"):
        unique_name.generate(kind)
        kind, positions, optional, is_own = reduction, (), "", False
    helper = name or base or unique_name.generate(kind)
    if is_own and (not base or name not in ("", base)):
        return lambda i: helper if i == 0 else unique_name.generate(f"{helper}.tmp")
    skipped = 1 if optional and arguments.get(optional) is not None else 0
    return _numbered(f"{helper}.tmp", skipped, positions)


def aside(base: str) -> Names:
    """Names for what Paddle does not compute on the way to a result."""
    return lambda result: unique_name.generate(f"{base}.part")


def _numbered(key: str, skipped: int, positions: tuple[int, ...]) -> Names:
    made: list[str] = []
    following = max(positions, default=-1) + 1  # position of the first result behind those

    def name(result: int) -> str:
        known = result < len(positions)
        wanted = skipped + (positions[result] if known else following + result - len(positions))
        while len(made) <= max(wanted, skipped + following - 1):
            made.append(unique_name.generate(key))
        return made[wanted]

    return name
