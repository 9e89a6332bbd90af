"""Where a worker of a parameter-server job is in its data, so that a process that takes its place
goes on there.

A resting point (``runtime/ps/worker/tape.py``) holds what the servers do not have: the position,
the random generators, and of the model what is not trained on servers, such as running means of
batch norm. ``Pass`` gives it for ``train_from_dataset``, ``servers.served_checkpoint`` for the
loops of ``auto_checkpoint``.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch

from argosy.distributed.communication.group import is_initialized
from argosy.distributed.fleet.checkpoints import state_file
from argosy.distributed.fleet.checkpoints.objects import Own, held, set_held
from argosy.distributed.fleet.checkpoints.resumable import random_state, set_random_state
from argosy.distributed.fleet.checkpoints.state_file import raw_tensor
from argosy.distributed.fleet.servers.passes import State
from argosy.distributed.fleet.servers.runtime import GROUPED, PsRuntime
from argosy.foundation.errors import CheckpointError, UsageError
from argosy.foundation.files import replacing
from argosy.runtime.ps.worker.worker import Worker
from argosy.static import Program, global_scope
from argosy.static.files.variables import is_persistable
from argosy.static.ir.variable import Variable

__all__ = ["OwnState", "Pass", "decoded", "encoded", "follow", "own_variables", "rest"]

_DATASET = "dataset"


def encoded(state: State) -> bytes:
    """A state as bytes; tensors are copied."""
    return b"".join(state_file.dumps(state))


def rest(worker: Worker, state: State) -> None:
    """Give ``state`` as the worker's resting point."""
    folder = worker.progress_folder
    if folder is not None and is_initialized() and not (folder / GROUPED).exists():
        (folder / GROUPED).touch()
    worker.rest(encoded(state))


def decoded(data: bytes, source: str) -> State:
    """What ``encoded`` was given."""
    found = state_file.loads(data, source)
    if not isinstance(found, dict) or "kind" not in found:
        raise CheckpointError(f"{source} does not hold the state of a worker")
    return found


def own_variables(runtime: PsRuntime, program: Program) -> list[Variable]:
    """What the program keeps from run to run and servers do not have; rates belong to the
    script.
    """
    model = runtime.known_model("save_persistables")
    elsewhere = {
        *model.shapes,
        *(spec.name for spec in model.sparse),
        *(rate.name for rate in program.rates),
    }
    scope = global_scope()
    kept = [v for v in program.list_vars() if is_persistable(v) and v.name not in elsewhere]
    return [
        v
        for v in kept
        if (found := scope.find_var(v.name)) is not None and found.tensor is not None
    ]


class OwnState(Own):
    """What only this worker has of a model: of a program its own variables, else buffers and the
    parameters that servers do not train.
    """

    def __init__(self, model: Any, runtime: PsRuntime) -> None:
        self._model = model
        self._runtime = runtime

    def take(self) -> State:
        if isinstance(self._model, Program):
            return {v.name: held(v.name) for v in own_variables(self._runtime, self._model)}
        return self._here()

    def give(self, state: State) -> None:
        if isinstance(self._model, Program):
            set_held(state)
            return
        here = self._here()
        with torch.no_grad():
            for name, saved in state.items():
                here[name].copy_(saved)

    def check(self, state: State) -> None:
        here = self.take()
        for name, saved in state.items():
            raw = raw_tensor(saved)
            if name not in here or raw is None or raw.shape != here[name].shape:
                raise CheckpointError(
                    f"{name!r} of the checkpoint does not fit: the checkpoint is of another model"
                )

    def _here(self) -> dict[str, torch.Tensor]:
        trained = {id(p) for p in self._runtime.known_model("auto_checkpoint").params}
        named = [*self._model.named_buffers(), *self._model.named_parameters()]
        pairs = ((name, raw_tensor(value)) for name, value in named if id(value) not in trained)
        return {name: raw.detach() for name, raw in pairs if raw is not None}


# -- datasets
# --------------------------------------------------------------------------------------------------


class Pass:
    """One pass over a dataset. ``num_done`` batches were trained on by a process before this one;
    ``is_over``: all of them.

    What the script does between passes is done again, with the generators as they were.
    """

    def __init__(self, runtime: PsRuntime, program: Program) -> None:
        if runtime.has_loop and runtime.passes is None:
            raise UsageError(
                "train_from_dataset: this script has a loop of fleet.auto_checkpoint, and both "
                "would tell where in its data the worker is; feed batches with exe.run in the "
                "loop, or call train_from_dataset outside of one, with a fleet.auto_checkpoint "
                "that is given the model alone: it counts the batches"
            )
        self._passes = runtime.passes
        self._runtime, self._program = runtime, program
        self._worker = runtime.worker
        self._number = runtime.num_passes
        runtime.num_passes += 1
        self.before: State | None = None
        self.num_done = 0
        self.is_over = False
        point = self._worker.resting_point
        self._is_back = point is not None  # a process before this one was in the same job
        if point is not None:
            state: State | None = decoded(point, "the worker's resting point")
        else:
            state = None if self._passes is None else self._passes.found
        if state is None or state["kind"] != _DATASET or self._number > state["pass"]:
            return  # a pass that nobody has begun before
        self.is_over = self._number < state["pass"]
        if self.is_over:
            self._put_back(self._ended())
        else:
            self.num_done, self.before = state["batch"], state

    def begin(self) -> None:
        """The batches that were done are skipped: go on with the next."""
        if self.before is None:
            self._rest()
            return
        self._put_back(self.before)
        self.before = None
        if self._is_back:
            self._worker.go_on()
        else:
            self._rest()

    def advance(self) -> None:
        """A batch was trained on."""
        self.num_done += 1
        if self._passes is not None:
            self._passes.advance(self._state())
        self._rest()

    def end(self) -> None:
        """There are no more batches."""
        path, state = self._path(), self._state()
        if self._passes is not None:
            self._passes.ended.append(state)
        if path is None:
            return
        data = encoded(state)
        with replacing(path) as file:
            file.write(hashlib.sha256(data).digest() + data)

    def refuse(self, reason: str) -> None:
        self._worker.refuse(
            f"{self._worker.again()}: {reason}.\n  Start the whole job again from a checkpoint."
        )

    def _rest(self) -> None:
        if self._worker.keeps_resting_points:
            rest(self._worker, self._state())

    def _state(self) -> State:
        variables = {v.name: held(v.name) for v in own_variables(self._runtime, self._program)}
        place = {"pass": self._number, "batch": self.num_done}
        steps = {} if self._passes is None else {"num_steps": self._passes.num_steps()}
        random = {"random": random_state()}
        return {"kind": _DATASET, **place, **steps, **random, "variables": variables}

    def _put_back(self, state: State) -> None:
        set_held(state["variables"])
        set_random_state(state["random"])

    def _ended(self) -> State:
        """What this pass ended with, in this job or in one before."""
        if self._passes is not None and self._number < len(self._passes.ended):
            return self._passes.ended[self._number]
        path = self._path()
        data = path.read_bytes() if path is not None and path.is_file() else b""
        if hashlib.sha256(data[32:]).digest() != data[:32]:
            self.refuse(f"{path} is missing or damaged")
        state = decoded(data[32:], str(path))
        if self._passes is not None:
            self._passes.ended.append(state)
        return state

    def _path(self) -> Path | None:
        folder = self._worker.progress_folder
        return None if folder is None else folder / f"pass-{self._number}"


def follow(runtime: PsRuntime, program: Program) -> Pass:
    """Begin a pass over a dataset."""
    return Pass(runtime, program)
