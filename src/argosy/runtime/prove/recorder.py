"""A process of a job that is being proved: it writes down what its steps saw and left, and fires
the faults that are its own.

Nothing here changes what is computed: values are read, random generators are not touched.
"""

from __future__ import annotations

import atexit
import gc
import math
import os
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

from argosy.foundation import env, faultpoint, torch_private
from argosy.foundation.account import UNTOLD, account
from argosy.foundation.witness import VARIABLE, Values, seat
from argosy.runtime.observe import accounts, torch_steps
from argosy.runtime.observe.label import is_server, own_label
from argosy.runtime.prove.digest import digest
from argosy.runtime.prove.faults import FaultFolder, Trigger
from argosy.runtime.prove.plan import BACKWARD, DATA, END, START, UPDATE
from argosy.runtime.prove.records import Record, Writer


def attach() -> None:
    """Write down what this process does, if a launcher has started it whose job is being proved.
    Called once, and before anybody else asks to hear of torch's optimizers.
    """
    folder = env.get(VARIABLE)
    if not folder or not env.get(accounts.VARIABLE):
        return
    recorder = Recorder(Path(folder), own_label())
    seat.witness = recorder
    faultpoint.listen(recorder.reach)
    _watch_torch(recorder)
    atexit.register(recorder.end)
    os.register_at_fork(after_in_child=_detach)
    recorder.reach(START)


def _detach() -> None:
    """In a process that is forked from this one: a worker of a data loader has no steps."""
    seat.witness = None
    faultpoint.listen(None)


def _is_training() -> bool:
    """Whether this is the thread whose steps count: what others read ahead belongs to no step."""
    return threading.get_ident() == account.thread


class Recorder:
    """Sees what is shown (``foundation/witness.py``), step by step."""

    def __init__(self, folder: Path, label: str) -> None:
        self._pid = os.getpid()
        # a server has no steps: it updates when workers push, and is judged by its tables
        self._trains = not is_server(label)
        self._writer = Writer(folder, label, time.monotonic())
        self._trigger = Trigger(FaultFolder(folder), label)
        self._places: Counter[str] = Counter()
        self._batches: list[str] = []
        self._results: list[str] = []
        self._shown: dict[int, Values] = {}  # of all who have ended a step, by their identity

    def reach(self, place: str) -> None:
        """This process is at a place where a fault may come."""
        if os.getpid() == self._pid:
            if place not in (START, END) and self._trains:
                self._places[place] += 1
            self._trigger.reach(place)

    def batch(self, batch: Any) -> None:
        if seat.witness is self and _is_training():
            self._batches.append(digest(batch))
            self.reach(DATA)

    def result(self, value: Any) -> None:
        if _is_training():
            self._results.append(digest(value))

    def end_step(self, owner: object, values: Values) -> None:
        if not self._trains:
            return
        self._shown[id(owner)] = values
        self.reach(UPDATE)
        loss = account.loss
        record = Record(
            at_s=time.monotonic(),
            told=None if account.told == UNTOLD else account.told,
            loss=None if math.isnan(loss) else loss.hex(),
            batches=self._batches,
            results=self._results,
            values={name: digest(value) for name, value in values()},
            places=dict(self._places),
        )
        self._writer.write(vars(record))
        self._batches, self._results = [], []
        self._places.clear()
        self._trigger.end_step(record)

    def at_end(self, values: Iterable[tuple[str, Any]]) -> None:
        self._write_end({name: digest(value) for name, value in values})

    def end(self) -> None:
        """The process ends by itself: what it has now, once all that a step leaves is done."""
        if os.getpid() != self._pid or seat.witness is not self:
            return
        seat.witness = None
        self.reach(END)
        if self._shown:
            pairs = (pair for values in self._shown.values() for pair in values())
            self._write_end({name: digest(value) for name, value in pairs})

    def _write_end(self, values: dict[str, str]) -> None:
        places = dict(self._places)
        self._writer.write({"end_s": time.monotonic(), "values": values, "places": places})


# -- torch, which shows nothing by itself
# --------------------------------------------------------------------------------------------------


def _watch_torch(recorder: Recorder) -> None:
    names = _Names()

    def on_update(optimizer: torch.optim.Optimizer) -> None:
        if seat.witness is recorder:
            recorder.end_step(optimizer, lambda: names.of(optimizer))

    torch_steps.on_update(on_update)
    _wrap_backward(recorder)
    _wrap_loader(recorder)


def _wrap_backward(recorder: Recorder) -> None:
    """See the losses: what backward begins with, if it is one number."""
    backward: Callable[..., Any] = torch.autograd.backward

    def seen(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        if seat.witness is recorder:
            for tensor in [tensors] if isinstance(tensors, torch.Tensor) else tensors:
                if tensor.numel() == 1:
                    recorder.result(tensor)
            recorder.reach(BACKWARD)
        return backward(tensors, *args, **kwargs)

    torch.autograd.backward = seen


def _wrap_loader(recorder: Recorder) -> None:
    """See the batches of torch's DataLoader."""
    iterator = torch_private.data_iterator()
    read = iterator.__next__

    def seen(self: Any) -> Any:
        batch = read(self)
        recorder.batch(batch)
        return batch

    iterator.__next__ = seen


class _Names:
    """What the parameters of torch's optimizers are called in the largest module that has them."""

    def __init__(self) -> None:
        # by the parameter's identity, which may be another's later
        self._known: dict[int, tuple[weakref.ref[torch.Tensor], str]] = {}

    def of(self, optimizer: torch.optim.Optimizer) -> Iterable[tuple[str, torch.Tensor]]:
        params = [p for group in optimizer.param_groups for p in group["params"]]
        if not all(map(self._name, params)):
            self._look()
        for number, param in enumerate(params):
            if not self._name(param):
                self._note(param, f"parameter {number} of {type(optimizer).__name__}")
            yield self._name(param), param

    def _name(self, param: torch.Tensor) -> str:
        """Empty if it is not known."""
        known = self._known.get(id(param))
        return known[1] if known is not None and known[0]() is param else ""

    def _note(self, param: torch.Tensor, name: str) -> None:
        self._known[id(param)] = weakref.ref(param), name

    def _look(self) -> None:
        # by type(): what pretends to be of a class may import things when it is asked
        modules: list[torch.nn.Module] = [
            found for found in gc.get_objects() if issubclass(type(found), torch.nn.Module)
        ]
        # of modules with equally many, the innermost: its names are the shortest
        for module in sorted(modules, key=lambda m: (-len(list(m.parameters())), _depth(m))):
            for name, param in module.named_parameters():
                if not self._name(param):
                    self._note(param, name)


def _depth(module: torch.nn.Module) -> int:
    return sum(1 for _ in module.modules())
