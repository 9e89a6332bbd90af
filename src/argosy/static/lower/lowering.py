"""From a program to one Python function over raw torch tensors.

The function is generated as source, one line per operator, with variables as its locals: a run
costs the ops and little else. Its shape is

    def run(feeds, state):
        (v0, v1) = feeds              # what the caller feeds
        (v2, v3) = state              # persistable variables that are read, from the scope
        v4 = f0(v0, v2, v3)           # operators; a local is deleted after its last use
        return (v4,), (v5,)           # what is fetched, and persistable variables that were written

Gradients are torch's own: up to the last ``backward`` operator the ops run with gradients on, after
it, and for updates, without.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from argosy.static.ir.program import Program
from argosy.static.lower import (
    control,  # noqa: F401  it registers what writes its operators, as ``special`` does
    feed,
    fetch,
    pylayer,  # noqa: F401
    special,  # noqa: F401
)
from argosy.static.lower.emitter import Emitter
from argosy.static.lower.joining import joined
from argosy.static.lower.lowered import Adaptation, Lowered


def lower(
    program: Program,
    feeds: Sequence[str],
    fetches: Sequence[str],
    device: torch.device,
    adaptation: Adaptation | None = None,
    joins_graph: bool = False,
) -> Lowered:
    """Generate the function for a program that is fed and fetched so.

    With ``joins_graph`` what it computes is part of the graph of what it is given, as if the ops
    had been called where the function is; a fetch without a value is None.
    """
    block = program.global_block()
    given = feed.with_offsets(block, feeds)
    wanted, places = fetch.with_offsets(block, fetches, given, block.ops)
    operators = [operator for operator in block.ops if not operator.is_mark]
    if adaptation is not None:
        operators = adaptation.operators(operators, wanted)
    operators = joined(block, operators, given, wanted)
    lowered = Emitter(
        block, operators, given, wanted, device, adaptation, joins_graph=joins_graph
    ).emit()
    lowered.lods = places
    return lowered
