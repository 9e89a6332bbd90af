"""What the processes of a job are called: role and number, ``rank 0``, ``worker 1``, ``server 0``,
as in the launcher's table.

A process tells its own from its environment, whichever launcher has set that. ``TRAINING_ROLE``
names servers; of the others it says nothing, since operators of Kubernetes set it in jobs without
servers too: workers are those that have a list of servers.
"""

from __future__ import annotations

from argosy.foundation import env
from argosy.foundation.trace import trace

_SERVER = "server "


def own_label() -> str:
    """This process's."""
    servers = env.get("PADDLE_PSERVERS_IP_PORT_LIST")
    if "PSERVER" in (env.get("TRAINING_ROLE"), env.get("PADDLE_ROLE")):
        return f"{_SERVER}{_server_number(servers.split(','))}"
    role = "worker" if servers else "rank"
    return f"{role} {env.rank() if trace.rank is None else trace.rank}"


def _server_number(endpoints: list[str]) -> int:
    """Only launchers number servers; an operator of Kubernetes tells each where it is."""
    own = f"{env.get('POD_IP')}:{env.get('PADDLE_PORT')}"
    listed = endpoints.index(own) if own in endpoints else 0
    return env.integer("PADDLE_PSERVER_ID", listed)


def is_server(label: str) -> bool:
    return label.startswith(_SERVER)
