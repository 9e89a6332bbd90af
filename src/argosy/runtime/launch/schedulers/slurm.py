"""A job as one script for Slurm's sbatch, and its submission.

The script starts one launcher on each node; they meet at the first node as hosts do that were
started by hand. Their secret is made on that node when the job starts, so no queue, command line or
environment ever holds it. ``script_of`` is pure.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import PurePath

from argosy.foundation import env
from argosy.foundation.errors import ConfigError
from argosy.runtime.launch import flags
from argosy.runtime.launch.report import Say
from argosy.runtime.launch.schedulers.scheduling import Scheduling
from argosy.runtime.launch.spec import LaunchSpec

_SECRET = "ARGOSY_TOKEN"
# said by flags in the script; a variable that came along from the host of the user would win
_SAID = (
    *(_SECRET, "ARGOSY_TOKEN_FILE", "PADDLE_LOG_DIR", "PADDLE_MASTER", "PADDLE_NNODES"),
    *("PADDLE_RANK", "PADDLE_SERVER_NUM", "PADDLE_TRAINER_ID", "PADDLE_TRAINER_NUM", "POD_IP"),
)
_SAID_BY_FLAGS = (
    *flags.SCHEDULER_FLAGS,
    *("scheduler", "nnodes", "master", "token_file", "log_dir"),
    *("server_num", "worker_num", "trainer_num"),
)
_WARNING_S = 120  # between the request to save and the end of the time
_GRACE_S = 100  # of it, for saving; a --grace of the user's comes later and wins
# Launchers end together. Those that have not when the first one is gone are lost; but nobody is
# hurried at once, which is what --kill-on-bad-exit would do to one that still saves.
_LAST_ONE_S = 60
_SUBMIT_S = 120.0

_SCRIPT = """\
#!/bin/bash
{directives}

unset {said}
token={token}
{secret}
# Slurm asks to save before the time is over: the launchers are told, and the job comes back.
asked= step=
trap 'asked=yes; test -z "$step" || kill -USR1 "$step"' USR1
# scancel ends the launchers by itself, and for good; here their end is awaited, if there is time.
trap 'asked={forget}' TERM

head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun --ntasks-per-node=1 --kill-on-bad-exit=0 --wait={last_one} \\
  ${{SLURM_CPUS_PER_TASK:+--cpus-per-task="$SLURM_CPUS_PER_TASK"}} \\
  bash -c {task} \\
  {python} --nnodes "$SLURM_JOB_NUM_NODES" --master {master} --token_file "$token" \\
  --grace {grace} {words} &
step=$!
test -z "$asked" || {{ sleep 1; kill -USR1 "$step"; }}  # which is not srun at once
while wait "$step"; kill -0 "$step" 2> /dev/null; do :; done  # a signal ends a wait
wait "$step"
code=$?
# they have saved, or the request has ended them before they could
if [ -n "$asked" ] && [[ $code == {requeue_code} || $code == {asked_code} ]]; then
  {tidy}echo "fleetrun: job $SLURM_JOB_ID goes back to the queue"
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
"""
_OWN_SECRET = """\
trap 'rm -f -- "$token"' EXIT
rm -f -- "$token"
(
  umask 077
  set -o noclobber
  od -An -N16 -tx1 /dev/urandom | tr -d ' \\n' > "$token"
) || exit 1
"""
_FORGET = 'rm -f -- "$token"'  # every launcher has read it


def run_scheduled(spec: LaunchSpec, scheduling: Scheduling, say: Say) -> int:
    """Submit the job, or show its script; returns the exit code for the shell."""
    script = script_of(spec, scheduling, sys.executable)
    if scheduling.is_dry:
        sys.stdout.buffer.write(os.fsencode(script))
        return 0
    number = submit(script, env.everything())
    say(f"launch: Slurm has the job {number}; `squeue --job {number}` shows where it is")
    print(number)
    return 0


def script_of(spec: LaunchSpec, scheduling: Scheduling, python: str) -> str:
    """The text of the sbatch script; ``python`` is the interpreter on the nodes."""
    if spec.ps is not None and spec.ps.num_servers + spec.ps.num_workers < spec.max_nodes:
        raise ConfigError(
            f"launch: {spec.ps.num_servers} servers and {spec.ps.num_workers} workers leave some "
            f"of {spec.max_nodes} nodes without a process; take fewer --nodes"
        )
    words = [*flags.without(_before_script(spec), _SAID_BY_FLAGS), spec.script, *spec.script_args]
    own_secret = not spec.token_file
    return _SCRIPT.format(
        directives="\n".join(f"#SBATCH {shlex.quote(each)}" for each in _options(spec, scheduling)),
        said=" ".join(_SAID),
        token='"$PWD/.argosy-$SLURM_JOB_ID.token"' if own_secret else quoted(spec.token_file),
        secret=_OWN_SECRET if own_secret else "",
        tidy=f"{_FORGET}\n  " if own_secret else "",
        forget=f"; {_FORGET}" if own_secret else "",
        last_one=_LAST_ONE_S,
        task=shlex.quote(_task(spec)),
        python=quoted(python),
        master=quoted(spec.master) if spec.master else '"$head:$((20000 + SLURM_JOB_ID % 10000))"',
        words=" ".join(map(quoted, words)),
        grace=_GRACE_S,
        requeue_code=spec.requeue_code,
        asked_code=128 + signal.SIGUSR1,
    )


def submit(script: str, environment: Mapping[str, str]) -> str:
    """Hand a script to sbatch; returns the number of the job."""
    clean = {name: value for name, value in environment.items() if name != _SECRET}
    try:
        done = subprocess.run(
            ["sbatch", "--parsable"],
            input=os.fsencode(script),
            capture_output=True,
            env=clean,
            timeout=_SUBMIT_S,
        )
    except FileNotFoundError:
        raise ConfigError(
            "launch: --scheduler slurm: there is no command sbatch on this host; --dry_run prints "
            "the script"
        ) from None
    except subprocess.TimeoutExpired:
        raise ConfigError(
            f"launch: sbatch has not answered for {_SUBMIT_S:g} s; squeue shows whether the job "
            "was taken"
        ) from None
    if done.returncode:
        raise ConfigError(f"launch: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode().strip().partition(";")[0]


def quoted(text: str) -> str:
    """One word for bash, on one line whatever is in it: sbatch refuses some control characters and
    reads lines that begin with #SBATCH.
    """
    if text.isprintable():
        return shlex.quote(text)
    plain = "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in "'\\" else f"\\x{byte:02x}"
        for byte in os.fsencode(text)
    )
    return f"$'{plain}'"


def _options(spec: LaunchSpec, scheduling: Scheduling) -> list[str]:
    low, high = spec.min_nodes, spec.max_nodes
    name = spec.job_id if spec.job_id != "default" else PurePath(spec.script).stem
    return [
        f"--job-name={name if name.isprintable() else 'fleetrun'}",
        f"--nodes={low}" if low == high else f"--nodes={low}-{high}",
        "--ntasks-per-node=1",
        "--open-mode=append",
        "--requeue",
        f"--signal=B:USR1@{_WARNING_S}",
        *scheduling.options,
    ]


def _task(spec: LaunchSpec) -> str:
    """What bash does on each node: what differs between nodes becomes flags, the rest is given."""
    own = ['--rank "$SLURM_NODEID"']
    if spec.log_dir is not None:
        own.append(f'--log_dir {quoted(spec.log_dir)}/"$SLURMD_NODENAME"')
    if spec.ps is not None:
        num_servers, num_all = spec.ps.num_servers, spec.ps.num_servers + spec.ps.num_workers
        own += [
            f'--server_num "$(({_dealt(num_servers)}))"',
            f'--worker_num "$(({_dealt(num_all)} - {_dealt(num_servers)}))"',
        ]
    return f'exec "$0" -m argosy.distributed.launch {" ".join(own)} "$@"'


def _dealt(count: int) -> str:
    """How many of ``count`` a node has when they are dealt in turn, first servers, then workers."""
    return f"({count} + SLURM_NNODES - 1 - SLURM_NODEID) / SLURM_NNODES"


def _before_script(spec: LaunchSpec) -> tuple[str, ...]:
    return spec.argv[: len(spec.argv) - len(spec.script_args) - 1]
