"""Whether nodes are there, asked at their raylets. Ray itself believes in a dead one for a while,
with its defaults for fifteen seconds. Imports Ray.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor

import ray

from argosy.foundation.endpoints import Endpoint, is_open, is_refused

_AT_ONCE = 32
_NODE_ID = "ray.io/node-id"  # a label that Ray gives every node


def raylets() -> dict[str, Endpoint]:
    """Where the raylet of each node listens that Ray believes alive."""
    return {
        node["NodeID"]: Endpoint(node["NodeManagerAddress"], node["NodeManagerPort"])
        for node in ray.nodes()
        if node["Alive"]
    }


def silent(known: Mapping[str, Endpoint]) -> set[str]:
    """The nodes whose raylet does not answer, for whatever reason: no place for new processes."""
    return {node for node, answers in _asked(known, is_open) if not answers}


def lost(known: Mapping[str, Endpoint]) -> set[str]:
    """The nodes whose host says that there is no raylet any more. One that says nothing may be cut
    off for a moment: Ray decides about it.
    """
    return {node for node, is_lost in _asked(known, is_refused) if is_lost}


def elsewhere(nodes: Collection[str]) -> dict[str, str]:
    """A selector of labels for any node but these."""
    return {_NODE_ID: f"!in({','.join(sorted(nodes))})"} if nodes else {}


def _asked(
    known: Mapping[str, Endpoint], question: Callable[[Endpoint], bool]
) -> list[tuple[str, bool]]:
    with ThreadPoolExecutor(_AT_ONCE, "argosy-ray-nodes") as pool:
        return list(zip(known, pool.map(question, known.values()), strict=True))
