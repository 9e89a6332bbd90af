"""A component of TorchX: a job of argosy with parameter servers and workers, as two roles.

    torchx run --scheduler local_cwd deploy/torchx/fleet.py:ps --script train.py --servers 1 \
      --workers 2

Every replica is a host that starts one process; they meet at the first server. The token of the job
comes from the environment of whoever submits it, or is made here; it is in the description of the
job, so a scheduler that shows descriptions to others needs one from a secret of its own (``token``
empty, ARGOSY_TOKEN set by the image or the scheduler).
"""

import secrets

from torchx import specs

_PORT = 29400


def ps(
    script: str,
    *script_args: str,
    servers: int = 1,
    workers: int = 2,
    master: str = "",
    image: str = "argosy:latest",
    token: str = "new",
    cpu: int = 1,
    mem_mb: int = 2048,
    max_retries: int = 0,
) -> specs.AppDef:
    """Servers and workers of one job.

    Args:
        script: the script of both roles
        script_args: its arguments
        servers: how many servers, a replica each
        workers: how many workers, a replica each
        master: where the hosts meet, host:port; by default at the first server, by the name that
            the scheduler gives it
        image: the image or folder of both roles
        token: the secret of the job; new: one is made; empty: the environment has one
        cpu: cores of a replica
        mem_mb: memory of a replica
        max_retries: how often the scheduler starts the job again
    """
    secret = {"new": secrets.token_hex(32)}.get(token, token)
    meeting = master or f"${{{specs.macros.rank0_env}:=127.0.0.1}}:{_PORT}"
    return specs.AppDef(
        name="argosy-fleet",
        roles=[
            specs.Role(
                name=name,
                image=image,
                entrypoint="sh",
                # the scheduler sets a variable to the first host, which the shell reads
                args=[
                    "-c",
                    f'exec fleetrun --master "{meeting}" --nnodes {servers + workers} '
                    f'--server_num {has_servers} --worker_num {1 - has_servers} "$@"',
                    "fleetrun",
                    script,
                    *script_args,
                ],
                env={"ARGOSY_TOKEN": secret} if secret else {},
                num_replicas=count,
                max_retries=max_retries,
                resource=specs.Resource(cpu=cpu, gpu=0, memMB=mem_mb),
                port_map={"master": _PORT},
            )
            for name, count, has_servers in (("servers", servers, 1), ("workers", workers, 0))
        ],
    )
