"""Private names of torch's rendezvous, beside ``foundation/torch_private.py``: only launchers of
several hosts pay for importing it.
"""

from __future__ import annotations

from torch.distributed.elastic.rendezvous.dynamic_rendezvous import (
    _BackendRendezvousStateHolder as BackendStateHolder,
)
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import _NodeDesc as NodeDesc
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import (
    _RendezvousState as RendezvousState,
)

__all__ = ["BackendStateHolder", "NodeDesc", "RendezvousState"]
